package stream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bgcstat/parser"
	"bgcstat/parser/server"
	"bgcstat/parser/servertest"
	"bgcstat/parser/stream"
)

// TestEveryOffset begins at every offset of a log. Where no event begins
// nothing may come that is not in the log, and nothing may wait for ever.
func TestEveryOffset(t *testing.T) {
	for _, kind := range servertest.Some() {
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

// TestBegun tells whether the place to begin at was found.
func TestBegun(t *testing.T) {
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			s := start(t, kind)
			s.Exec(t, "INSERT INTO d.t (v) VALUES ('one'); FLUSH BINARY LOGS")
			logs := s.Binlogs(t)
			first, last := filepath.Base(logs[0]), filepath.Base(logs[len(logs)-1])
			var before *parser.Txn
			open := func(from stream.Start, want bool) *stream.Stream {
				t.Helper()
				f, err := stream.Open(t.Context(), stream.Config{Server: options(s), From: from, ToLastLog: true})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(f.Close)
				if got := f.State().Begun; got != want {
					t.Errorf("%+v: begun %t", from, got)
				}
				return f
			}
			f := open(stream.Start{Oldest: true}, true)
			for range 2 {
				txn, _, err := f.Next()
				if err != nil {
					t.Fatal(err)
				}
				before = txn
			}
			f = open(stream.Start{File: first, Offset: before.End}, false)
			if _, _, err := f.Next(); err != nil || !f.State().Begun {
				t.Errorf("at its transaction: begun %t, %v", f.State().Begun, err)
			}
			f = open(stream.Start{File: first, Offset: 9_999_999_999}, false)
			if _, _, err := f.Next(); !errors.Is(err, stream.ErrPosition) || f.State().Begun {
				t.Errorf("behind the end: begun %t, %v", f.State().Begun, err)
			}
			open(stream.Start{File: first, Offset: 4}, true)
			open(stream.Start{File: last}, true)
			open(stream.Start{}, true)
		})
	}
}

// readFrom reads a bounded stream to its end, or to its first error.
func readFrom(t *testing.T, c stream.Config) (lines []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, fmt.Errorf("too long"))
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

// TestSameID has another replica connect under the same server id and UUID. The
// stream that was there first must end, and not come back and end the other one.
func TestSameID(t *testing.T) {
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			s := start(t, kind)
			const id = 3_000_000_000
			f := follow(t, stream.Config{Server: options(s), ServerID: id})
			other, err := server.Connect(t.Context(), options(s))
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			if kind.MySQL() { // which goes by the UUID
				uuid := s.Exec(t, "SELECT DISTINCT VARIABLE_VALUE FROM performance_schema.user_variables_by_thread WHERE VARIABLE_NAME = 'replica_uuid'")
				if _, err := other.Query(t.Context(), "SET @replica_uuid = '"+strings.TrimSpace(uuid)+"', @slave_uuid = @replica_uuid, @source_binlog_checksum = 'CRC32'"); err != nil {
					t.Fatal(err)
				}
			} else if _, err := other.Query(t.Context(), "SET @mariadb_slave_capability = 4, @master_binlog_checksum = 'CRC32'"); err != nil {
				t.Fatal(err)
			}
			command := binary.LittleEndian.AppendUint32([]byte{0x12, 4, 0, 0, 0, 0, 0}, id)
			events, err := other.Events(t.Context(), append(command, filepath.Base(s.Binlogs(t)[0])...), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := events.Next(19); err != nil {
				t.Fatal(err)
			}
			select {
			case <-f.done:
			case <-time.After(time.Minute):
				t.Fatalf("the stream goes on: %+v %v", f.State(), f.notices)
			}
			if !errors.Is(f.err, stream.ErrServerID) || f.State().Reconnects != 0 {
				t.Errorf("ends with %v after %d reconnects", f.err, f.State().Reconnects)
			}
		})
	}
}

// TestReset takes the logs away under a stream. It must not take those that
// come then for the same.
func TestReset(t *testing.T) {
	for _, kind := range servertest.Some() {
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v %v", kind, busy), func(t *testing.T) {
				s := start(t, kind)
				f := follow(t, stream.Config{Server: options(s), From: stream.Start{Oldest: true}, Heartbeat: 200 * time.Millisecond})
				s.Exec(t, "INSERT INTO d.t (v) VALUES ('before')")
				for f.at.Load() < 3 {
					time.Sleep(5 * time.Millisecond)
				}
				before := inFiles(t, s)
				// A log is told from the one before by the second that it was begun in.
				time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1050 * time.Millisecond))) // time(2) lags a little
				reset := "RESET MASTER"
				if kind.MySQL() {
					reset = "RESET BINARY LOGS AND GTIDS"
				}
				if busy {
					stop := load(t, s, 2)
					defer stop()
				}
				s.Exec(t, reset)
				time.Sleep(300 * time.Millisecond)
				for range 30 {
					s.Exec(t, "INSERT INTO d.t (v) VALUES ('after')")
				}
				select {
				case <-f.done:
				case <-time.After(time.Minute):
					t.Fatalf("goes on: %+v %v", f.State(), f.notices)
				}
				if !errors.Is(f.err, stream.ErrReplaced) && !errors.Is(f.err, stream.ErrPurged) {
					t.Errorf("ends with %v, %v", f.err, f.notices)
				}
				if !busy {
					same(t, "until the reset", f.lines, before)
				}
			})
		}
	}
}
