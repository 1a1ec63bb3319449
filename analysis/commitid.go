package analysis

import "bgcstat/parser"

// commitIDs finds MariaDB's groups: a run of equal commit ids in one file is
// one group, a transaction without an id is a group of one. Groups cannot
// cross files, since the server changes files between groups; only a relay log
// may end anywhere.
type commitIDs struct {
	log   *parser.Log
	id    uint64
	began bool // the last transaction began a group
	tally tally
}

// begins reports whether the next transaction that is in a group begins one.
func (c *commitIDs) begins(t *parser.Txn) bool {
	return t.Log != c.log && !t.Log.Relay || t.CommitID == 0 || t.CommitID != c.id
}

// add takes the next transaction that is in a group. It reports whether it is
// the first reported one of its group.
func (c *commitIDs) add(t *parser.Txn, chosen bool) (first bool) {
	c.began = c.begins(t)
	c.log, c.id = t.Log, t.CommitID
	return c.tally.add(c.began, chosen)
}
