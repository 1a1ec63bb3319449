package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bgcstat/parser"
	"bgcstat/parser/server"
	"bgcstat/parser/servertest"
	"bgcstat/parser/stream"
)

// proxy passes connections on to a server, and cuts them.
type proxy struct {
	listener net.Listener
	target   atomic.Pointer[string]
	stalled  atomic.Bool  // nothing is passed on
	cutAfter atomic.Int64 // bytes from the server until a connection is cut; 0 for never

	mu    sync.Mutex
	conns []net.Conn
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l}
	p.target.Store(&target)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", *p.target.Load())
			if err != nil {
				c.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, c, s)
			p.mu.Unlock()
			go func() { _, _ = io.Copy(s, c); s.Close() }()
			go func() { p.pass(c, s); c.Close(); s.Close() }()
		}
	}()
	t.Cleanup(func() { l.Close(); p.cut() })
	return p
}

// pass copies what a server sends.
func (p *proxy) pass(to, from net.Conn) {
	b := make([]byte, 8192)
	sent := int64(0)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		for p.stalled.Load() {
			time.Sleep(10 * time.Millisecond)
		}
		if most := p.cutAfter.Load(); most > 0 && sent+int64(n) > most {
			_, _ = to.Write(b[:max(most-sent, 0)])
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
		sent += int64(n)
	}
}

// cut cuts all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) options() server.Options {
	_, port, _ := net.SplitHostPort(p.listener.Addr().String())
	n, _ := strconv.Atoi(port)
	return server.Options{Host: "127.0.0.1", Port: n, User: "root", Protocol: server.TCP, SSLMode: server.Disabled}
}

// load writes to a server until the function that it returns is called, which
// gives the number of transactions that were committed for sure.
func load(t *testing.T, s *servertest.Server, clients int) (stop func() int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	var n atomic.Int64
	for i := range clients {
		done.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for ctx.Err() == nil {
				conn, err := server.Connect(ctx, options(s))
				if err != nil {
					time.Sleep(50 * time.Millisecond)
					continue
				}
				for err == nil && ctx.Err() == nil {
					// Some transactions of several events, some larger than what is read at a time.
					sql := fmt.Sprintf("INSERT INTO d.t (v) VALUES (REPEAT('x', %d))", random.IntN(500))
					switch random.IntN(100) {
					case 0:
						sql = "INSERT INTO d.t (v) VALUES (REPEAT('x', 400000))"
					case 1, 2, 3, 4:
						sql = "INSERT INTO d.t (v) VALUES (REPEAT('a', 9000)), (REPEAT('b', 9000)), (REPEAT('c', 9000))"
					}
					if _, err = conn.Query(context.WithoutCancel(ctx), sql); err == nil {
						n.Add(1)
					}
				}
				conn.Close()
			}
		})
	}
	return func() int64 {
		cancel()
		done.Wait()
		return n.Load()
	}
}

// follower reads a stream until it is told to stop.
type follower struct {
	*stream.Stream
	lines   []string
	gtids   []string
	notices []stream.Notice
	err     error
	done    chan struct{}
	at      atomic.Int64 // transactions
}

func follow(t *testing.T, c stream.Config) *follower {
	t.Helper()
	f := &follower{done: make(chan struct{})}
	c.Notify = func(n stream.Notice) { f.notices = append(f.notices, n) }
	c.Retries = -1
	s, err := stream.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	f.Stream = s
	go func() {
		defer close(f.done)
		for {
			txn, _, err := s.Next()
			if err != nil {
				f.err = err
				return
			}
			f.lines = append(f.lines, line(txn))
			f.gtids = append(f.gtids, txn.GTID.String())
			f.at.Add(1)
		}
	}()
	t.Cleanup(func() { s.Close(); <-f.done })
	return f
}

// wait waits until n transactions more have come.
func (f *follower) wait(t *testing.T, n int64) {
	t.Helper()
	from := f.at.Load()
	for deadline := time.Now().Add(60 * time.Second); f.at.Load() < from+n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no more transactions: %+v", f.State())
		}
	}
}

// connectedAgain waits until there were so many reconnects.
func (f *follower) connectedAgain(t *testing.T, times int64) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); f.State().Reconnects < times; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no new connection: %+v", f.State())
		}
	}
}

