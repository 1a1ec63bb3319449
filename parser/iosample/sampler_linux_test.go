package iosample

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bgcstat/parser/server"
	"bgcstat/parser/servertest"
)

// connection is a Server by a connection that is not made anew.
type connection struct{ *server.Conn }

func (c connection) Query(ctx context.Context, sql string) (rows []map[string]string, err error) {
	out, err := c.Conn.Query(ctx, sql)
	for _, row := range out {
		rows = append(rows, row)
	}
	return rows, err
}

// openChild opens a sampler, prints what came of it and takes a sample.
func openChild() error {
	ctx := context.Background()
	pid, err := strconv.Atoi(os.Getenv("IOSAMPLE_PID"))
	if err != nil {
		return err
	}
	c := Config{Find: func() (int, error) { return pid, nil }, DataDir: os.Getenv("IOSAMPLE_DIR")}
	if socket := os.Getenv("IOSAMPLE_SOCKET"); socket != "" {
		conn, err := server.Connect(ctx, server.Options{Socket: socket, User: "root"})
		if err != nil {
			return err
		}
		defer conn.Close()
		c.Server = connection{conn}
	}
	s, err := Open(ctx, c)
	if err != nil {
		fmt.Fprintln(os.Stdout, "error:", err)
		return nil
	}
	defer s.Close()
	for _, r := range s.Header().Refused {
		fmt.Fprintf(os.Stdout, "%s: %s\n", r.Source, r.Why)
	}
	fmt.Fprintf(os.Stdout, "%s counts %s\n", s.Header().Source, s.Header().Detail)
	_, err = s.Sample(ctx, true)
	return err
}

// connect logs in as a user without a password.
func connect(t *testing.T, s *servertest.Server, user string) connection {
	t.Helper()
	conn, err := server.Connect(t.Context(), server.Options{Socket: s.Socket, User: user})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return connection{conn}
}

