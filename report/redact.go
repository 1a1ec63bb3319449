package report

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"bgcstat/analysis"
)

// Redact returns a copy of r without the names of the place that it is from,
// for a report that leaves it. Databases, tables, users, hosts, directories,
// names of files that are not the usual ones, UUIDs and GTID tags become db1,
// t1, user1, host1, dir1, file1, uuid1 and tag1, by first appearance: the same
// name always gets the same short one within a result. Numbers, times,
// versions and the settings that bear on commits stay.
//
// Parts of r that hold no names are shared with the copy. In what others wrote
// (errors, and why a source was refused) names are found by their form, so read
// that before you send it.
func Redact(r *analysis.Result) *analysis.Result { return newRedactor(nil, r).result(r) }

func newRedactor(hosts []string, results ...*analysis.Result) *redactor {
	d := &redactor{short: map[string]string{}, counts: map[string]int{}}
	d.learn(hosts, results)
	return d
}

// result redacts one of the results that the redactor is made for.
func (d *redactor) result(r *analysis.Result) *analysis.Result {
	out := *r
	out.Sources = slices.Clone(r.Sources)
	for i := range out.Sources {
		s := &out.Sources[i]
		s.File, s.Error = d.file(s.File), d.text(s.Error)
	}
	out.Tables = slices.Clone(r.Tables)
	for i := range out.Tables {
		out.Tables[i].Table = d.table(out.Tables[i].Table)
	}
	if r.Alone != nil {
		a := *r.Alone
		a.Table = d.table(a.Table)
		out.Alone = &a
	}
	if r.Sizes != nil {
		sizes := *r.Sizes
		sizes.Largest = slices.Clone(sizes.Largest)
		for i := range sizes.Largest {
			l := &sizes.Largest[i]
			l.File, l.GTID, l.Tables = d.file(l.File), d.text(l.GTID), each(l.Tables, d.table)
		}
		out.Sizes = &sizes
	}
	if r.Filters != nil {
		f := *r.Filters
		f.Tables = each(f.Tables, d.table)
		f.Databases = each(f.Databases, func(name string) string { return d.name("db", name) })
		f.IncludeGTIDs, f.ExcludeGTIDs = d.text(f.IncludeGTIDs), d.text(f.ExcludeGTIDs)
		out.Filters = &f
	}
	out.DependencyTracking.Stretches = slices.Clone(r.DependencyTracking.Stretches)
	for i := range out.DependencyTracking.Stretches {
		s := &out.DependencyTracking.Stretches[i]
		s.Start.File, s.End.File = d.file(s.Start.File), d.file(s.End.File)
		s.Evidence = slices.Clone(s.Evidence)
		for j := range s.Evidence {
			e := &s.Evidence[j]
			e.Earlier.File, e.Later.File = d.file(e.Earlier.File), d.file(e.Later.File)
		}
	}
	out.IO = d.io(r.IO)
	out.Warnings = slices.Clone(r.Warnings)
	for i := range out.Warnings {
		w := &out.Warnings[i]
		w.Message = d.text(w.Message)
		if w.At != nil {
			w.At = &analysis.Position{File: d.file(w.At.File), Position: w.At.Position}
		}
	}
	return &out
}

func each(names []string, f func(string) string) []string {
	names = slices.Clone(names)
	for i := range names {
		names[i] = f(names[i])
	}
	return names
}

// redactor gives short names.
type redactor struct {
	short  map[string]string // by kind and name
	counts map[string]int    // by kind
	// known finds the names of logs and of the host wherever they stand, and
	// what looks like a name.
	known *regexp.Regexp
	hosts map[string]bool
	files map[string]bool
}

// name gives the short name of what is called name among its kind.
func (d *redactor) name(kind, name string) string {
	if name == "" {
		return ""
	}
	key := kind + "\x00" + name
	if d.short[key] == "" {
		d.counts[kind]++
		d.short[key] = fmt.Sprintf("%s%d", kind, d.counts[kind])
	}
	return d.short[key]
}

