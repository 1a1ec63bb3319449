package analysis

import "bgcstat/parser"

// maxParents is how many points a sample of parent distances may have.
const maxParents = 2048

// parents samples parent distances evenly along the log: it keeps one of
// every few transactions, and twice as few each time the sample is full.
type parents struct {
	every, n int64
	points   []Parent
}

func (p *parents) add(t *parser.Txn, proof bool) {
	if !t.HasClock {
		return
	}
	p.n++
	if p.every == 0 {
		p.every = 1
	}
	if (p.n-1)%p.every != 0 {
		return
	}
	if len(p.points) == maxParents {
		for i := range maxParents / 2 {
			p.points[i] = p.points[2*i]
		}
		p.points = p.points[:maxParents/2]
		p.every *= 2
		if (p.n-1)%p.every != 0 {
			return
		}
	}
	p.points = append(p.points, Parent{p.n, t.SequenceNumber - t.LastCommitted, proof})
}

func (p *parents) result() *Parents {
	if p.n == 0 {
		return nil
	}
	return &Parents{p.every, p.points}
}