// openSampler opens a sampler of a server and closes it when the test ends.
func openSampler(t *testing.T, c Config) *Sampler {
	t.Helper()
	needRoot(t)
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// byPID finds a server whose process is known.
func byPID(pid int) func() (int, error) { return func() (int, error) { return pid, nil } }

const makeTable = "CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY)"

// commits has several clients insert n rows, a transaction each, into the table
// of makeTable.
func commits(t *testing.T, s *servertest.Server, n int) {
	t.Helper()
	const clients = 8
	var wg sync.WaitGroup
	errs := make([]error, clients)
	for i := range clients {
		conn := connect(t, s, "root")
		wg.Go(func() {
			for range n / clients {
				if errs[i] == nil {
					_, errs[i] = conn.Query(context.Background(), "INSERT INTO d.t VALUES ()")
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// recorded takes samples to a trace.
type recorded struct {
	sampler *Sampler
	trace   bytes.Buffer
	w       *Writer
	counts  map[countKey]Count // cumulative
	last    *Sample
}

func record(t *testing.T, c Config) *recorded {
	t.Helper()
	r := &recorded{sampler: openSampler(t, c), counts: map[countKey]Count{}}
	var err error
	if r.w, err = NewWriter(&r.trace, r.sampler.Header()); err != nil {
		t.Fatal(err)
	}
	return r
}

// sample takes one, whose counters must have grown, or stand.
func (r *recorded) sample(t *testing.T, last bool) *Interval {
	t.Helper()
	v, err := r.sampler.Sample(t.Context(), last)
	if v == nil {
		t.Fatal(err)
	}
	if err != nil && !errors.Is(err, ErrGone) {
		t.Errorf("got a sample and %v", err)
	}
	for _, c := range v.Sample.Files {
		before := r.counts[keyOf(c)]
		if c.Syncs < before.Syncs || c.Size < before.Size {
			t.Errorf("%+v is less than %+v", c, before)
		}
		if r.last != nil && !last && c == before {
			t.Errorf("%+v is as it was and was given again", c)
		}
		r.counts[keyOf(c)] = c
	}
	if (r.last == nil || last) && len(v.Sample.Files) != len(r.counts) {
		t.Errorf("got %d files, want all %d", len(v.Sample.Files), len(r.counts))
	}
	if r.last == nil && len(v.Syncs) > 0 {
		t.Errorf("the first sample has %d syncs", len(v.Syncs))
	}
	if r.last != nil && (v.Sample.Mono <= r.last.Mono || v.Sample.Lost < r.last.Lost) {
		t.Errorf("got %+v after %+v", v.Sample, r.last)
	}
	r.last = v.Sample
	if err := r.w.Write(v); err != nil {
		t.Fatal(err)
	}
	return v
}

// syncs adds up what was counted of a class.
func (r *recorded) syncs(class Class) int64 {
	n := int64(0)
	for _, c := range r.counts {
		if c.Class == class {
			n += c.Syncs
		}
	}
	return n
}

// The header says what is sampled.
func TestSamplerHeader(t *testing.T) {
	s := servertest.Start(t, servertest.MySQL97, "--user=nobody")
	conn := connect(t, s, "root")
	p, err := Host{}.Process(s.PID)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range Sources {
		before, mono := time.Now(), monotonic()
		h := openSampler(t, Config{Find: byPID(s.PID), Source: source, Server: conn, Interval: 250 * time.Millisecond}).Header()
		if off := h.ClockOffset - (before.UnixNano() - mono); max(off, -off) > int64(time.Second) {
			t.Errorf("%s: the clocks are apart by %v more than a moment ago", source, time.Duration(off))
		}
		want := Header{
			Host: Host{}.Name(), BootID: Host{}.BootID(), Kernel: Host{}.Kernel(), PID: s.PID, StartTicks: p.StartTicks, Exe: p.Exe,
			Source: source, ClockOffset: h.ClockOffset, Interval: 0.25, Server: conn.Target(), Settings: h.Settings,
		}
		want.Exactness = map[string]Exactness{"bpf": Exact, "perf": Exact, "status": Estimate, "proc": DeviceWide}[source]
		want.Detail, want.Device, want.WriteCache = h.Detail, h.Device, h.WriteCache
		if !reflect.DeepEqual(*h, want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", source, *h, want)
		}
		if h.Detail == "" || h.Device == "" || h.WriteCache == "" || h.Settings["sync_binlog"] != "1" || h.Host == "" || h.BootID == "" || p.Exe == "" {
			t.Errorf("%s: got %+v, want no field empty", source, *h)
		}
	}
	_, err = Open(t.Context(), Config{Find: byPID(s.PID), Source: "status"})
	if want := "source status: no connection to the server: give --host, --socket or --user"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	wantError(t, "no process", openError(Config{Find: byPID(1 << 30)}), ErrNotVisible.Error())
	wantError(t, "nothing", openError(Config{}), "data directory: not given")
}

func openError(c Config) error {
	_, err := Open(context.Background(), c)
	return err
}

// A trace of a real server: its counters only grow, and its syncs are those that
// were counted, over rotation and purge.
func TestSamplerOfServers(t *testing.T) {
	for _, kind := range servertest.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			s := servertest.Start(t, kind, "--sync-binlog=1")
			s.Exec(t, makeTable)
			r := record(t, Config{Find: byPID(s.PID), Source: "bpf"})
			first := r.sample(t, false)
			if len(first.Sample.Files) == 0 {
				t.Error("the first sample has no files")
			}
			begin := maps.Clone(r.counts)
			sizes, before := map[string]int64{}, map[string]int64{}
			for round := range 4 {
				commits(t, s, 80)
				r.sample(t, false)
				name, size := position(t, s)
				sizes[name] = size
				if round == 3 {
					// MariaDB writes of a checkpoint by itself, and may not have synced that
					// yet; the sync of a commit behind it is over when the commit is.
					s.Exec(t, "INSERT INTO d.t VALUES ()")
					break
				}
				s.Exec(t, "FLUSH BINARY LOGS")
				r.sample(t, false)
				if round != 1 {
					continue
				}
				// The next files have the inodes of those that go; their syncs are not
				// the logs'.
				before := maps.Clone(r.counts)
				name, _ = position(t, s)
				s.Exec(t, "PURGE BINARY LOGS TO '"+name+"'")
				for i := range 4 {
					table := fmt.Sprintf("d.t%d", i)
					s.Exec(t, "CREATE TABLE "+table+" (id INT PRIMARY KEY); INSERT INTO "+table+" VALUES (1); FLUSH TABLES "+table+" FOR EXPORT")
				}
				r.sample(t, false)
				for key, c := range before {
					if c.Class == Binlog && c.Name != name && r.counts[key] != c {
						t.Errorf("after its purge: got %+v, want %+v", r.counts[key], c)
					}
				}
				tables, err := filepath.Glob(filepath.Join(s.DataDir, "d", "t?.ibd"))
				if err != nil || len(tables) != 4 {
					t.Fatal(tables, err)
				}
				for _, table := range tables {
					id := idOf(t, table)
					if r.counts[countKey{id, "data/d/" + filepath.Base(table)}].Syncs == 0 {
						t.Errorf("got no sync of %s", table)
					}
					for key := range before {
						if key.id == id {
							t.Logf("%s has the inode of %s", filepath.Base(table), key.name)
						}
					}
				}
			}
			r.sample(t, true)

			rd, all, err := readTrace(r.trace.String())
			if err != nil || rd.Torn {
				t.Fatal(err)
			}
			syncs := map[string]int64{}
			var mono int64
			for i, v := range all {
				for _, e := range v.Syncs {
					syncs[e.Name]++
					underWay := i == len(all)-1 && e.Latency == 0 // such as that of a checkpoint
					if e.Mono < mono || e.Size < before[e.Name] || e.Latency <= 0 && !underWay {
						t.Errorf("%s: got %+v after a size of %d", e.Name, e, before[e.Name])
					}
					mono, before[e.Name] = e.Mono, e.Size
				}
			}
			want := map[string]int64{}
			for key, c := range r.counts {
				if n := c.Syncs - begin[key].Syncs; c.Class == Binlog && n > 0 {
					want[c.Name] += n
				}
			}
			if !maps.Equal(syncs, want) {
				t.Errorf("got syncs %v, counts grew by %v", syncs, want)
			}
			for name, size := range sizes {
				if got := before[name]; got < size {
					t.Errorf("%s: the last sync was at a size of %d, the server was at %d", name, got, size)
				}
				if syncs[name] < 10 {
					t.Errorf("%s: got %d syncs", name, syncs[name])
				}
			}
			if r.syncs(Redo) == 0 || r.last.Lost > 0 || r.last.WChar == nil || r.last.DeviceFlushes == nil {
				t.Errorf("got %d syncs of the redo log and the sample %+v", r.syncs(Redo), r.last)
			}
			if len(r.last.Latency) == 0 || r.last.Latency[0].Class != Binlog || r.last.Latency[0].P50 <= 0 || r.last.Latency[0].P99 < r.last.Latency[0].P50 {
				t.Errorf("got latency %+v", r.last.Latency)
			}
		})
	}
}

// The server's own counters agree with the kernel's.
func TestStatusAgrees(t *testing.T) {
	for _, kind := range servertest.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			s := servertest.Start(t, kind, "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
			s.Exec(t, makeTable)
			conn := connect(t, s, "root")
			bpf := record(t, Config{Find: byPID(s.PID), Source: "bpf"})
			status := record(t, Config{Server: conn, Source: "status"})
			groups := func() int64 {
				rows, err := conn.Query(t.Context(), "SHOW GLOBAL STATUS LIKE 'Binlog_group_commits'")
				if err != nil || len(rows) != 1 {
					t.Fatal(rows, err)
				}
				n, err := strconv.ParseInt(rows[0]["Value"], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			before := int64(0)
			if !kind.MySQL() {
				before = groups()
			}
			bpf.sample(t, false)
			status.sample(t, false)
			bpf0, redo0 := bpf.syncs(Binlog), bpf.syncs(Redo)
			for range 10 { // not at once: the kernel's buffer has all syncs of the file system
				commits(t, s, 400)
				bpf.sample(t, false)
				status.sample(t, false)
			}
			if bpf.last.Lost > 0 {
				t.Fatalf("bpf lost %d syncs", bpf.last.Lost)
			}
			name, size := position(t, s)
			got := status.counts[countKey{name: string(Binlog) + "/" + name}]
			if got.Size != size {
				t.Errorf("got the binlog %+v, want size %d", got, size)
			}
			binlog, redo := bpf.syncs(Binlog)-bpf0, bpf.syncs(Redo)-redo0
			t.Logf("binlog: bpf %d, status %d; redo: bpf %d, status %d", binlog, status.syncs(Binlog), redo, status.syncs(Redo))
			near := func(what string, got, want int64) {
				t.Helper()
				if d := got - want; max(d, -d)*100 > want || want < 500 {
					t.Errorf("%s: status counts %d, bpf %d", what, got, want)
				}
			}
			if kind.MySQL() {
				near("binlog", status.syncs(Binlog), binlog)
				near("redo", status.syncs(Redo), redo)
				if got.MeanLatency <= 0 {
					t.Errorf("got mean latency %d", got.MeanLatency)
				}
				// Rotation costs a few of each.
				s.Exec(t, "FLUSH BINARY LOGS")
				status.sample(t, false)
				next, _ := position(t, s)
				if c := status.counts[countKey{name: string(Binlog) + "/" + next}]; c.Syncs < 1 || c.Syncs > 20 {
					t.Errorf("after a rotation: got %+v", c)
				}
				return
			}
			if n := groups() - before; n != binlog || status.syncs(Binlog) != n {
				t.Errorf("Binlog_group_commits grew by %d, status has %d, bpf %d", n, status.syncs(Binlog), binlog)
			}
			if got.Exactness != LowerBound {
				t.Errorf("got %+v, want a lower bound", got)
			}
		})
	}
}

// Behind a failover another server answers: what its counters had before is no
// growth, and what grows from then on is counted.
func TestStatusOfAnotherServer(t *testing.T) {
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			start := func() (*servertest.Server, connection) {
				s := servertest.Start(t, kind, "--sync-binlog=1")
				s.Exec(t, makeTable)
				commits(t, s, 400)
				return s, connect(t, s, "root")
			}
			first, conn := start()
			// Two that were started at the same time are not told apart, nor are others
			// by an answer that takes longer than what lies between their starts.
			time.Sleep(6 * time.Second)
			second, other := start()
			sampler := openSampler(t, Config{Server: &conn, Source: "status"})
			binlog := int64(0)
			sample := func(want int64, gap string) {
				t.Helper()
				v, err := sampler.Sample(t.Context(), true)
				if err != nil {
					t.Fatal(err)
				}
				now := int64(0)
				for _, c := range v.Sample.Files {
					if c.Class == Binlog {
						now += c.Syncs
					}
				}
				if grown := now - binlog; grown < want || grown > want+want/50+2 || v.Sample.Gap != gap {
					t.Errorf("the binlog's syncs grew by %d, want %d, and the gap is %q, want %q", grown, want, v.Sample.Gap, gap)
				}
				binlog = now
			}
			one := func(s *servertest.Server, n int) {
				t.Helper()
				for range n {
					s.Exec(t, "INSERT INTO d.t VALUES ()")
				}
			}
			sample(0, "")
			one(first, 5)
			sample(5, "")
			back := conn
			for _, to := range []struct {
				conn   connection
				server *servertest.Server
			}{{other, second}, {back, first}} {
				conn = to.conn
				sample(0, errOther.Error())
				one(to.server, 3) // in the gap
				sample(0, errOther.Error())
				one(to.server, 5)
				sample(5, "")
			}
		})
	}
}

// What status says where it may not ask, or there is nothing to be asked.
func TestStatusRefusals(t *testing.T) {
	mysql := servertest.Start(t, servertest.MySQL97)
	without := servertest.Start(t, servertest.MySQL97, "--performance-schema=OFF")
	mariadb := servertest.Start(t, servertest.MariaDB118, "--performance-schema=ON", "--sync-binlog=1")
	lazy := servertest.Start(t, servertest.MariaDB1011, "--sync-binlog=0")
	noBinlog := servertest.Start(t, servertest.MySQL97, "--skip-log-bin")
	for _, s := range []*servertest.Server{mysql, mariadb} {
		s.Exec(t, "CREATE USER nothing@localhost, reader@localhost; GRANT SELECT ON performance_schema.* TO reader@localhost")
	}
	for _, test := range []struct {
		name       string
		server     *servertest.Server
		user       string
		detail     string // or the error
		noPosition string
	}{
		{"all", mysql, "root", "performance_schema file_summary_by_instance COUNT_MISC (opens and seeks too), Innodb_os_log_fsyncs", ""},
		{
			"no position", mysql, "reader", "performance_schema file_summary_by_instance COUNT_MISC (opens and seeks too), Innodb_os_log_fsyncs",
			"binlog position: Access denied; you need (at least one of) the SUPER, REPLICATION CLIENT privilege(s) for this operation (error 1227); for the binlog position an administrator may run: GRANT REPLICATION CLIENT ON *.* TO 'reader'@'localhost'",
		},
		{"no right", mysql, "nothing", "source status: binlog syncs are not counted: SELECT command denied to user 'nothing'@'localhost' for table 'file_summary_by_instance' (error 1142); for the performance schema an administrator may run: GRANT SELECT ON performance_schema.* TO 'nothing'@'localhost'", ""},
		{"no schema", without, "root", "source status: binlog syncs are not counted: performance_schema is OFF", ""},
		{"no binlog", noBinlog, "root", "source status: the server writes no binlog (log_bin=OFF)", ""},
		{"MariaDB", mariadb, "root", "performance_schema file_summary_by_instance COUNT_MISC (opens and seeks too), Innodb_data_fsyncs (of all InnoDB files)", ""},
		{"MariaDB, no right", mariadb, "nothing", "Binlog_group_commits, Innodb_data_fsyncs (of all InnoDB files)", ""},
		{"MariaDB, sync_binlog=0", lazy, "root", "no binlog syncs (sync_binlog=0), Innodb_data_fsyncs (of all InnoDB files)", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := Open(t.Context(), Config{Server: connect(t, test.server, test.user), Source: "status"})
			if err != nil {
				if err.Error() != test.detail {
					t.Errorf("got %v, want %s", err, test.detail)
				}
				return
			}
			defer s.Close()
			if got := s.Header().Detail; got != test.detail {
				t.Errorf("got %q, want %q", got, test.detail)
			}
			got := ""
			if err := s.NoPosition(); err != nil {
				got = err.Error()
			}
			if got != test.noPosition {
				t.Errorf("position: got %q, want %q", got, test.noPosition)
			}
			v, err := s.Sample(t.Context(), true)
			if err != nil || v.Sample.Gap != "" || len(v.Sample.Files) == 0 || v.Sample.Status["Uptime"] == 0 {
				t.Errorf("got %+v, %v", v, err)
			}
		})
	}
}

