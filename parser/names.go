package parser

// maxNames bounds how many names are kept for reuse. A log with more tables
// still gives each its name, at the price of an allocation.
const maxNames = 1 << 14

// names keeps one copy of each table and database name, so that reading a log
// allocates for a new name only, and finds a row event's table by its id.
type names struct {
	tables map[string]*Table // by the names part of a table map event
	strs   map[string]string

	// ids are the table ids in use. A server gives a table another id whenever
	// it opens it anew.
	ids    map[uint64]*tableEntry
	lastID uint64 // of the table map event before
	last   *tableEntry
}

// tableEntry is a table under one id.
type tableEntry struct {
	raw   string // as in the table map event
	table *Table
	// txn and slot say where the table is in Txn.Tables, valid while txn is the
	// number of the current transaction.
	txn  int64
	slot int
}

func newNames() *names {
	return &names{
		tables: make(map[string]*Table),
		strs:   make(map[string]string),
		ids:    make(map[uint64]*tableEntry),
	}
}

// forget drops the table ids, which mean nothing in another log.
func (n *names) forget() {
	clear(n.ids)
	n.last = nil
}

// str gives b as a string without allocating for one that it gave before.
func (n *names) str(b []byte) string {
	if s, ok := n.strs[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(n.strs) < maxNames {
		n.strs[s] = s
	}
	return s
}

// table gives the entry of a table map event. raw is its names part: length,
// schema, 0, length, name, 0.
func (n *names) table(id uint64, raw []byte) *tableEntry {
	e := n.last
	if e == nil || n.lastID != id {
		e = n.ids[id]
	}
	if e == nil || e.raw != string(raw) {
		if len(n.ids) >= maxNames {
			clear(n.ids)
		}
		e = &tableEntry{raw: string(raw), table: n.tables[string(raw)]}
		if e.table == nil {
			schema := 1 + int(raw[0])
			e.table = &Table{Schema: string(raw[1:schema]), Name: string(raw[schema+2 : len(raw)-1])}
			if len(n.tables) < maxNames {
				n.tables[e.raw] = e.table
			}
		}
		n.ids[id] = e
	}
	n.lastID, n.last = id, e
	return e
}

// byID gives the entry of a row event's table, or nil.
func (n *names) byID(id uint64) *tableEntry {
	if n.last != nil && n.lastID == id {
		return n.last
	}
	return n.ids[id]
}
