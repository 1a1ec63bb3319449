package stream

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"bgcstat/parser"
	"bgcstat/parser/server"
)

// Config says what to read and from where.
type Config struct {
	Server server.Options
	From   Start
	// Bounded ends the stream with the log that it began in, ToLastLog with the
	// last one that the server has; without them it has no end.
	Bounded, ToLastLog bool
	// ServerID is what the server knows this reader by; 0 for one by chance, at
	// or above 2^31, that neither the server nor a replica of it has.
	ServerID uint32
	// Heartbeat is how often an idle server shows that it is there (default 5 s).
	// Without any sign for three times as long the connection counts as lost.
	Heartbeat time.Duration
	// Retries is how many attempts are made to connect again until a transaction or
	// a heartbeat comes; below 0 there is no limit.
	Retries int
	// NoChecksums leaves the events' checksums unverified.
	NoChecksums bool
	// Notify is called with what happens to the connection, from within Next; nil
	// for nobody.
	Notify func(Notice)
}

// Notice is something that happened to the connection.
type Notice struct {
	Time time.Time
	Kind NoticeKind
	Text string // one line for a person
}

// NoticeKind is what a Notice is about.
type NoticeKind string

// The kinds.
const (
	Lost          NoticeKind = "connection-lost"
	Resumed       NoticeKind = "connection-resumed"
	ServerChanged NoticeKind = "server-changed" // another server answers: new logs begin
)

// What a caller may decide on.
var (
	// ErrPurged: the server does not have the log that is to be read, or no more.
	ErrPurged = errors.New("the server does not have")
	// ErrPosition: no transaction begins at the offset to begin at, or the log is shorter.
	ErrPosition = errors.New("cannot begin at")
	// ErrNoGTIDs: a GTID set to begin behind, and the server has no GTIDs.
	ErrNoGTIDs = errors.New("cannot begin behind a GTID set")
	// ErrReplaced: under the name of the log there is another one now.
	ErrReplaced = errors.New("log was replaced")
	// ErrServerID: another replica has the same server id or UUID.
	ErrServerID = errors.New("server id is in use")
	// ErrNoBinlog: the server writes none, or of a kind that cannot be read so.
	ErrNoBinlog = errors.New("no binlog")
	// ErrOtherServer: another server answers, and there are no GTIDs to go on by.
	ErrOtherServer = errors.New("another server answers")
	// ErrClosed: Close was called, or the context of Open ended.
	ErrClosed = errors.New("stream closed")
)

// State is how far a stream is.
type State struct {
	Connected  bool
	Server     string            // version of the server that was connected to last
	Settings   map[string]string // what Facts has of it; not to be changed
	File       string            // of the log that is read, without a directory
	Offset     int64             // up to which it was read
	Begun      bool              // the place to begin at was found; until then events in front of it may be passed over
	Reconnects int64
	Heard      time.Time // when the last event or heartbeat came
}

// Stream reads transactions. Next and Logs belong to one goroutine; State and
// Close may be called from others.
type Stream struct {
	config Config
	source *source
	reader *parser.Reader
	logs   []*parser.Log
	ended  error
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	state State
}

// Open connects and asks for the binlog. Errors wrap those of package server
// and of this one. ctx is that of the whole stream.
func Open(ctx context.Context, c Config) (*Stream, error) {
	if c.Heartbeat == 0 {
		c.Heartbeat = 5 * time.Second
	}
	if c.Notify == nil {
		c.Notify = func(Notice) {}
	}
	s := &Stream{config: c}
	ctx, s.cancel = context.WithCancelCause(ctx)
	s.source = newSource(ctx, s)
	if err := s.source.open(); err != nil {
		s.cancel(ErrClosed)
		s.source.disconnect()
		return nil, err
	}
	return s, nil
}

// Facts are what the server that was connected to first says of itself.
func (s *Stream) Facts() Facts { return s.source.facts }

// Next waits for the next transaction, which holds until the call after, and
// gives the time at which the last of it came. It gives io.EOF where a bounded
// stream has its end. An *parser.Error says that the rest of one log could not
// be decoded; the call after goes on with the log behind it. Other errors end
// the stream.
func (s *Stream) Next() (*parser.Txn, time.Time, error) {
	for s.ended == nil {
		if s.reader == nil {
			if err := s.source.nextLog(); err != nil {
				s.end(err)
				break
			}
			s.begin()
		}
		t, err := s.reader.Next()
		if err == nil && s.torn(t) {
			s.source.boundary = t.End
			continue
		}
		if err == nil {
			s.source.took(t)
			return t, s.source.arrived, nil
		}
		s.reader = nil
		if s.source.failed != nil {
			s.end(s.source.failed)
			break
		}
		var e *parser.Error
		if !errors.Is(err, io.EOF) && !errors.Is(err, parser.ErrAbandoned) && errors.As(err, &e) {
			s.source.skip()
			return nil, s.source.arrived, err
		}
	}
	return nil, time.Time{}, s.ended
}

// torn reports whether a transaction is the rest of one that reading began
// behind the GTID event of, which is not worth much.
func (s *Stream) torn(t *parser.Txn) bool {
	v, from := s.source.facts.Version, &s.config.From
	always := v.Flavor == server.MariaDB || v.AtLeast(5, 7) // are there GTID events
	return always && !t.HasGTIDEvent && t.Log.Name == from.File && t.Start == from.Offset
}

func (s *Stream) end(err error) {
	s.ended = err
	s.source.disconnect()
	s.update(func(st *State) { st.Connected = false })
}

// begin begins a reader for the log that the source has come to.
func (s *Stream) begin() {
	s.reader = parser.NewReader(s.source, s.source.file, parser.Options{Live: true, NoChecksums: s.config.NoChecksums})
	if n := len(s.logs); n > 0 {
		s.logs[n-1].PreviousGTIDs, s.logs[n-1].GTIDs = nil, nil // sets may be large, and logs many
	}
	s.logs = append(s.logs, s.reader.Log())
}

// Logs are the logs read so far, the current one last.
func (s *Stream) Logs() []*parser.Log { return s.logs }

// State gives how far the stream is.
func (s *Stream) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *Stream) update(f func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.state)
}

// Close ends the stream: a Next that waits gives ErrClosed.
func (s *Stream) Close() { s.cancel(ErrClosed) }
