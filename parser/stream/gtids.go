package stream

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bgcstat/parser"
)

// tracker knows by which GTIDs a stream could go on elsewhere: those of all
// transactions that came, and of those that were there before.
type tracker struct {
	// set is MySQL's; nil where the server does not write GTIDs, or one came
	// without.
	set *parser.GTIDSet
	// last has the last of each domain, MariaDB's way; nil where it is not known.
	last map[uint32]parser.GTID
	// The server had all of set when its log had come to here; a stream that
	// began before that must first come as far. "" where there is no such place.
	file    string
	offset  int64
	log     string
	reached bool
}

// enter takes note that another log has begun.
func (k *tracker) enter(log string) {
	if k.file != "" && k.log == k.file && log != k.file {
		k.reached = true
	}
	k.log = log
}

// add takes the next transaction.
func (k *tracker) add(t *parser.Txn) {
	switch {
	case t.GTID.IsZero():
		k.set = nil
	case k.last != nil:
		k.last[t.GTID.Source.Domain] = t.GTID
	case k.set != nil:
		k.set.Add(t.GTID)
	}
	if k.log == k.file && t.End >= k.offset {
		k.reached = true
	}
}

// position is what to ask another server for the rest by: a GTID set, or
// MariaDB's list of the last of each domain. The error says why there is none.
func (k *tracker) position() (string, error) {
	switch {
	case k.last != nil:
		var out []string
		for _, domain := range slices.Sorted(maps.Keys(k.last)) {
			out = append(out, k.last[domain].String())
		}
		return strings.Join(out, ","), nil
	case k.set == nil:
		return "", fmt.Errorf("%w, and its transactions have no GTIDs to go on by: a position means nothing there", ErrOtherServer)
	case k.file != "" && !k.reached:
		return "", fmt.Errorf("%w before all was read that the first one had when reading began (up to %s:%d), so that it is not known what is missing", ErrOtherServer, k.file, k.offset)
	default:
		return k.set.String(), nil
	}
}
