package analysis

import "bgcstat/parser"

// commitIDs finds MariaDB's groups: a run of equal commit ids in one file is
// one group, a transaction without an id is a group of one. Groups cannot
// cross files, since the server changes files between groups. A transaction
// without its end is in no group.
type commitIDs struct {
	log    *parser.Log
	id     uint64
	number int64 // of the group that is open, from 1 on
	size   int64
	chosen bool // it holds a reported transaction

	groups int64 // with a reported transaction
	sizes  histogram
}

// add takes the next transaction and gives the number of its group, 0 for
// none. begun is whether it is the first reported one of its group.
func (c *commitIDs) add(t *parser.Txn, chosen bool) (number int64, begun bool) {
	if t.Terminator == parser.TerminatorNone {
		return 0, false
	}
	if c.number == 0 || t.Log != c.log || t.CommitID == 0 || t.CommitID != c.id {
		c.close()
		c.log, c.id = t.Log, t.CommitID
		c.number++
	}
	c.size++
	begun = chosen && !c.chosen
	c.chosen = c.chosen || chosen
	return c.number, begun
}

// close ends the group that is open.
func (c *commitIDs) close() {
	if c.chosen {
		c.groups++
		c.sizes.add(c.size)
	}
	c.size, c.chosen = 0, false
}
