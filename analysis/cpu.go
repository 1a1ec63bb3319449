package analysis

import (
	"maps"
	"math"
	"slices"
	"time"

	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// cpuTime is CPU time in seconds: user, system, iowait, idle and steal of the
// host, then user and system of the server, and the time that these two are of.
type cpuTime [8]float64

const (
	hostTimes = 5 // how many are the host's
	serverOf  = 7 // the time that the server's are of
)

// add adds a part of what is in b.
func (c *cpuTime) add(b *cpuTime, part float64) {
	for i := range c {
		c[i] += part * b[i]
	}
}

// use gives the means, and false where nothing is known of the host.
func (c *cpuTime) use() (CPUUse, bool) {
	total := 0.0
	for _, t := range c[:hostTimes] {
		total += t
	}
	if total <= 0 {
		return CPUUse{}, false
	}
	// Four digits are more than there are: a second of a CPU has 100 ticks.
	of := func(i int, all float64) float64 { return math.Round(1e4*c[i]/all) / 1e4 }
	u := CPUUse{User: of(0, total), System: of(1, total), IOWait: of(2, total), Idle: of(3, total), Steal: of(4, total)}
	if all := c[serverOf]; all > 0 {
		u.ServerUser, u.ServerSystem = new(of(5, all)), new(of(6, all))
	}
	return u, true
}

// cpuReading is the CPU time as a sample had it.
type cpuReading struct {
	at     time.Time
	mono   int64
	pid    int
	ticks  uint64
	cpus   int
	times  cpuTime
	server bool // the server's is known
}

func newReading(s *iosample.Sample) cpuReading {
	c := s.CPU
	r := cpuReading{
		at: s.Time, mono: s.Mono, pid: s.PID, ticks: s.StartTicks, cpus: c.CPUs,
		times:  cpuTime{c.User, c.System, c.IOWait, c.Idle, c.Steal},
		server: c.ServerUser != nil && c.ServerSystem != nil,
	}
	if r.server {
		r.times[5], r.times[6] = *c.ServerUser, *c.ServerSystem
	}
	return r
}

// since gives what was used between two readings, and false where they do not
// tell.
func (r *cpuReading) since(before *cpuReading) (used cpuTime, ok bool) {
	wall := r.at.Sub(before.at)
	elapsed := wall
	if r.mono != 0 && before.mono != 0 {
		elapsed = time.Duration(r.mono - before.mono)
	}
	if before.cpus == 0 || elapsed <= 0 || (wall-elapsed).Abs() > time.Second {
		return used, false // the first, or the clock was set
	}
	for i, t := range r.times {
		used[i] = t - before.times[i]
	}
	// What the kernel has for iowait and idle may fall a little (proc(5)).
	used[2], used[3] = max(0, used[2]), max(0, used[3])
	if used[0] < 0 || used[1] < 0 || used[4] < 0 {
		return used, false // counted anew
	}
	same := r.server && before.server && r.pid == before.pid && r.ticks == before.ticks
	if !same || used[5] < 0 || used[6] < 0 {
		used[5], used[6] = 0, 0 // the server was started anew
		return used, true
	}
	used[serverOf] = elapsed.Seconds()
	return used, true
}

// addCPU takes a reading. They are further apart than samples, so that one is
// spread over the samples up to the reading before.
func (u *usage) addCPU(s *iosample.Sample) {
	now := newReading(s)
	if used, ok := now.since(&u.cpu); ok {
		u.rates.spread(u.cpu.at, now.at, func(b *syncBucket, begin, end float64) { b.cpu.add(&used, end-begin) })
	}
	u.cpu = now
}

// cpu gives the use of the CPUs between two times, in the buckets of result, or
// in wider ones of a second.
func (r *syncRates) cpu(from, to time.Time, cpus int) *CPU {
	width := max(r.width, oneSecond)
	out := &CPU{CPUs: cpus, BucketSeconds: float64(widths[width]) / 1e6}
	var mean, bucket cpuTime
	at := int64(0)
	closeBucket := func() {
		if use, ok := bucket.use(); ok {
			out.Series = append(out.Series, CPUBucket{newTime(parser.Micros(at * widths[width])), use})
		}
		mean.add(&bucket, 1)
		bucket = cpuTime{}
	}
	for _, no := range slices.Sorted(maps.Keys(r.buckets)) {
		if !r.within(no, from, to) {
			continue
		}
		if wide := no / (widths[width] / widths[r.width]); wide != at {
			closeBucket()
			at = wide
		}
		bucket.add(&r.buckets[no].cpu, 1)
	}
	closeBucket()
	use, ok := mean.use()
	if !ok {
		return nil
	}
	out.CPUUse = use
	return out
}
