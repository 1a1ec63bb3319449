package iosample

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// CPU is CPU time in seconds, in the kernel's steps of 10 ms: of all CPUs of the
// host since it was booted, and of all threads of the server's process since it
// was started. IOWait and Idle may fall a little (proc(5)).
type CPU struct {
	CPUs   int     `json:"cpus"`           // online
	User   float64 `json:"user_seconds"`   // with nice and guests
	System float64 `json:"system_seconds"` // with interrupts
	IOWait float64 `json:"iowait_seconds"` // idle while a disk was waited for
	Idle   float64 `json:"idle_seconds"`   // without IOWait
	Steal  float64 `json:"steal_seconds"`  // taken by the hypervisor
	// ServerUser and ServerSystem are nil where the process is not known.
	ServerUser   *float64 `json:"server_user_seconds,omitempty"`
	ServerSystem *float64 `json:"server_system_seconds,omitempty"`
}

const (
	// ticksPerSecond is USER_HZ, which is 100 wherever Go runs on Linux.
	ticksPerSecond = 100
	// tickBits bounds a counter. A kernel that counts below 0 has larger ones.
	tickBits = 53
	// mostSeconds bounds the sum of a few such counters.
	mostSeconds = 1e15
)

// valid reports whether all numbers are such as a kernel may have.
func (c *CPU) valid() bool {
	for _, v := range []*float64{&c.User, &c.System, &c.IOWait, &c.Idle, &c.Steal, c.ServerUser, c.ServerSystem} {
		if v != nil && !(*v >= 0 && *v <= mostSeconds) {
			return false
		}
	}
	return c.CPUs > 0 && (c.ServerUser == nil) == (c.ServerSystem == nil)
}

// parseHostCPU reads the host's part of c from /proc/stat.
func parseHostCPU(path string, b []byte, c *CPU) error {
	// The first line is the sum, one for each CPU that is online follows (proc(5)).
	total, rest, _ := bytes.Cut(b, []byte("\n"))
	var ticks [8]uint64 // user, nice, system, idle, iowait, irq, softirq, steal
	n := -1
	for field := range bytes.FieldsSeq(total) {
		switch {
		case n == len(ticks): // guests are in user and nice, too
		case n < 0 && string(field) != "cpu":
			return fmt.Errorf("%s: the first line is not that of all CPUs", path)
		case n < 0:
			n = 0
		default:
			var err error
			if ticks[n], err = strconv.ParseUint(string(field), 10, tickBits); err != nil {
				return fmt.Errorf("%s: cpu: %w", path, err)
			}
			n++
		}
	}
	if n < len(ticks) {
		return fmt.Errorf("%s: cpu: %d numbers, want %d or more", path, max(n, 0), len(ticks))
	}
	c.CPUs = 0
	for line := range bytes.Lines(rest) {
		if !bytes.HasPrefix(line, []byte("cpu")) {
			break
		}
		c.CPUs++
	}
	if c.CPUs == 0 {
		return fmt.Errorf("%s: no line of a CPU", path)
	}
	c.User, c.System = seconds(ticks[0]+ticks[1]), seconds(ticks[2]+ticks[5]+ticks[6])
	c.Idle, c.IOWait, c.Steal = seconds(ticks[3]), seconds(ticks[4]), seconds(ticks[7])
	return nil
}

// parseProcessCPU reads from /proc/PID/stat how long a process ran, and when it
// was started.
func parseProcessCPU(path string, b []byte) (user, system float64, start uint64, err error) {
	end := bytes.LastIndexByte(b, ')') // see parseStat
	if end < 0 {
		return 0, 0, 0, fmt.Errorf("%s: no name in parentheses", path)
	}
	var fields [3]uint64 // the 14th, 15th and 22nd
	i, found := 2, 0
	for field := range bytes.FieldsSeq(b[end+1:]) {
		if i++; i != 14 && i != 15 && i != 22 {
			continue
		}
		if fields[found], err = strconv.ParseUint(string(field), 10, tickBits); err != nil {
			return 0, 0, 0, fmt.Errorf("%s: field %d: %w", path, i, err)
		}
		found++
	}
	if found < len(fields) {
		return 0, 0, 0, fmt.Errorf("%s: %d fields, want 22 or more", path, i)
	}
	return seconds(fields[0]), seconds(fields[1]), fields[2], nil
}

func seconds(ticks uint64) float64 { return float64(ticks) / ticksPerSecond }

// cpuEvery is how often the CPU time is read: for /proc/stat the kernel adds up
// the interrupts of all CPUs. It is below a second since samples may come a
// little early.
const cpuEvery = 950 * time.Millisecond

// readCPU gives the CPU time, or nil where it is not known, or was read less
// than a second ago and the sample is not the last one.
func (s *Sampler) readCPU(mono int64, last bool) *CPU {
	switch {
	case s.process.PID == 0 && s.files == nil:
		return nil // the server may be on another host
	case s.cpuAt != 0 && !last && mono-s.cpuAt < int64(cpuEvery):
		return nil
	}
	s.cpuAt = mono
	b, err := s.cpu.read(s.config.Host.Root + "/proc/stat")
	if err != nil {
		return nil
	}
	c := &CPU{}
	if parseHostCPU(s.cpu.path, b, c) != nil {
		return nil
	}
	if s.process.PID == 0 {
		return c
	}
	if b, err = s.stat.read(s.config.Host.pid(s.process.PID, "stat")); err != nil {
		return c
	}
	user, system, start, err := parseProcessCPU(s.stat.path, b)
	if err == nil && start == s.process.StartTicks { // else another has its number
		c.ServerUser, c.ServerSystem = &user, &system
	}
	return c
}