// caughtUp waits until the stream has come to the server's position, or behind it,
// and ends it.
func (f *follower) caughtUp(t *testing.T, s *servertest.Server) {
	t.Helper()
	conn, err := server.Connect(t.Context(), options(s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	file, offset, err := conn.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		select {
		case <-f.done:
			t.Fatalf("stream ended: %v", f.err)
		default:
		}
		// MariaDB may write of a checkpoint at any time.
		if st := f.State(); st.File == file && st.Offset >= offset {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("stream is at %+v, the server at %s:%d", f.State(), file, offset)
		}
	}
	f.Close()
	<-f.done
	if !errors.Is(f.err, stream.ErrClosed) {
		t.Errorf("ends with %v", f.err)
	}
}

// TestEachOnce reads a server that is written to all the time, across what may
// happen to the connection, and compares with the files afterwards.
func TestEachOnce(t *testing.T) {
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			s := start(t, kind)
			p := startProxy(t, s.Addr())
			first := len(inFiles(t, s))
			f := follow(t, stream.Config{Server: p.options(), Heartbeat: 200 * time.Millisecond})
			stop := load(t, s, 4)
			wait := func(n int64) { t.Helper(); f.wait(t, n) }
			wait(100)
			// 1. Ten KILLs of the dump thread, with a new log between each.
			for range 10 {
				before := f.State().Reconnects
				for deadline := time.Now().Add(60 * time.Second); f.State().Reconnects == before; time.Sleep(50 * time.Millisecond) {
					id := strings.Fields(s.Exec(t, "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%' ORDER BY id DESC LIMIT 1"))
					if len(id) == 1 {
						_, _ = s.Query("KILL " + id[0]) // it may just be gone
					}
					if time.Now().After(deadline) {
						t.Fatalf("no new connection: %+v, %v", f.State(), f.notices)
					}
				}
				wait(50)
				s.Exec(t, "FLUSH BINARY LOGS")
				wait(50)
			}
			killed := f.State().Reconnects
			// 2. A proxy that cuts each connection after so many bytes: in the middle
			// of packets, events, transactions.
			for i := range int64(8) {
				p.cutAfter.Store(20_000 + 33_331*i)
				p.cut()
				time.Sleep(300 * time.Millisecond)
			}
			p.cutAfter.Store(0)
			p.cut()
			wait(100)
			// 3. Silence for longer than heartbeats come.
			p.stalled.Store(true)
			time.Sleep(time.Second)
			p.stalled.Store(false)
			wait(100)
			// 4. A clean restart, and a crash.
			s.Stop(t)
			s.Restart(t)
			wait(100)
			s.Kill()
			s.Restart(t)
			wait(100)
			n := stop()
			f.caughtUp(t, s)

			same(t, "the stream", f.lines, inFiles(t, s)[first:])
			if killed < 10 {
				t.Errorf("%d reconnects by 10 KILLs", killed)
			}
			if int64(len(f.lines)) < n {
				t.Errorf("%d transactions, %d were committed", len(f.lines), n)
			}
			t.Logf("%d transactions, %d reconnects, %d logs", len(f.lines), f.State().Reconnects, len(f.Logs()))
		})
	}
}

