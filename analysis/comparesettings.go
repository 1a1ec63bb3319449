package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Difference is something that is not the same in all runs.
type Difference struct {
	Name   string    `json:"name"`
	Values []*string `json:"values"` // one for each run, nil where it is not set or not known
	// Incomparable says that runs with other values of it answer another question,
	// and that two of these have other ones.
	Incomparable bool `json:"incomparable,omitempty"`
}

// Names of what differs beside the server's settings.
const (
	diffFlavor  = "server flavor"
	diffVersion = "server version"
	diffHost    = "host"
	diffCPUs    = "host CPUs"
	diffDevice  = "device"
	diffCache   = "device write cache"
	// diffSemiSync is one setting with two names, which a server without it has not.
	diffSemiSync = "semi-sync"
	diffClients  = "clients"
	diffTool     = "load generator"
	diffCommand  = "command"
	// What words of a command are called, with their numbers.
	wordArgument = "word "
)

// incomparable are the names of what makes runs incomparable, the most
// important first.
var incomparable = []string{
	diffFlavor, diffVersion,
	"sync_binlog", "innodb_flush_log_at_trx_commit", "log_bin", "binlog_format", "binlog_row_image",
	"binlog_transaction_dependency_tracking", "transaction_write_set_extraction",
	"innodb_flush_method", "innodb_use_fdatasync", "innodb_doublewrite", "innodb_redo_log_capacity", "innodb_log_file_size",
	diffSemiSync,
	"binlog_encryption", "encrypt_binlog", "binlog_transaction_compression", "log_bin_compress",
	diffHost, "hostname", diffCPUs, diffDevice, diffCache,
}

// placeSettings name a server or a place, not how it works.
var placeSettings = []string{
	"version", "version_comment", "server_id", "server_uuid", "port", "socket", "pid_file", "datadir", "log_bin_basename", "log_bin_index",
}

// semiSync has commits wait for a replica.
var semiSync = []string{"rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled"}

// settingDifferences are those of the servers and of what they run on.
func settingDifferences(runs []RunResult) []Difference {
	values := map[string][]*string{}
	for i, r := range runs {
		set := func(name, value string) {
			if values[name] == nil {
				values[name] = make([]*string, len(runs))
			}
			if value != "" {
				values[name][i] = &value
			}
		}
		set(diffFlavor, r.Run.Server.Flavor)
		set(diffVersion, r.Run.Server.Version)
		if h := r.Run.Host; h != nil {
			set(diffHost, h.Name)
			set("host kernel", h.Kernel)
			if h.CPUs > 0 {
				set(diffCPUs, strconv.Itoa(h.CPUs))
			}
			set(diffDevice, h.Device)
			set(diffCache, h.WriteCache)
		}
		for name, value := range r.Run.Settings {
			if !slices.Contains(placeSettings, name) && !slices.Contains(semiSync, name) {
				set(name, value)
			}
		}
		// All servers have this one, so that it tells whether a run asked for both.
		if r.Run.Settings["innodb_buffer_pool_size"] != "" {
			value := "OFF"
			if slices.ContainsFunc(semiSync, func(name string) bool { return r.Run.Settings[name] == "ON" }) {
				value = "ON"
			}
			set(diffSemiSync, value)
		}
	}
	return differences(values, incomparable)
}

// loadDifferences are those of the command and of what the load generator says
// of itself.
func loadDifferences(runs []RunResult) []Difference {
	values := map[string][]*string{}
	set := func(i int, name, value string) {
		if values[name] == nil {
			values[name] = make([]*string, len(runs))
		}
		values[name][i] = &value
	}
	for i, r := range runs {
		if l := r.Run.Load; l != nil {
			if l.Clients != nil {
				set(i, diffClients, strconv.FormatInt(*l.Clients, 10))
			}
			set(i, diffTool, strings.TrimSpace(l.Tool+" "+l.Version))
		}
		for _, a := range arguments(r.Run.Command) {
			set(i, a.name, a.value)
		}
	}
	return differences(values, []string{diffTool})
}

// differences leaves what is not the same in all runs, in the order of first and
// then by name.
func differences(values map[string][]*string, first []string) []Difference {
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		known := map[string]bool{}
		for _, s := range v {
			if s != nil {
				known[*s] = true
			}
		}
		if len(known) > 1 || len(known) == 1 && slices.Contains(v, nil) {
			out = append(out, Difference{Name: name, Values: v, Incomparable: len(known) > 1 && slices.Contains(first, name)})
		}
	}
	rank := func(d Difference) int {
		if d.Incomparable {
			return slices.Index(first, d.Name)
		}
		if d.Name == diffClients {
			return len(first) // what the experiment is about
		}
		return len(first) + 1
	}
	slices.SortStableFunc(out, func(a, b Difference) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

type argument struct{ name, value string }

// arguments pairs the options of a command with their values: --name=value, or a
// word behind an option, which may in truth be no value of it. Words that follow
// none are numbered. An option that is given again has its number, too.
func arguments(command []string) []argument {
	var out []argument
	seen := map[string]int{}
	add := func(name, value string) {
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, seen[name])
		}
		out = append(out, argument{name, value})
	}
	words := 0
	for i := 0; i < len(command); i++ {
		arg := command[i]
		switch name, value, ok := strings.Cut(arg, "="); {
		case i == 0:
			add(diffCommand, arg)
		case ok && strings.HasPrefix(arg, "-"):
			add(name, value)
		case strings.HasPrefix(arg, "-") && len(arg) > 1:
			value := ""
			if i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") {
				i++
				value = command[i]
			}
			add(arg, value)
		default:
			words++
			add(fmt.Sprintf("%s%d", wordArgument, words), arg)
		}
	}
	return out
}
