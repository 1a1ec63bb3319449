package analysis

import "bgcstat/parser"

// lastCommitted counts what the popular recipe calls groups: the transactions
// of one file, and of one stretch of rising sequence numbers in it, that share
// last_committed. Only those that are reported count. Any earlier value may come back at any time, so the counts
// of a whole stretch are kept, a byte each; they are added up at its end.
type lastCommitted struct {
	log     *parser.Log
	stretch int
	last    int64 // sequence number of the transaction before

	pages  map[int64]*lcPage // by value / lcPageSize
	page   *lcPage           // of the value before
	pageNo int64
	spare  []*lcPage
	over   map[int64]int64 // of values with lcMax transactions or more: those beyond
	given  bool            // up: too many pages

	runValue  int64
	inRun     bool // runValue is the value before
	runChosen bool
	runStart  parser.Micros // commit time of its first transaction
	runEnd    parser.Micros // and of its last
	runAt     int64         // and place

	// Runs whose members were committed more than a second apart: they cannot
	// have shared a sync.
	farRuns  int64
	firstFar parser.Pos
	longest  parser.Micros

	distinct, runs int64
	with           int64 // reported transactions that have a clock
	sizes          histogram
}

const (
	lcPageSize = 4096
	// lcMaxPages bounds the memory to 32 MiB: 33 million values in one file,
	// which a real clock reaches in a log of several GiB.
	lcMaxPages = 8192
	lcMax      = 0xff
)

type lcPage [lcPageSize]uint8

func (c *lastCommitted) add(t *parser.Txn, chosen bool) {
	if !t.HasClock {
		c.endRun()
		return
	}
	if t.Log != c.log || t.Stretch != c.stretch || t.SequenceNumber <= c.last {
		c.close()
		c.log, c.stretch = t.Log, t.Stretch
	}
	c.last = t.SequenceNumber
	if chosen {
		c.with++
	}
	if !c.inRun || t.LastCommitted != c.runValue {
		c.endRun()
		c.inRun, c.runValue = true, t.LastCommitted
		c.runStart, c.runAt = t.CommitTime, t.Start
	}
	c.runEnd = t.CommitTime
	if chosen && !c.runChosen {
		c.runChosen = true
		c.runs++
	}
	if chosen {
		c.count(t.LastCommitted)
	}
}

func (c *lastCommitted) endRun() {
	if span := c.runEnd - c.runStart; c.runChosen && c.runStart > 0 && span > 1e6 {
		if c.farRuns++; c.farRuns == 1 {
			c.firstFar = parser.Pos{File: c.log.Name, Offset: c.runAt}
		}
		c.longest = max(c.longest, span)
	}
	c.inRun, c.runChosen = false, false
}

func (c *lastCommitted) count(value int64) {
	if c.given {
		return
	}
	// Values are not negative in a sound log; in any other they are values too.
	no, at := value>>12, value&(lcPageSize-1)
	if c.page == nil || no != c.pageNo {
		if c.page = c.pages[no]; c.page == nil && !c.newPage(no) {
			return
		}
		c.pageNo = no
	}
	cell := &c.page[at]
	if *cell == lcMax {
		if c.over == nil {
			c.over = make(map[int64]int64)
		}
		c.over[value]++
	} else {
		*cell++
	}
}

func (c *lastCommitted) newPage(no int64) bool {
	if len(c.pages) >= lcMaxPages {
		c.given = true
		c.pages, c.page, c.spare, c.over = nil, nil, nil, nil
		return false
	}
	if c.pages == nil {
		c.pages = make(map[int64]*lcPage)
	}
	if n := len(c.spare); n > 0 {
		c.page, c.spare = c.spare[n-1], c.spare[:n-1]
	} else {
		c.page = new(lcPage)
	}
	c.pages[no] = c.page
	return true
}

// close adds up a stretch.
func (c *lastCommitted) close() {
	c.endRun()
	for no, page := range c.pages {
		for at, cell := range page {
			if cell == 0 {
				continue
			}
			c.distinct++
			size := int64(cell)
			if size == lcMax {
				size += c.over[no<<12|int64(at)]
			}
			c.sizes.add(size)
		}
		*page = lcPage{}
		c.spare = append(c.spare, page)
	}
	clear(c.pages)
	clear(c.over)
	c.page = nil
}

// result gives the figures; nil where no reported transaction has a clock.
func (c *lastCommitted) result() *LastCommittedGroups {
	c.close()
	if c.with == 0 {
		return nil
	}
	g := &LastCommittedGroups{Runs: c.runs, Basis: Legacy, Method: LastCommitted}
	if !c.given {
		g.Distinct = &c.distinct
		g.Histogram = c.sizes.bins()
		g.Size = groupSize(g.Histogram)
	}
	return g
}