// table redacts "database.table". A database whose name has a dot is taken for
// one up to it, which hides as much.
func (d *redactor) table(name string) string {
	db, table, ok := strings.Cut(name, ".")
	if !ok {
		return d.name("t", name)
	}
	return d.name("db", db) + "." + d.name("t", table)
}

// usualStems are what logs are called that say nothing of their server.
var usualStems = []string{
	"binlog", "mysql-bin", "mariadb-bin", "mysqld-bin", "master-bin", "log-bin", "bin", "mysql-bin-changelog",
	"relay-bin", "relay-log", "mysql-relay-bin", "mariadb-relay-bin", "mysqld-relay-bin", "slave-relay-bin",
}

var logName = regexp.MustCompile(`^(.*?)((?:\.[0-9]{6,})?(?:\.gz|\.zst|\.index)?)$`)

// file redacts a path: its directory, and its last part where it is not one of
// the usual names.
func (d *redactor) file(path string) string {
	dir, base := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, base = d.name("dir", path[:i+1])+"/", path[i+1:]
	}
	if base == "" || path == "-" {
		return dir + base
	}
	stem, end := base, ""
	if m := logName.FindStringSubmatch(base); m != nil {
		stem, end = m[1], m[2]
	}
	if !slices.Contains(usualStems, stem) {
		stem = d.name("file", stem)
	}
	return dir + stem + end
}

// io redacts what a trace says.
func (d *redactor) io(io *analysis.IO) *analysis.IO {
	if io == nil {
		return nil
	}
	out := *io
	out.Source, out.Detail = d.text(io.Source), d.text(io.Detail)
	out.Refused = slices.Clone(io.Refused)
	for i := range out.Refused {
		r := &out.Refused[i]
		r.Source, r.Why = d.text(r.Source), d.text(r.Why)
	}
	out.DeviceFlushes = slices.Clone(io.DeviceFlushes)
	for i := range out.DeviceFlushes {
		if f := &out.DeviceFlushes[i]; !kernelDisk.MatchString(f.Device) {
			f.Device = d.name("disk", f.Device)
		}
	}
	if io.Settings != nil {
		out.Settings = make(map[string]string, len(io.Settings))
		for _, name := range slices.Sorted(maps.Keys(io.Settings)) {
			out.Settings[name] = d.setting(name, io.Settings[name])
		}
	}
	return &out
}

// kernelDisk are the names that the kernel gives to disks.
var kernelDisk = regexp.MustCompile(`^((s|h|v|xv)d[a-z]+|(dm-|md|loop|zd|nbd|rbd)[0-9]+|nvme[0-9]+n[0-9]+|mmcblk[0-9]+)$`)

// plainSettings are those whose values name nothing of a place.
var plainSettings = []string{
	"version", "version_comment", "aurora_version", "server_id", "port",
	"log_bin", "binlog_format", "binlog_row_image", "max_binlog_size", "gtid_mode",
	"binlog_transaction_compression", "log_bin_compress", "binlog_encryption", "encrypt_binlog",
	"sync_binlog", "innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_use_fdatasync", "innodb_doublewrite",
	"binlog_order_commits", "binlog_group_commit_sync_delay", "binlog_group_commit_sync_no_delay_count",
	"binlog_commit_wait_count", "binlog_commit_wait_usec",
	"binlog_transaction_dependency_tracking", "binlog_transaction_dependency_history_size", "transaction_write_set_extraction",
	"innodb_buffer_pool_size", "innodb_redo_log_capacity", "innodb_log_file_size", "innodb_io_capacity",
	"rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled", "log_replica_updates", "log_slave_updates",
	"binlog_checksum", "performance_schema",
}

func (d *redactor) setting(name, value string) string {
	switch {
	case value == "" || slices.Contains(plainSettings, name):
		return value
	case name == "hostname":
		return d.name("host", value)
	case name == "server_uuid":
		return d.name("uuid", strings.ToLower(value))
	case strings.HasPrefix(value, "/"):
		return d.file(value)
	default:
		return "redacted"
	}
}

