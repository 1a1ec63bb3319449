package analysis_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// cpuSample is a sample at a second of the trace, with what was used until then.
type cpuSample struct {
	at   float64
	cpu  *iosample.CPU
	pid  int
	step time.Duration // that the wall clock was set by
}

// used is CPU time of a host with two CPUs that had been up for long.
func used(user, system, iowait, idle, steal float64) *iosample.CPU {
	return &iosample.CPU{CPUs: 2, User: 1000 + user, System: 500 + system, IOWait: 70 + iowait, Idle: 9000 + idle, Steal: 3 + steal}
}

// server is c with the time of the server.
func server(c *iosample.CPU, user, system float64) *iosample.CPU {
	c.ServerUser, c.ServerSystem = new(40+user), new(20+system)
	return c
}

// cpuOf analyzes a log with a transaction each tenth of a second, and a trace
// of the flushes of its disk. The reported transactions are from and to a second.
func cpuOf(t *testing.T, samples []cpuSample, from, to float64) *analysis.IO {
	t.Helper()
	h := &iosample.Header{Source: "proc", Exactness: iosample.DeviceWide, ClockOffset: int64(second(0)) * 1000, Device: "vda"}
	i := 0
	next := func() *iosample.Interval {
		if i == len(samples) {
			return nil
		}
		s := samples[i]
		i++
		flushes := int64(100 * i)
		return &iosample.Interval{Sample: &iosample.Sample{
			Time: second(s.at).Time().Add(s.step), Mono: 1 + int64(s.at*1e9), PID: s.pid, CPU: s.cpu, DeviceFlushes: &flushes,
		}}
	}
	l := mariadb()
	a := analysis.New(analysis.Filter{Start: second(from), Stop: second(to)}, analysis.Settings{})
	a.Join(h, next, nil)
	for j := range int(samples[len(samples)-1].at * 10) {
		a.Add(&parser.Txn{
			Log: l, Start: int64(100 + j*100), End: int64(200 + j*100), CommitTime: second(float64(j)/10 + 0.05),
			CommitID: uint64(j + 1), Terminator: parser.TerminatorXID,
		})
	}
	return a.Result([]*parser.Log{l}).IO
}

func use(user, system, iowait, idle, steal float64) analysis.CPUUse {
	return analysis.CPUUse{User: user, System: system, IOWait: iowait, Idle: idle, Steal: steal}
}

func withServer(u analysis.CPUUse, user, system float64) analysis.CPUUse {
	u.ServerUser, u.ServerSystem = &user, &system
	return u
}