// TestEndedUnknown has a bounded dump ended in the middle, which looks like its
// end to a reader who may not ask where that is.
func TestEndedUnknown(t *testing.T) {
	s := start(t, servertest.MySQL97)
	s.Exec(t, "CREATE USER dumps@localhost; GRANT REPLICATION SLAVE ON *.* TO dumps@localhost")
	s.Exec(t, strings.Repeat("INSERT INTO d.t (v) VALUES (REPEAT('x', 1000000));", 30))
	o := options(s)
	o.User = "dumps"
	var notices []stream.Notice
	f, err := stream.Open(t.Context(), stream.Config{
		Server: o, From: stream.Start{Oldest: true}, ToLastLog: true, Retries: 5,
		Notify: func(n stream.Notice) { notices = append(notices, n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	for {
		txn, _, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, line(txn)); len(got) == 5 { // the rest has no room between here and there
			s.Exec(t, "KILL QUERY "+s.Exec(t, "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"))
		}
	}
	same(t, "across the end", got, inFiles(t, s))
	if len(notices) > 0 || f.State().Reconnects > 0 {
		t.Errorf("told was %v", notices)
	}
}

// TestBoundedFailover has another server answer in the middle of a bounded read,
// and that one's dump ended in the middle, too.
func TestBoundedFailover(t *testing.T) {
	// Two servers with the same GTIDs.
	var servers [2]*servertest.Server
	for i := range servers {
		servers[i] = start(t, servertest.MariaDB1011, "--binlog-format=ROW")
		servers[i].Exec(t, strings.Repeat("INSERT INTO d.t (v) VALUES (REPEAT('x', 1000000));", 60))
	}
	first, second := servers[0], servers[1]
	for _, oneLog := range []bool{false, true} {
		p := startProxy(t, first.Addr())
		var notices []stream.Notice
		c := stream.Config{
			Server: p.options(), From: stream.Start{File: filepath.Base(first.Binlogs(t)[0]), Offset: 4}, Bounded: oneLog, ToLastLog: !oneLog, Retries: 5,
			Notify: func(n stream.Notice) { notices = append(notices, n) },
		}
		f, err := stream.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var got []string
		since := 0 // the other server answers
		for {
			var txn *parser.Txn
			if txn, _, err = f.Next(); err != nil {
				break
			}
			if got = append(got, txn.GTID.String()); len(got) == 5 {
				target := second.Addr()
				p.target.Store(&target)
				p.cut()
			}
			if !slices.ContainsFunc(notices, func(n stream.Notice) bool { return n.Kind == stream.ServerChanged }) {
				continue
			}
			if since++; since == 5 { // the rest has no room between here and there
				second.Exec(t, "KILL QUERY "+second.Exec(t, "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"))
			}
		}
		if oneLog {
			if !errors.Is(err, stream.ErrOtherServer) {
				t.Errorf("one log: ends with %v after %d transactions", err, len(got))
			}
			continue
		}
		if want := gtidsIn(t, second); !errors.Is(err, io.EOF) || !slices.Equal(got, want) || since < 5 {
			t.Errorf("ends with %v after %d of %d transactions, %d from the other server", err, len(got), len(want), since)
		}
	}
}

// TestNothingComes has connections that are made, and end before a transaction
// has come.
func TestNothingComes(t *testing.T) {
	s := start(t, servertest.MariaDB1011, "--binlog-format=ROW")
	s.Exec(t, "FLUSH BINARY LOGS; INSERT INTO d.t (v) VALUES (REPEAT('x', 1000000))")
	p := startProxy(t, s.Addr())
	p.cutAfter.Store(100_000)
	_, err := readFrom(t, stream.Config{Server: p.options(), From: stream.Start{File: filepath.Base(s.Binlogs(t)[1]), Offset: 4}, ToLastLog: true, Retries: 3})
	if err == nil || !strings.HasPrefix(err.Error(), "given up after 3 attempts to connect again: lost connection to ") {
		t.Errorf("ends with %v", err)
	}
}

// TestFailover goes on at a replica, by GTIDs, when that answers in the place
// of the server.
func TestFailover(t *testing.T) {
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			s := start(t, kind)
			args := []string{"--server-id=2", "--log-slave-updates"}
			if kind.MySQL() {
				args = []string{"--server-id=2", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"}
			}
			replica := servertest.Start(t, kind, args...)
			if kind.MySQL() {
				replica.Exec(t, fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=%d, SOURCE_USER='root', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA", s.Port))
			} else {
				replica.Exec(t, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='root', MASTER_USE_GTID=slave_pos, MASTER_SSL_VERIFY_SERVER_CERT=0; START SLAVE", s.Port))
			}
			p := startProxy(t, s.Addr())
			f := follow(t, stream.Config{Server: p.options(), Heartbeat: 200 * time.Millisecond})
			before := s.Exec(t, "SELECT COUNT(*) FROM d.t")
			if before != "0\n" {
				t.Fatal(before)
			}
			first := gtidsIn(t, s) // before the stream
			// From some time on nothing comes from the server: the rest must come
			// from the replica.
			stop := load(t, s, 3)
			f.wait(t, 100)
			p.stalled.Store(true)
			from := len(gtidsIn(t, s))
			for deadline := time.Now().Add(60 * time.Second); len(gtidsIn(t, s)) < from+50; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("nothing more is committed")
				}
			}
			stop()
			committed := int64(len(gtidsIn(t, s)) - len(first))
			want := s.Exec(t, "SELECT COUNT(*) FROM d.t")
			for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) { // it tries to connect once a minute
				if got, err := replica.Query("SELECT COUNT(*) FROM d.t"); err == nil && got == want {
					break
				} else if time.Now().After(deadline) {
					t.Fatalf("the replica has %s of %s rows: %v\n%s", got, want, err, replica.Exec(t, "SHOW REPLICA STATUS"))
				}
			}
			seen := f.at.Load()
			target := replica.Addr()
			p.target.Store(&target)
			p.cut()
			p.stalled.Store(false)
			s.Kill()
			// Lost again before and while the new server is written to.
			f.connectedAgain(t, 1)
			p.cut()
			f.connectedAgain(t, 2)
			stop = load(t, replica, 3)
			f.wait(t, 50)
			p.cut()
			f.connectedAgain(t, 3)
			f.wait(t, 50)
			stop()
			f.caughtUp(t, replica)

			var all []string
			for _, g := range gtidsIn(t, replica) {
				if !slices.Contains(first, g) {
					all = append(all, g)
				}
			}
			got := slices.Clone(f.gtids)
			slices.Sort(got)
			slices.Sort(all)
			if !slices.Equal(got, all) {
				t.Errorf("%d transactions by GTID, want %d (%d before the failover)", len(got), len(all), seen)
			}
			if n := len(slices.Compact(slices.Clone(got))); n != len(got) {
				t.Errorf("%d transactions came more than once", len(got)-n)
			}
			if seen >= committed {
				t.Errorf("%d transactions came from the server, of %d: none were left for the replica", seen, committed)
			}
			changed := slices.ContainsFunc(f.notices, func(n stream.Notice) bool { return n.Kind == stream.ServerChanged })
			if !changed {
				t.Errorf("no word of another server: %v", f.notices)
			}
		})
	}
}

// gtidsIn gives the GTIDs in a server's logs.
func gtidsIn(t *testing.T, s *servertest.Server) []string {
	t.Helper()
	var out []string
	for _, l := range inFiles(t, s) {
		_, after, _ := strings.Cut(l, "GTID:")
		g, _, _ := strings.Cut(after, " HasGTIDEvent")
		out = append(out, g)
	}
	return out
}
