package analysis

import "bgcstat/parser"

// maxParents is how many points a sample of parent distances may have.
const maxParents = 2048

// parents samples parent distances evenly along the log: it keeps one of
// every few transactions, and twice as few each time the sample is full.
type parents struct {
	every, n int64
	next     int64 // the transaction that is kept next, from 1
	points   []Parent
}

func (p *parents) add(t *parser.Txn, proof bool) {
	if !t.HasClock {
		return
	}
	p.n++
	if p.n < p.next {
		return
	}
	if p.every == 0 {
		p.every = 1
	}
	if len(p.points) == maxParents {
		// The points are 1, 1 + every, 1 + 2 every and so on; this one would be
		// the first behind an even number of them, so that it stays.
		for i := range maxParents / 2 {
			p.points[i] = p.points[2*i]
		}
		p.points = p.points[:maxParents/2]
		p.every *= 2
	}
	p.points = append(p.points, Parent{p.n, t.SequenceNumber - t.LastCommitted, proof})
	p.next = p.n + p.every
}

func (p *parents) result() *Parents {
	if p.n == 0 {
		return nil
	}
	return &Parents{p.every, p.points}
}
