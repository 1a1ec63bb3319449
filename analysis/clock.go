package analysis

import (
	"time"

	"bgcstat/parser"
)

// clock holds the sequence numbers against what a sound clock gives: 1, 2, 3
// and so on in each file.
type clock struct {
	log     *parser.Log
	stretch int
	last    int64

	figures     Clock
	firstGap    parser.Pos
	firstBack   parser.Pos
	midway      parser.Pos // of a file that begins with another number than 1
	midways     int64
	impossible  parser.Pos // last_committed is not below sequence_number
	impossibles int64

	timeLog   *parser.Log
	time      parser.Micros // commit time of the transaction before
	backSteps int64         // commit times that go back inside a file
	firstStep parser.Pos

	at           parser.Micros // time of the transaction before, of whichever clock
	pauses       int64         // of longPause or more
	firstPause   parser.Pos
	longestPause time.Duration

	regrouped int64 // made on this server and stamped before it wrote them: Group Replication
	ownServer int64
}

// add takes the next transaction. The chain is that of all transactions; what
// is counted are those that are reported.
func (c *clock) add(t *parser.Txn, chosen bool) {
	if chosen {
		if t.HasClock {
			c.figures.TransactionsWith++
		} else {
			c.figures.TransactionsWithout++
		}
	}
	c.watchTime(t, chosen)
	if !t.HasClock {
		return
	}
	fresh := t.Log != c.log || t.Stretch != c.stretch
	c.log, c.stretch = t.Log, t.Stretch
	if chosen {
		first := func(p *parser.Pos, n *int64) {
			if *n++; *n == 1 {
				*p = t.Pos()
			}
		}
		switch {
		case fresh:
			if t.SequenceNumber != 1 && !t.Log.Relay {
				first(&c.midway, &c.midways)
			}
		case t.SequenceNumber <= c.last:
			first(&c.firstBack, &c.figures.Restarts)
		case t.SequenceNumber > c.last+1:
			first(&c.firstGap, &c.figures.Gaps)
		}
		if t.LastCommitted >= t.SequenceNumber || t.LastCommitted < 0 {
			first(&c.impossible, &c.impossibles)
		}
	}
	c.last = t.SequenceNumber
}

// longPause is a gap between transactions that a busy server does not make.
const longPause = 600e6 // microseconds

// watchTime looks at the times.
func (c *clock) watchTime(t *parser.Txn, chosen bool) {
	if at := t.Time(); at > 0 {
		if gap := at - c.at; chosen && c.at > 0 && gap >= longPause {
			if c.pauses++; c.pauses == 1 {
				c.firstPause = t.Pos()
			}
			c.longestPause = max(c.longestPause, time.Duration(gap)*time.Microsecond)
		}
		c.at = at
	}
	if t.CommitTime == 0 {
		return
	}
	if chosen && t.Log == c.timeLog && t.CommitTime < c.time {
		if c.backSteps++; c.backSteps == 1 {
			c.firstStep = t.Pos()
		}
	}
	c.timeLog, c.time = t.Log, t.CommitTime
	if chosen && t.ServerID == t.Log.ServerID && !t.Log.Relay {
		c.ownServer++
		if t.OriginalCommitTime != t.CommitTime {
			c.regrouped++
		}
	}
}

func (c *clock) result() Clock {
	f := c.figures
	switch {
	case f.TransactionsWith == 0:
		f.Verdict = NoClock
	case f.Restarts > 0:
		f.Verdict = Restarts
	case f.Gaps > 0:
		f.Verdict = Gaps
	default:
		f.Verdict = Contiguous
	}
	return f
}
