package parser

import (
	"errors"
	"io"
	"iter"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// Files reads several logs as one, in the order in which they are given.
// While one is decoded its next blocks are read and their checksums verified
// by another goroutine, where there is a processor for it.
type Files struct {
	inputs  []*Input
	opt     Options
	names   *names
	payload *payload
	ahead   bool

	next    int // the input after the current one
	reader  *Reader
	blocks  *logBlocks
	waiting *logBlocks // of the next input, begun early
	logs    []*Log
	read    atomic.Int64
	total   int64
}

// NewFiles reads the inputs that Find gave. Close it to release its files.
func NewFiles(inputs []*Input, opt Options) *Files {
	f := &Files{
		inputs: inputs, opt: opt, names: newNames(), payload: &payload{},
		ahead: runtime.GOMAXPROCS(0) > 1,
	}
	for _, in := range inputs {
		f.total += in.Size
	}
	return f
}

// Logs are the logs read so far, the current one last. Those of finished logs
// are complete.
func (f *Files) Logs() []*Log { return f.logs }

// Progress gives the bytes read from the disk so far and in all; the second is
// 0 where it is not known. It may be called while Next runs.
func (f *Files) Progress() (read, total int64) { return f.read.Load(), f.total }

// Next gives the next transaction, which holds until the call after, and
// io.EOF behind the last log. An *Error says why a log could not be read to its
// end; the call after goes on with the log behind it.
func (f *Files) Next() (*Txn, error) {
	for f.reader != nil || f.open() {
		t, err := f.reader.Next()
		if err == nil {
			return t, nil
		}
		f.finish()
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return nil, io.EOF
}

// All is Next as an iterator. An error is that of one log; the iteration goes on.
func (f *Files) All() iter.Seq2[*Txn, error] {
	return func(yield func(*Txn, error) bool) {
		for {
			t, err := f.Next()
			if errors.Is(err, io.EOF) || !yield(t, err) {
				return
			}
		}
	}
}

// Close ends reading, wherever it is.
func (f *Files) Close() {
	f.finish()
	f.next = len(f.inputs)
	if f.waiting != nil {
		f.waiting.close()
		f.waiting = nil
	}
}

func (f *Files) open() bool {
	if f.next >= len(f.inputs) {
		return false
	}
	in := f.inputs[f.next]
	f.next++
	f.blocks = f.waiting
	if f.blocks == nil {
		f.blocks = f.start(in)
	}
	f.waiting = nil
	if f.ahead && f.next < len(f.inputs) && f.inputs[f.next].stream == nil {
		f.waiting = f.start(f.inputs[f.next])
	}
	f.reader = newReader(f.blocks, in.Head.Name, f.names, f.payload)
	f.logs = append(f.logs, f.reader.Log())
	return true
}

func (f *Files) finish() {
	if f.reader == nil {
		return
	}
	f.blocks.close()
	f.reader, f.blocks = nil, nil
	if n := len(f.logs); n > 1 {
		a, b := f.logs[n-2], f.logs[n-1]
		CheckJoint(a, b)
		a.PreviousGTIDs, a.GTIDs = nil, nil // sets may be large, and logs many
	}
}

func (f *Files) start(in *Input) *logBlocks {
	l := &logBlocks{}
	src, err := io.ReadCloser(nil), in.Err
	if err == nil {
		src, err = in.open(&f.read)
	}
	if err != nil {
		l.err = &Error{Pos{in.Head.Name, -1}, 0, err}
		return l
	}
	l.src = src
	l.framer = newFramer(src, in.Head.Name, !f.opt.NoChecksums)
	if f.ahead {
		l.full = make(chan *block, blocksAhead)
		l.free = make(chan *block, blocksAhead)
		l.quit = make(chan struct{})
		l.done = make(chan struct{})
		go l.run()
	}
	return l
}

// blocksAhead is how many blocks are between the two goroutines: one being
// filled, one being decoded, and slack for when one of them is descheduled.
const blocksAhead = 4

// blockPool holds the blocks of finished logs for the logs to come.
var blockPool = sync.Pool{New: func() any { return newBlock() }}

// logBlocks gives the blocks of one log, framed in its own goroutine or when
// asked.
type logBlocks struct {
	framer *framer
	src    io.Closer
	cur    *block
	err    error // why the log could not be opened

	full, free chan *block
	quit, done chan struct{}
}

func (l *logBlocks) next() *block {
	switch {
	case l.err != nil:
		return &block{err: l.err}
	case l.full == nil:
		if l.cur == nil {
			l.cur = blockPool.Get().(*block)
		}
		l.framer.next(l.cur)
	default:
		if l.cur != nil {
			l.free <- l.cur
		}
		l.cur = <-l.full
	}
	return l.cur
}

// run frames ahead until the log ends or quit is closed.
func (l *logBlocks) run() {
	defer close(l.done)
	for n := 0; ; n++ {
		var b *block
		if n < blocksAhead {
			b = blockPool.Get().(*block)
		} else {
			select {
			case b = <-l.free:
			case <-l.quit:
				return
			}
		}
		l.framer.next(b)
		last := b.err != nil
		select {
		case l.full <- b:
		case <-l.quit:
			return
		}
		if last {
			return
		}
	}
}

// close ends the goroutine and closes the file.
func (l *logBlocks) close() {
	if l.quit != nil {
		close(l.quit)
		<-l.done
		close(l.full)
		for b := range l.full {
			blockPool.Put(b)
		}
		for len(l.free) > 0 {
			blockPool.Put(<-l.free)
		}
	}
	if l.cur != nil {
		blockPool.Put(l.cur)
		l.cur = nil
	}
	if l.src != nil {
		l.src.Close()
	}
}

// CheckJoint says in the warnings of b, which was read after a, where it does not
// follow that.
func CheckJoint(a, b *Log) {
	if b.Flavor == 0 || a.Flavor == 0 {
		return
	}
	at := Pos{b.Name, 0}
	next, have := a.Next, bareName(b.Name)
	if next != "" && bareName(next) != have {
		nextBase, nextNumber, ok := SplitName(next)
		base, number, numbered := SplitName(b.Name)
		if ok && numbered && base == nextBase {
			if number > nextNumber {
				b.Warnings.Add("gap-between-logs", at, "%s ends with a pointer to %s, which is not among the files: transactions are missing before this one", bareName(a.Name), bareName(next))
			} else {
				b.Warnings.Add("overlapping-logs", at, "%s ends with a pointer to %s: this log is not the one behind it", bareName(a.Name), bareName(next))
			}
			return
		}
	}
	if a.GTIDs == nil || b.PreviousGTIDs == nil || !a.Complete() {
		return
	}
	if a.Flavor == MySQL && a.PreviousGTIDs == nil {
		return
	}
	if g, ok := b.PreviousGTIDs.beyond(a.GTIDs); ok {
		b.Warnings.Add("gap-between-logs", at, "it was begun after %v, which neither %s nor its predecessors hold: transactions are missing before this one", g, bareName(a.Name))
		return
	}
	if g, ok := a.GTIDs.beyond(b.PreviousGTIDs); ok {
		b.Warnings.Add("overlapping-logs", at, "%s holds %v, which was committed after this log was begun: the two overlap or are in the wrong order", bareName(a.Name), g)
	}
}

// bareName is a log's name without its directory and an archive's suffix.
func bareName(path string) string {
	name := filepath.Base(path)
	for _, suffix := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}