// Which servers sync nothing.
func TestNothingToCount(t *testing.T) {
	for want, settings := range map[string]map[string]string{
		"<nil>": {"version": "8.0.36", "log_bin": "ON"},
		"this is Aurora: it has no local fsync, its storage writes the log, so there is nothing to count or to save": {"version": "8.0.36", "aurora_version": "3.07.1", "log_bin": "ON"},
		"the server writes no binlog (log_bin=OFF)": {"version": "11.8.2-MariaDB", "log_bin": "OFF"},
	} {
		if got := fmt.Sprint(nothingToCount(settings)); got != want {
			t.Errorf("%v: got %s, want %s", settings, got, want)
		}
	}
}

// A server that is started again is sampled further, and what was counted
// before stays.
func TestSamplerRestart(t *testing.T) {
	for _, source := range []string{"bpf", "perf", "proc"} {
		t.Run(source, func(t *testing.T) {
			dir := publicDir(t)
			o := writerOptions{Rate: 500, Duration: 200 * time.Millisecond}
			w := startWriter(t, dir, o)
			r := record(t, Config{Find: func() (int, error) { return w.PID, nil }, Source: source})
			r.sample(t, false)
			total := map[Class]int64{}
			run := func() {
				t.Helper()
				w.Go(t)
				truth := w.Done(t)
				if source != "proc" {
					total[Binlog] += truth[w.Binlogs[0]]
					total[Redo] += truth[w.Redo]
				}
			}
			check := func(v *Interval, gap string) {
				t.Helper()
				if v.Sample.Gap != gap || v.Sample.PID != w.PID {
					t.Errorf("got process %d, gap %q, want %d, %q", v.Sample.PID, v.Sample.Gap, w.PID, gap)
				}
				if p, err := (Host{}).Process(w.PID); err == nil && v.Sample.StartTicks != p.StartTicks {
					t.Errorf("got start %d, want %d", v.Sample.StartTicks, p.StartTicks)
				}
				for _, class := range []Class{Binlog, Redo} {
					if got := r.syncs(class); got != total[class] {
						t.Errorf("%s: got %d syncs, want %d", class, got, total[class])
					}
				}
			}
			for range 3 {
				run()
				check(r.sample(t, false), "")
				w.Wait(t)
				for range 2 {
					check(r.sample(t, false), fmt.Sprintf("the server is gone: process %d: %v", w.PID, ErrNotVisible))
				}
				w = startWriter(t, dir, o)
				check(r.sample(t, false), "the server was restarted")
			}
			run()
			check(r.sample(t, true), "")
		})
	}
}

