package parser_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"bgcstat/parser"
)

// trickle gives a log in pieces, as a live source does, and passes over what is
// cut out between two events.
type trickle struct {
	log     []byte
	at      int
	before  int // at, before the last Read
	random  *rand.Rand
	cutFrom int // an event's offset, 0 for no cut
	cutTo   int
	end     error
}

func (s *trickle) Read(b []byte) (int, error) {
	if s.at == len(s.log) {
		return 0, s.end
	}
	s.before = s.at
	stop := len(s.log)
	if s.cutFrom > 0 {
		if s.at == s.cutFrom {
			s.at, s.cutFrom = s.cutTo, 0
			return 0, &parser.JumpError{Offset: int64(s.at)}
		}
		stop = s.cutFrom
	}
	n := copy(b[:min(len(b), 1+s.random.IntN(400))], s.log[s.at:stop])
	s.at += n
	return n, nil
}

// TestLive reads logs as they come: the same transactions, each as soon as its
// last byte is there, and over gaps.
func TestLive(t *testing.T) {
	for name, log := range smallLogs(t) {
		t.Run(name, func(t *testing.T) {
			want, wantLog, wantErr := readBytes(log, name)
			src := &trickle{log: log, random: rand.New(rand.NewPCG(1, 2)), end: io.EOF}
			r := parser.NewReader(src, name, parser.Options{Live: true})
			var got []string
			var ends []int64
			for {
				txn, err := r.Next()
				if err != nil {
					if (wantErr == io.EOF) != (err == io.EOF) || err.Error() != wantErr.Error() { //nolint:errorlint // it must be bare
						t.Errorf("ends with %v, want %v", err, wantErr)
					}
					break
				}
				if txn.Terminator != parser.TerminatorNone && txn.End <= int64(src.before) {
					t.Errorf("a transaction that ends at %d came after %d bytes", txn.End, src.at)
				}
				got = append(got, txnLine(txn))
				ends = append(ends, txn.End)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d transactions, want %d, or they differ", len(got), len(want))
			}
			if r.Log().Bytes != wantLog.Bytes || r.Log().Damaged != wantLog.Damaged {
				t.Errorf("log: %+v, want %+v", r.Log(), wantLog)
			}
			if len(want) < 3 || wantLog.Damaged > 0 {
				return
			}

			// Without the second transaction; what lies before it belongs to the log, too.
			first := 4 + int(binary.LittleEndian.Uint32(log[13:]))
			for _, cut := range [][2]int{{int(ends[0]), int(ends[1])}, {first, int(ends[0])}} {
				src = &trickle{log: log, random: rand.New(rand.NewPCG(3, 4)), end: io.EOF, cutFrom: cut[0], cutTo: cut[1]}
				got, _, err := readLive(src, name)
				i := slices.IndexFunc(ends, func(e int64) bool { return e == int64(cut[1]) })
				if less := slices.Delete(slices.Clone(want), i, i+1); err != io.EOF && wantErr == io.EOF || !slices.Equal(got, less) { //nolint:errorlint // it must be bare
					t.Errorf("without %v: %d transactions and %v, want %d", cut, len(got), err, len(less))
				}
			}

			// Abandoned in the middle of a transaction, which is not given out then.
			src = &trickle{log: log[:ends[1]-1], random: rand.New(rand.NewPCG(5, 6)), end: parser.ErrAbandoned}
			got, l, err := readLive(src, name)
			if !errors.Is(err, parser.ErrAbandoned) || !slices.Equal(got, want[:1]) || l.Err != nil || l.Transactions != 1 {
				t.Errorf("abandoned: %d transactions, %v, %+v", len(got), err, l)
			}
		})
	}
}

func readLive(src io.Reader, name string) (lines []string, log *parser.Log, err error) {
	r := parser.NewReader(src, name, parser.Options{Live: true})
	for {
		t, err := r.Next()
		if err != nil {
			return lines, r.Log(), err
		}
		lines = append(lines, txnLine(t))
	}
}

// TestJumpOutOfPlace gives a jump in the middle of an event, and to a reader
// that expects none.
func TestJumpOutOfPlace(t *testing.T) {
	log := smallLogs(t)["small-mysql"]
	for _, live := range []bool{true, false} {
		src := io.MultiReader(bytes.NewReader(log[:150]), jumper{})
		r := parser.NewReader(src, "x", parser.Options{Live: live})
		for i := 0; ; i++ {
			_, err := r.Next()
			var e *parser.Error
			if errors.As(err, &e) || errors.Is(err, io.EOF) {
				break
			}
			if i > 10 {
				t.Fatal("does not end")
			}
		}
	}
}

type jumper struct{}

func (jumper) Read([]byte) (int, error) { return 0, &parser.JumpError{Offset: 1 << 20} }