// The forms of names in what others wrote. The kernel's own paths stay.
const (
	uuidForm  = `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?::[^\s:,]*)*`
	loginForm = `'[^']*'@'[^']*'|[^\s'"@:]+@(?:\[[^\]\s]*\]|[^\s'"@:,;]+)`
	pathForm  = `(?:^|[\s"'(=])/[^\s:,;"')]+`
	quoteForm = `"[^"]*"`
	logForm   = `[^\s/:'"]+\.[0-9]{6,}(?:\.gz|\.zst)?`
	hostForm  = `lookup [^\s:]+|\[[0-9a-f:.]*:[0-9a-f:.]*(?:%[^\]\s]*)?\]|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b|\b[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]+\b`
)

// learn makes known what can be looked up in texts.
func (d *redactor) learn(hosts []string, results []*analysis.Result) {
	d.hosts, d.files = map[string]bool{}, map[string]bool{}
	var names []string
	add := func(to map[string]bool, name string) {
		if name != "" && name != "-" && !to[name] {
			to[name] = true
			names = append(names, name)
		}
	}
	for _, name := range hosts {
		add(d.hosts, name)
	}
	for _, r := range results {
		for _, s := range r.Sources {
			base := s.File[strings.LastIndexByte(s.File, '/')+1:]
			add(d.files, s.File)
			add(d.files, base)
			add(d.files, strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".zst"))
		}
		if r.IO != nil {
			add(d.hosts, r.IO.Settings["hostname"])
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) }) // the longest that fits
	var forms []string
	for _, name := range names {
		form := regexp.QuoteMeta(name)
		if wordAtEnds.MatchString(name) {
			form = `\b` + form + `\b`
		}
		forms = append(forms, `(?-i:`+form+`)`)
	}
	forms = append(forms, uuidForm, loginForm, pathForm, quoteForm, logForm, hostForm)
	d.known = regexp.MustCompile(`(?i)` + strings.Join(forms, "|"))
}

var (
	wordAtEnds = regexp.MustCompile(`^\w(.*\w)?$`)
	uuidStart  = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	gtidRange  = regexp.MustCompile(`^[0-9]*(-[0-9]+)?$`)
	logEnd     = regexp.MustCompile(`\.[0-9]{6,}(\.gz|\.zst)?$`)
)

// text redacts what was not written by this program alone, and GTIDs.
func (d *redactor) text(s string) string {
	return d.known.ReplaceAllStringFunc(s, func(found string) string {
		switch {
		case d.files[found]:
			return d.file(found)
		case d.hosts[found]:
			return d.name("host", found)
		case uuidStart.MatchString(found):
			parts := strings.Split(found, ":")
			parts[0] = d.name("uuid", strings.ToLower(parts[0]))
			for i, p := range parts[1:] {
				if !gtidRange.MatchString(p) {
					parts[i+1] = d.name("tag", p)
				}
			}
			return strings.Join(parts, ":")
		case strings.HasPrefix(found, "lookup "):
			return "lookup " + d.name("host", strings.TrimPrefix(found, "lookup "))
		case strings.HasPrefix(found, `"`):
			return `"` + d.name("name", found) + `"`
		}
		if i := strings.IndexByte(found, '/'); i == 0 || i == 1 {
			path := found[i:]
			for _, own := range []string{"/proc/", "/sys/", "/dev/"} {
				if strings.HasPrefix(path, own) {
					return found
				}
			}
			return found[:i] + d.file(path)
		}
		if i := strings.LastIndexByte(found, '@'); i >= 0 {
			user, host := strings.Trim(found[:i], "'"), strings.Trim(found[i+1:], "'")
			if host != "localhost" && host != "%" {
				host = d.name("host", host)
			}
			return d.name("user", user) + "@" + host
		}
		if logEnd.MatchString(found) {
			return d.file(found)
		}
		return d.name("host", found)
	})
}