// Where a server that was started again cannot be counted, what was counted
// stays, and it is tried again.
func TestSamplerRestartRefused(t *testing.T) {
	dir := publicDir(t)
	write(t, filepath.Join(dir, "ib_logfile0"), 1)
	const pid = 1<<22 + 7 // so high that perf finds none
	refused := fmt.Sprintf("the server was restarted: an unknown file system has no sync tracepoint; ext4 and xfs have one; process %d is not there, or is hidden by the mount option hidepid of /proc", pid)
	h := Host{Root: t.TempDir()}
	proc := h.pid(pid)
	if err := errors.Join(os.MkdirAll(proc+"/fd", 0o755), os.Symlink(dir, proc+"/cwd"), os.Symlink("/", proc+"/root"), os.WriteFile(proc+"/cmdline", []byte("mysqld\x00"), 0o644)); err != nil {
		t.Fatal(err)
	}
	started := func(ticks int) {
		t.Helper()
		if err := os.WriteFile(proc+"/stat", fmt.Appendf(nil, "%d (mysqld) S%s %d 0\n", pid, strings.Repeat(" 0", 18), ticks), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	started(100)
	s := openSampler(t, Config{Host: h, Find: byPID(pid), Source: "proc"})
	stub := &stubSource{name: "perf", counts: []Count{{Class: Redo, Name: "ib_logfile0", Syncs: 5}}}
	s.source = stub
	r := &recorded{sampler: s, counts: map[countKey]Count{}, w: &Writer{w: &bytes.Buffer{}}}
	var err error
	if r.w, err = NewWriter(&r.trace, s.Header()); err != nil {
		t.Fatal(err)
	}
	want := func(gap string, syncs int64) {
		t.Helper()
		v := r.sample(t, false)
		if !strings.HasPrefix(v.Sample.Gap, gap) || (gap == "") != (v.Sample.Gap == "") || r.syncs(Redo) != syncs {
			t.Errorf("got gap %q and %d syncs, want %q and %d", v.Sample.Gap, r.syncs(Redo), gap, syncs)
		}
	}
	want("", 5)
	stub.counts[0].Syncs = 7
	started(200)
	for range 3 {
		want(refused, 7)
	}
	stub.failed = errors.New("broken")
	want(refused, 7)
	stub.name = "proc" // which can be opened
	want("the server was restarted", 7)
	if !stub.closed || s.source == Source(stub) {
		t.Error("the source was not replaced")
	}
	want("", 7)
	s.source = &stubSource{name: "perf", counts: []Count{{Class: Redo, Name: "ib_logfile0", Syncs: 2}}}
	want("", 9)

	// The process is there before its files can be seen.
	if err := os.Rename(proc+"/fd", proc+"/fd-"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-"); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir + "-")
	started(300)
	want("the server is gone: ", 9)
	if err := errors.Join(os.Rename(proc+"/fd-", proc+"/fd"), os.Rename(dir+"-", dir)); err != nil {
		t.Fatal(err)
	}
	want(refused, 9)
	started(400) // once more, before it could be counted
	want(refused, 9)
	if s.process.StartTicks != 400 {
		t.Errorf("got %+v", s.process)
	}
}

// stubSource counts what it is told.
type stubSource struct {
	name   string
	counts []Count
	lost   int64
	failed error
	closed bool
}

func (s *stubSource) Name() string         { return s.name }
func (s *stubSource) Exactness() Exactness { return Exact }
func (s *stubSource) Detail() string       { return "" }
func (s *stubSource) Close() error         { s.closed = true; return nil }

func (s *stubSource) Read(context.Context, bool) (*Counted, error) {
	return &Counted{Counts: s.counts, Lost: s.lost}, s.failed
}

// A read that fails is a gap, and nothing falls.
func TestSamplerFailedRead(t *testing.T) {
	dir := publicDir(t)
	write(t, filepath.Join(dir, "ib_logfile0"), 1)
	s := openSampler(t, Config{DataDir: dir, Source: "proc"})
	stub := &stubSource{name: "bpf", counts: []Count{{Class: Redo, Syncs: 3}}, lost: 4}
	s.source = stub
	for _, failed := range []error{nil, errors.New("a read failed"), nil} {
		stub.failed = failed
		v, err := s.Sample(t.Context(), true)
		if err != nil || v.Sample.Lost != 4 || len(v.Sample.Files) != 1 || v.Sample.Files[0].Syncs != 3 || (v.Sample.Gap == "") != (failed == nil) {
			t.Errorf("after %v: got %+v, %v", failed, v, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stub.failed = ctx.Err()
	if v, err := s.Sample(ctx, false); v != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", v, err)
	}
}

// A server that is not to be looked for again ends the trace.
func TestSamplerOnce(t *testing.T) {
	for _, source := range []string{"bpf", "perf", "proc"} {
		w := startWriter(t, publicDir(t), writerOptions{Rate: 500, Duration: 20 * time.Millisecond})
		r := record(t, Config{Find: byPID(w.PID), Once: true, Source: source})
		first := r.sample(t, false).Sample
		if c := first.CPU; c == nil || c.ServerUser == nil {
			t.Errorf("%s: the first sample has the CPU time %+v", source, c)
		}
		if s := r.sample(t, false).Sample; s.CPU != nil && s.Mono-first.Mono < int64(cpuEvery) {
			t.Errorf("%s: the second sample has the CPU time %+v", source, s.CPU)
		}
		w.Go(t)
		truth := w.Done(t)
		w.Wait(t)
		v, err := r.sampler.Sample(t.Context(), false)
		if !errors.Is(err, ErrGone) || v == nil || v.Sample.Gap != "the server has ended" {
			t.Fatalf("%s: got %+v, %v", source, v, err)
		}
		if c := v.Sample.CPU; c == nil || c.ServerUser != nil {
			t.Errorf("%s: the last sample has the CPU time %+v", source, c)
		}
		n := map[Class]int64{}
		for _, c := range v.Sample.Files {
			n[c.Class] += c.Syncs
		}
		want := truth[w.Binlogs[0]]
		if source == "proc" {
			want = 0
		}
		if n[Binlog] != want || n[Redo] != want {
			t.Errorf("%s: got %v, want %d of each", source, n, want)
		}
		i := slices.IndexFunc(v.Sample.Files, func(c Count) bool { return c.Class == Binlog })
		if c := v.Sample.Files[i]; c.Size != truth[w.Binlogs[0]]*512 {
			t.Errorf("%s: got %+v", source, c)
		}
	}
}

// The clocks are read at one moment, and do not go back.
func TestClocks(t *testing.T) {
	var lastWall time.Time
	for range 1000 {
		before := monotonic()
		wall, mono := clocks()
		if after := monotonic(); mono < before || mono > after {
			t.Fatalf("got %d, between %d and %d", mono, before, after)
		}
		if wall.Before(lastWall) && lastWall.Sub(wall) > time.Second {
			t.Logf("the wall clock was set back by %v", lastWall.Sub(wall))
		}
		lastWall = wall
	}
}

// A full disk is named, and what was written before is whole.
func TestTraceOnFullDisk(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "trace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := NewWriter(f, &Header{Source: "bpf"})
	if err != nil {
		t.Fatal(err)
	}
	v := &Interval{Sample: &Sample{Time: time.Unix(1, 0), Gap: strings.Repeat("g", 1000)}}
	n := 0
	for ; err == nil; n++ {
		v.Sample.Mono = int64(n)
		err = w.Write(v)
	}
	n-- // the last one failed
	if want := "write " + path + ": no space left on device"; !errors.Is(err, unix.ENOSPC) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, all, err := readTrace(string(text))
	if err != nil || len(all) != n || n < 20 || all[n-1].Sample.Mono != int64(n-1) {
		t.Errorf("got %d samples, %v, want %d", len(all), err, n)
	}
	t.Logf("%d samples, torn %v", n, r.Torn)
}
