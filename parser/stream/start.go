package stream

import (
	"fmt"
	"strconv"
	"strings"

	"bgcstat/parser"
)

// Start is where a stream begins. The zero value is where the server's binlog
// ends at the moment.
type Start struct {
	Oldest bool            // with the oldest log that the server has
	File   string          // at an offset in this log
	Offset int64           // of a transaction or the first event; 4 is the beginning
	GTIDs  *parser.GTIDSet // behind these transactions: with all that are not in the set
	State  string          // MariaDB: behind these, the last of each domain ("0-1-100,1-1-7")
}

// ParseStart reads a place as people give it: "current", "oldest", a log's name,
// a name and an offset (binlog.000007:4711), or a GTID set of either flavor.
func ParseStart(s string) (Start, error) {
	switch s {
	case "", "current":
		return Start{}, nil
	case "oldest":
		return Start{Oldest: true}, nil
	}
	if set, err := parser.ParseGTIDSet(s); err == nil {
		return Start{GTIDs: set, State: s}, nil
	}
	file, at, ok := strings.Cut(s, ":")
	start := Start{File: file, Offset: firstOffset}
	if ok {
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil || n < firstOffset {
			return Start{}, fmt.Errorf("offset is %q, want a number of at least %d", at, firstOffset)
		}
		start.Offset = n
	}
	if file == "" || strings.ContainsAny(file, "/\\ ,") {
		return Start{}, fmt.Errorf("%q is neither current, oldest, a log as in binlog.000007:4711, nor a GTID set", s)
	}
	return start, nil
}

// firstOffset is where the first event of a log begins.
const firstOffset = 4
