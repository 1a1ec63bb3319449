package parser_test

import (
	"runtime"
	"strings"
	"testing"
)

// What a log claims must not be allocated.
func TestClaims(t *testing.T) {
	const bound = 32 << 20
	for _, test := range []struct {
		name string
		log  []byte
	}{
		{"event of 4 GiB", marshal(t, "format\nevent type=30 eventlength=4294967295 logpos=0 size=9 truncate=23")},
		{"event of 3 GiB in a payload", marshal(t, "format\ngtid last=0 seq=1\npayload none {\nevent type=2 eventlength=3221225472 size=9\n}")},
		{"payload that claims 3 GiB", marshal(t, "format\ngtid last=0 seq=1\npayload zstd size=3221225472 {\nquery BEGIN\nxid 1\n}")},
		{"zstd bomb", marshal(t, zstdBomb)},
		{"zstd frame that claims 3 GiB", marshal(t, "format\ngtid last=0 seq=1\nevent type=40 body="+
			"02010003"+"05fe000000c0"+"00"+"28b52ffd"+"c0"+"000000c000000000"+"010000")},
		{"previous GTIDs that claim 2^63 intervals", marshal(t, "format\nevent type=35 body=ffffffffffffff7f"+
			strings.Repeat("00", 16)+"ffffffffffffff7f")},
		{"GTID list that claims 2^28", marshal(t, "format version=10.6.1-MariaDB\nevent type=163 body=ffffff0f")},
	} {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := readBytes(test.log, "binlog.000001")
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > bound {
			t.Errorf("%s: allocates %d MiB, want less than %d (%v)", test.name, got>>20, bound>>20, err)
		}
	}
}

// zstdBomb is 1 GiB and more of an event in a payload of some kilobytes.
var zstdBomb = "format\ngtid last=0 seq=1\npayload zstd {\nquery BEGIN\nevent type=30 size=268435456\nxid 1\n}"
