package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bgcstat/parser"
	"bgcstat/parser/stream"
)

// TestEveryOffset begins at every offset of a log. Where no event begins
// nothing may come that is not in the log, and nothing may wait for ever.
func TestEveryOffset(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			s := start(t, kind, "--binlog-format=ROW")
			s.Exec(t, "FLUSH BINARY LOGS; INSERT INTO d.t (v) VALUES ('one'); INSERT INTO d.t (v) VALUES ('two'), ('three'); FLUSH BINARY LOGS")
			logs := s.Binlogs(t)
			name := filepath.Base(logs[len(logs)-2])
			want := slices.DeleteFunc(inFiles(t, s), func(l string) bool { return !strings.HasPrefix(l, name) })
			ends := map[string]int{}
			for offset := int64(4); offset < 1000; offset++ {
				got, err := readFrom(t, stream.Config{Server: options(s), From: stream.Start{File: name, Offset: offset}, Bounded: true})
				how := "none"
				switch _, damaged := errors.AsType[*parser.Error](err); {
				case errors.Is(err, stream.ErrPosition):
					how = "position"
				case damaged:
					how = "damaged"
				case err != nil:
					t.Errorf("offset %d: %v", offset, err)
				}
				ends[how]++
				for _, l := range got {
					if !slices.Contains(want, l) {
						t.Errorf("offset %d: got %s", offset, l)
					}
				}
			}
			// Of the 1000 some are the beginnings of events, or behind the end.
			if ends["none"] < 8 || ends["position"] < 900 {
				t.Errorf("ends are %v", ends)
			}
		})
	}
}

// readFrom reads a bounded stream to its end, or to its first error.
func readFrom(t *testing.T, c stream.Config) (lines []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, fmt.Errorf("too long"))
	defer cancel()
	s, err := stream.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for {
		txn, _, err := s.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, line(txn))
	}
}
