package iosample

import (
	"path"
	"regexp"
	"strings"
)

// deleted is what links in /proc end in where the file has no name any more.
const deleted = " (deleted)"

// numbered is the end of the names of binlogs and relay logs: six digits, more
// behind number 999999.
var numbered = regexp.MustCompile(`\.\d{6,}$`)

// kinds are the names of the other files, by the last part of their path.
var kinds = []struct {
	class Class
	name  *regexp.Regexp
}{
	// Aria's log is numbered, too, and a sync of it is nobody's commit.
	{Other, regexp.MustCompile(`^aria_log\.\d+$`)},
	// MySQL up to 8.0.29 and MariaDB: ib_logfile0 and its like, ib_logfile101
	// while it is made. MySQL since 8.0.30: #ib_redo7, with _tmp while it is spare.
	{Redo, regexp.MustCompile(`^(ib_logfile\d+|#ib_redo\d+(_tmp)?)$`)},
	// MySQL since 8.0.20; by the size of a page. The b is of the mode that
	// writes no content. Before, and in MariaDB, it is inside ibdata1; Percona
	// Server 5.7 had a file of its own.
	{Doublewrite, regexp.MustCompile(`^(#ib_\d+_\d+\.b?dblwr|xb_doublewrite)$`)},
	// undo_001 in MySQL 8.0, undo001 in 5.7 and MariaDB, *.ibu those that a user made.
	{Undo, regexp.MustCompile(`^(undo_\d+|undo\d{3}|.*\.ibu)$`)},
	// InnoDB, MyISAM, Aria.
	{Data, regexp.MustCompile(`^(ibdata\d+|.*\.(ibd|ibdata|MYD|MYI|MAD|MAI|frm))$`)},
}

// Classify tells from its path what a file of a server is for. Whether a
// numbered log is a relay log its name need not tell: isRelay is asked with the
// base name, and where it is nil "relay" must be part of that.
func Classify(name string, isRelay func(base string) bool) Class {
	base := path.Base(strings.TrimSuffix(name, deleted))
	for _, k := range kinds {
		if k.name.MatchString(base) {
			return k.class
		}
	}
	if !numbered.MatchString(base) {
		return Other
	}
	if isRelay == nil {
		isRelay = namesRelay
	}
	if isRelay(base) {
		return Relay
	}
	return Binlog
}

func namesRelay(base string) bool { return strings.Contains(base, "relay") }

// stem is the name of a numbered log without its number: that of all logs of
// one index.
func stem(base string) string {
	base = path.Base(base)
	return strings.TrimSuffix(base, path.Ext(base))
}
