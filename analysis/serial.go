package analysis

import (
	"fmt"
	"strings"

	"bgcstat/parser"
)

// serial counts serialisation points: transactions whose parent is the one
// just before them although the one before had more freedom, so that a replica
// must stop applying in parallel there.
type serial struct {
	log     *parser.Log
	free    bool // the transaction before had an older parent
	figures SerializationPoints
	first   parser.Pos
}

func (s *serial) add(t *parser.Txn, chosen bool) {
	if !t.HasClock {
		return
	}
	distance := t.SequenceNumber - t.LastCommitted
	if chosen && t.Log == s.log && s.free && distance == 1 {
		if s.figures.Count++; s.figures.Count == 1 {
			s.first = t.Pos()
		}
		switch {
		case t.Terminator == parser.TerminatorDDL:
			s.figures.DDL++
		case len(t.Tables) > 1:
			s.figures.SeveralTables++
		default:
			s.figures.NotInLog++
		}
	}
	s.log, s.free = t.Log, distance > 1
}

// Causes says how many there are of each cause.
func (p *SerializationPoints) Causes() string {
	var causes []string
	for _, c := range []struct {
		n    int64
		what string
	}{{p.DDL, "%d DDL"}, {p.SeveralTables, "%d by changes to several tables"}, {p.NotInLog, "%d of a cause that is not in the log"}} {
		if c.n > 0 {
			causes = append(causes, fmt.Sprintf(c.what, c.n))
		}
	}
	return strings.Join(causes, ", ")
}

func (s *serial) result() *SerializationPoints {
	if s.figures.Count == 0 {
		return nil
	}
	return &s.figures
}