// Shares and means, worked out by hand: two CPUs have two seconds a second.
func TestCPU(t *testing.T) {
	type bucket struct {
		at  float64
		use analysis.CPUUse
	}
	for _, c := range []struct {
		name     string
		samples  []cpuSample
		from, to float64
		mean     analysis.CPUUse
		width    float64
		series   []bucket
	}{
		{
			"two seconds",
			[]cpuSample{
				{at: 0, cpu: server(used(0, 0, 0, 0, 0), 0, 0)},
				{at: 0.5},
				{at: 1, cpu: server(used(0.6, 0.4, 0.2, 0.7, 0.1), 0.5, 0.3)},
				{at: 1.5},
				{at: 2, cpu: server(used(0.8, 0.4, 0.2, 2.5, 0.1), 0.6, 0.3)},
			},
			0, 9,
			withServer(use(0.2, 0.1, 0.05, 0.625, 0.025), 0.3, 0.15), 1,
			[]bucket{{0, withServer(use(0.3, 0.2, 0.1, 0.35, 0.05), 0.5, 0.3)}, {1, withServer(use(0.1, 0, 0, 0.9, 0), 0.1, 0)}},
		},
		{
			// From 0.5 to 1.5 s the CPUs were busy: half of that is in each bucket.
			"between the seconds",
			[]cpuSample{{at: 0.5, cpu: used(0, 0, 0, 0, 0)}, {at: 1}, {at: 1.5, cpu: used(2, 0, 0, 0, 0)}, {at: 2, cpu: used(2, 0, 0, 1, 0)}},
			0, 9,
			use(0.6667, 0, 0, 0.3333, 0), 1,
			[]bucket{{0, use(1, 0, 0, 0, 0)}, {1, use(0.5, 0, 0, 0.5, 0)}},
		},
		{
			"a part of the trace",
			[]cpuSample{
				{at: 0, cpu: used(0, 0, 0, 0, 0)},
				{at: 1, cpu: used(2, 0, 0, 0, 0)},
				{at: 2, cpu: used(2, 2, 0, 0, 0)},
				{at: 3, cpu: used(2, 2, 1, 1, 0)},
				{at: 4, cpu: used(2, 2, 1, 3, 0)},
			},
			1, 3,
			use(0, 0.5, 0.25, 0.25, 0), 1,
			[]bucket{{1, use(0, 1, 0, 0, 0)}, {2, use(0, 0, 0.5, 0.5, 0)}},
		},
		{
			// What the new process used before it was read is not known.
			"a server that is started anew",
			[]cpuSample{
				{at: 0, cpu: server(used(0, 0, 0, 0, 0), 0, 0), pid: 7},
				{at: 1, cpu: server(used(1, 0, 0, 1, 0), 0.75, 0.25), pid: 7},
				{at: 2, cpu: server(used(2, 0, 0, 2, 0), 3, 3), pid: 8},
				{at: 3, cpu: server(used(3, 0, 0, 3, 0), 3.25, 3), pid: 8},
				{at: 4, cpu: used(4, 0, 0, 4, 0), pid: 8},
				{at: 5, cpu: server(used(5, 0, 0, 5, 0), -40, -20), pid: 8},
				{at: 6, cpu: server(used(6, 0, 0, 6, 0), -40, -20), pid: 8},
				{at: 7, cpu: server(used(7, 0, 0, 7, 0), -41, 2), pid: 8},
			},
			0, 9,
			withServer(use(0.5, 0, 0, 0.5, 0), 0.3333, 0.0833), 1, // (0.75 + 0.25 + 0) / 3 and 0.25 / 3
			[]bucket{
				{0, withServer(use(0.5, 0, 0, 0.5, 0), 0.75, 0.25)},
				{1, use(0.5, 0, 0, 0.5, 0)},
				{2, withServer(use(0.5, 0, 0, 0.5, 0), 0.25, 0)},
				{3, use(0.5, 0, 0, 0.5, 0)},
				{4, use(0.5, 0, 0, 0.5, 0)},
				{5, withServer(use(0.5, 0, 0, 0.5, 0), 0, 0)},
				{6, use(0.5, 0, 0, 0.5, 0)},
			},
		},
		{
			// Of the second and third second nothing is known.
			"counters that fall",
			[]cpuSample{
				{at: 0, cpu: used(0, 0, 0, 0, 0)},
				{at: 1, cpu: used(1, 0, 1, 0, 0)},
				{at: 2, cpu: used(-1, 0, 1, 0, 0)},
				{at: 3, cpu: used(-1, 0, 1, 0, 0)},
				{at: 4, cpu: used(-1, 1, 0.5, 1, 0)},
			},
			0, 9,
			use(0.25, 0.25, 0.25, 0.25, 0), 1,
			[]bucket{{0, use(0.5, 0, 0.5, 0, 0)}, {3, use(0, 0.5, 0, 0.5, 0)}},
		},
		{
			// The clock is set by an hour after a second.
			"a clock that is set",
			[]cpuSample{
				{at: 0, cpu: used(0, 0, 0, 0, 0)},
				{at: 1, cpu: used(1, 0, 0, 1, 0)},
				{at: 2, cpu: used(9, 0, 0, 1, 0), step: time.Hour},
				{at: 3, cpu: used(9, 0, 0, 3, 0), step: time.Hour},
			},
			0, 9e9,
			use(0.25, 0, 0, 0.75, 0), 10, // the flushes are spread over the hour
			[]bucket{{0, use(0.5, 0, 0, 0.5, 0)}, {3600, use(0, 0, 0, 1, 0)}},
		},
		{
			// It could not be read for 3 s: the mean is known.
			"not read for a while",
			[]cpuSample{{at: 0, cpu: used(0, 0, 0, 0, 0)}, {at: 1}, {at: 2}, {at: 3, cpu: used(3, 0, 0, 3, 0)}},
			0, 9,
			use(0.5, 0, 0, 0.5, 0), 1,
			[]bucket{{0, use(0.5, 0, 0, 0.5, 0)}, {1, use(0.5, 0, 0, 0.5, 0)}, {2, use(0.5, 0, 0, 0.5, 0)}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			io := cpuOf(t, c.samples, c.from, c.to)
			if io == nil || io.CPU == nil {
				t.Fatalf("got %+v", io)
			}
			want := &analysis.CPU{CPUs: 2, CPUUse: c.mean, BucketSeconds: c.width}
			for _, b := range c.series {
				want.Series = append(want.Series, analysis.CPUBucket{Start: analysis.Time{Time: second(b.at).Time()}, CPUUse: b.use})
			}
			if !reflect.DeepEqual(io.CPU, want) {
				got, _ := json.MarshalIndent(io, "", " ")
				w, _ := json.Marshal(want)
				t.Errorf("got\n%s\nwant\n%s", got, w)
			}
		})
	}
}

