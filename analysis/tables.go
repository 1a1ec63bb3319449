package analysis

import (
	"cmp"
	"slices"

	"bgcstat/parser"
)

// maxTables bounds the tables that are told apart.
const maxTables = 1 << 14

// tables counts changes by table.
type tables struct {
	byName  map[parser.Table]*TableStats
	byTable map[*parser.Table]*TableStats // saves hashing names: a log has one pointer a name
	more    int64                         // changes of tables beyond maxTables

	// recent are the tables met last: most logs change a handful in turn.
	recent     [4]recentTable
	nextRecent int
}

type recentTable struct {
	table *parser.Table
	stats *TableStats
}

func (s *tables) add(t *parser.Txn) {
	for i := range t.Tables {
		c := &t.Tables[i]
		stats := s.of(c.Table)
		if stats == nil {
			s.more++
			continue
		}
		stats.Transactions++
		stats.InsertEvents += int64(c.Inserts)
		stats.UpdateEvents += int64(c.Updates)
		stats.DeleteEvents += int64(c.Deletes)
	}
}

// of gives the counts of a table, nil for one beyond maxTables.
func (s *tables) of(table *parser.Table) *TableStats {
	for i := range s.recent {
		if s.recent[i].table == table {
			return s.recent[i].stats
		}
	}
	stats := s.byTable[table]
	if stats == nil {
		stats = s.named(table)
	}
	s.recent[s.nextRecent] = recentTable{table, stats}
	s.nextRecent = (s.nextRecent + 1) % len(s.recent)
	return stats
}

func (s *tables) named(table *parser.Table) *TableStats {
	if s.byName == nil {
		s.byName = make(map[parser.Table]*TableStats)
		s.byTable = make(map[*parser.Table]*TableStats)
	}
	stats := s.byName[*table]
	if stats == nil {
		if len(s.byName) >= maxTables {
			return nil
		}
		stats = &TableStats{Table: table.String()}
		s.byName[*table] = stats
	}
	if len(s.byTable) >= maxTables {
		clear(s.byTable)
	}
	s.byTable[table] = stats
	return stats
}

func (s *tables) result() []TableStats {
	out := make([]TableStats, 0, len(s.byName))
	for _, stats := range s.byName {
		out = append(out, *stats)
	}
	slices.SortFunc(out, func(a, b TableStats) int {
		return cmp.Or(cmp.Compare(b.changes(), a.changes()), cmp.Compare(b.Transactions, a.Transactions), cmp.Compare(a.Table, b.Table))
	})
	return out
}

func (t TableStats) changes() int64 { return t.InsertEvents + t.UpdateEvents + t.DeleteEvents }
