package analysis

import (
	"slices"
	"strings"

	"bgcstat/parser"
)

// Filter chooses the transactions that are reported. Groups are formed over
// all of them first. The zero value chooses all.
type Filter struct {
	// Start and Stop bound Txn.Time: Start <= time < Stop, 0 for no bound. A
	// transaction without a time is chosen only where neither is set.
	Start, Stop parser.Micros
	// StartPosition holds in the log named FirstLog, StopPosition in LastLog:
	// transactions that start at StartPosition or later, and before StopPosition.
	StartPosition, StopPosition int64
	FirstLog, LastLog           string
	// Include leaves only these GTIDs, Exclude leaves these out.
	Include, Exclude *parser.GTIDSet
	// Databases and Tables leave transactions that change a table of one of
	// these or, where they hold statements, have one of Databases as default
	// database. A table without schema ("t") is meant in any.
	Databases, Tables []string

	// Given is how the user wrote it, for the report.
	Given *Filters
}

// Match reports whether t is chosen.
func (f *Filter) Match(t *parser.Txn) bool {
	if f.Start != 0 && t.Time() < f.Start || f.Stop != 0 && (t.Time() == 0 || t.Time() >= f.Stop) {
		return false
	}
	if f.StartPosition != 0 && t.Log.Name == f.FirstLog && t.Start < f.StartPosition {
		return false
	}
	if f.StopPosition != 0 && t.Log.Name == f.LastLog && t.Start >= f.StopPosition {
		return false
	}
	if f.Include != nil && !f.Include.Contains(t.GTID) || f.Exclude != nil && f.Exclude.Contains(t.GTID) {
		return false
	}
	return (f.Databases == nil || f.matchDatabase(t)) && (f.Tables == nil || f.matchTable(t))
}

func (f *Filter) matchDatabase(t *parser.Txn) bool {
	for i := range t.Tables {
		if slices.Contains(f.Databases, t.Tables[i].Table.Schema) {
			return true
		}
	}
	for _, db := range t.Databases {
		if slices.Contains(f.Databases, db) {
			return true
		}
	}
	return false
}

func (f *Filter) matchTable(t *parser.Txn) bool {
	for i := range t.Tables {
		table := t.Tables[i].Table
		for _, want := range f.Tables {
			// Names may hold dots themselves, so that both readings count.
			if want == table.Name {
				return true
			}
			if name, ok := strings.CutPrefix(want, table.Schema+"."); ok && name == table.Name {
				return true
			}
		}
	}
	return false
}

// ofSome reports whether the filter takes single transactions out of a stretch
// of the log, so that what is left did not share its groups alone.
func (f *Filter) ofSome() bool {
	return f.Include != nil || f.Exclude != nil || f.Databases != nil || f.Tables != nil
}