// Buckets are of a second at least, and as wide as those of the syncs or wider.
func TestCPUBuckets(t *testing.T) {
	for _, c := range []struct {
		every, seconds float64
		width, syncs   float64
		buckets        int
	}{
		{0.01, 3, 1, 0.01, 3},
		{0.1, 30, 1, 0.1, 30},
		{0.1, 100, 1, 0.2, 100},
		{1, 600, 1, 1, 600},
		{1, 700, 2, 2, 350},
		{5, 100, 10, 10, 10},
		{10, 36000, 300, 300, 121}, // it begins within a minute, and so there are 601 of these
	} {
		var samples []cpuSample
		for i := range int(c.seconds/c.every) + 1 {
			at := float64(i) * c.every
			s := cpuSample{at: at}
			if c.every >= 1 || i%int(1/c.every+0.5) == 0 {
				s.cpu = used(at/2, 0, at/2, at, 0)
			}
			samples = append(samples, s)
		}
		io := cpuOf(t, samples, 0, 1e9)
		if io.CPU == nil || io.CPU.BucketSeconds != c.width || io.Rates.BucketSeconds != c.syncs || len(io.CPU.Series) != c.buckets {
			t.Errorf("%v s each %v s: got %d buckets of %v s, syncs of %v; want %d of %v, %v",
				c.seconds, c.every, len(io.CPU.Series), io.CPU.BucketSeconds, io.Rates.BucketSeconds, c.buckets, c.width, c.syncs)
			continue
		}
		want := use(0.25, 0, 0.25, 0.5, 0)
		if io.CPU.CPUUse != want || slices.ContainsFunc(io.CPU.Series, func(b analysis.CPUBucket) bool { return b.CPUUse != want }) {
			t.Errorf("%v s each %v s: got %+v, want %+v throughout", c.seconds, c.every, io.CPU.CPUUse, want)
		}
	}
}

// Where the trace has none, or one reading, there is nothing.
func TestCPUAbsent(t *testing.T) {
	for _, samples := range [][]cpuSample{
		{{at: 0}, {at: 1}, {at: 2}},
		{{at: 0}, {at: 1, cpu: used(1, 1, 1, 1, 1)}, {at: 2}},
		{{at: 0, cpu: used(0, 0, 0, 0, 0)}, {at: 1, cpu: used(0, 0, 0, 0, 0)}}, // as in some containers
	} {
		if io := cpuOf(t, samples, 0, 9); io == nil || io.CPU != nil {
			t.Errorf("got %+v", io)
		}
	}
	b, err := json.Marshal(cpuOf(t, []cpuSample{{at: 0, cpu: server(used(0, 0, 0, 0, 0), 0, 0)}, {at: 1, cpu: server(used(1, 1, 0, 0, 0), 1, 0)}}, 0, 9).CPU)
	want := `{"cpus":2,"user":0.5,"system":0.5,"iowait":0,"idle":0,"steal":0,"server_user":1,"server_system":0,"bucket_seconds":1,` +
		`"series":[{"t":"2023-11-14T22:13:20.000000Z","user":0.5,"system":0.5,"iowait":0,"idle":0,"steal":0,"server_user":1,"server_system":0}]}`
	if err != nil || string(b) != want {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
}
