package iosample

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// cpuSampler reads the CPU time of a tree and of its process 4711.
func cpuSampler(h Host, start uint64) *Sampler {
	return &Sampler{config: Config{Host: h}, process: Process{PID: 4711, StartTicks: start}}
}

func TestCPU(t *testing.T) {
	h := unpackHost(t, "linux-3.10")
	host := CPU{
		CPUs:   2,
		User:   1.2,    // 100 + 20
		System: 30.76,  // 3000 + 6 + 70
		IOWait: 5,      // 500
		Idle:   400,    // 40000
		Steal:  8.0e-2, // 8
	}
	with := host
	with.ServerUser, with.ServerSystem = new(2.5), new(0.8) // 250, 80
	s := cpuSampler(h, 123456)
	defer s.cpu.close()
	defer s.stat.close()
	if got := s.readCPU(1, false); got == nil || !reflect.DeepEqual(*got, with) {
		t.Errorf("got %+v, want %+v", got, with)
	}
	b, err := json.Marshal(with)
	want := `{"cpus":2,"user_seconds":1.2,"system_seconds":30.76,"iowait_seconds":5,"idle_seconds":400,"steal_seconds":0.08,"server_user_seconds":2.5,"server_system_seconds":0.8}`
	if err != nil || string(b) != want {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}

	// The process has ended, and another has its number.
	s.process.StartTicks++
	if got := s.readCPU(1e10, false); got == nil || !reflect.DeepEqual(*got, host) {
		t.Errorf("another process: got %+v, want %+v", got, host)
	}
	s.process.PID = 4712
	if got := s.readCPU(2e10, false); got == nil || !reflect.DeepEqual(*got, host) {
		t.Errorf("no process: got %+v, want %+v", got, host)
	}
	s.process = Process{}
	if got := s.readCPU(3e10, false); got != nil {
		t.Errorf("a server that may be elsewhere: got %+v", got)
	}
	s.files = &liveFiles{}
	if got := s.readCPU(4e10, false); got == nil || !reflect.DeepEqual(*got, host) {
		t.Errorf("only files: got %+v, want %+v", got, host)
	}
	if got := cpuSampler(unpackHost(t, "container"), 1000).readCPU(1, false); got != nil {
		t.Errorf("no /proc/stat: got %+v", got)
	}
	if err := os.WriteFile(h.Root+"/proc/stat", []byte("cpu"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := s.readCPU(5e10, false); got != nil {
		t.Errorf("a damaged /proc/stat: got %+v", got)
	}
}

// The kernel counts what this process does.
func TestCPUOfThisProcess(t *testing.T) {
	p, err := Host{}.Process(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	s := &Sampler{process: p}
	defer s.cpu.close()
	defer s.stat.close()
	before := s.readCPU(1, true)
	if before == nil || before.ServerUser == nil {
		t.Fatalf("got %+v", before)
	}
	used := func(c *CPU) float64 { return *c.ServerUser + *c.ServerSystem }
	began := time.Now()
	for time.Since(began) < 20*time.Second {
		after := s.readCPU(2, true)
		if used(after)-used(before) < 0.1 {
			continue
		}
		// What a hypervisor takes meanwhile may be in the process's time, too.
		if busy := after.User + after.System + after.Steal - before.User - before.System - before.Steal; busy < 0.05 || after.CPUs != before.CPUs {
			t.Errorf("got %+v after %+v", after, before)
		}
		return
	}
	t.Error("0.1 s were not used up in 20 s")
}

// It is read once a second, whatever the interval, and at the end.
func TestCPUOnceASecond(t *testing.T) {
	h := unpackHost(t, "linux-3.10")
	for _, test := range []struct {
		interval, jitter time.Duration
		want             int // in 10 s
	}{
		{10 * time.Millisecond, 0, 11},
		{100 * time.Millisecond, 3 * time.Millisecond, 10},
		{time.Second, 20 * time.Millisecond, 10},
		{5 * time.Second, 0, 2},
	} {
		s := cpuSampler(h, 123456)
		n := 0
		for i := range int(10 * time.Second / test.interval) {
			mono := time.Hour + time.Duration(i)*test.interval
			if i%2 == 1 {
				mono -= test.jitter
			}
			if s.readCPU(int64(mono), false) != nil {
				n++
			}
		}
		if n != test.want {
			t.Errorf("each %v: read %d times, want %d", test.interval, n, test.want)
		}
		if s.readCPU(s.cpuAt+1, true) == nil {
			t.Errorf("each %v: not in the last sample", test.interval)
		}
		s.cpu.close()
		s.stat.close()
	}
}

func TestCPUErrors(t *testing.T) {
	const cpu0 = "\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
	for text, want := range map[string]string{
		"":                                   "f: cpu: 0 numbers, want 8 or more",
		"\n":                                 "f: cpu: 0 numbers, want 8 or more",
		"cpu" + cpu0:                         "f: cpu: 0 numbers, want 8 or more",
		"cpu0 1 2 3 4 5 6 7 8\n":             "f: the first line is not that of all CPUs",
		"cpu 1 2 3 4 5 6 7" + cpu0:           "f: cpu: 7 numbers, want 8 or more",
		"cpu 1 2 3 4 5 6 7 8\nintr 1\n":      "f: no line of a CPU",
		"cpu 1 2 3 4 5 6 7 -8" + cpu0:        `f: cpu: strconv.ParseUint: parsing "-8": invalid syntax`,
		"cpu 1 2 3 4 5 x 7 8" + cpu0:         `f: cpu: strconv.ParseUint: parsing "x": invalid syntax`,
		"cpu 18446744073709551615 1" + cpu0:  `f: cpu: strconv.ParseUint: parsing "18446744073709551615": value out of range`,
		"cpu 1 2 3 4 5 6 7 8" + cpu0:         "",
		"cpu 1 2 3 4 5 6 7 8 later x" + cpu0: "",
	} {
		got := ""
		if err := parseHostCPU("f", []byte(text), &CPU{}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	numbers := strings.Repeat(" 1", 11)
	for text, want := range map[string]string{
		"":                                 "f: no name in parentheses",
		"1 (a) b) S" + numbers:             "f: 14 fields, want 22 or more",
		"1 (a) S 1 2":                      "f: 5 fields, want 22 or more",
		"1 (a) S 1 2 3 4 5 6 7 8 9 10 x 1": `f: field 14: strconv.ParseUint: parsing "x": invalid syntax`,
		"1 (a) b) S 1 2 3 4 5 6 7 8 9 10 250 80 0 0 20 0 1 0 99": "",
	} {
		got := ""
		user, system, start, err := parseProcessCPU("f", []byte(text))
		if err != nil {
			got = err.Error()
		}
		if got != want || want == "" && (user != 2.5 || system != 0.8 || start != 99) {
			t.Errorf("%q: got %v, %v, %d, %s, want %s", text, user, system, start, got, want)
		}
	}
}

// To read and to understand it takes no memory.
func TestCPUAllocs(t *testing.T) {
	h := unpackHost(t, "linux-3.10")
	read := cpuReader(t, h, 4711)
	if n := testing.AllocsPerRun(100, read); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// cpuReader gives what readCPU does, but for the value that it returns.
func cpuReader(tb testing.TB, h Host, pid int) func() {
	var host, process held
	tb.Cleanup(host.close)
	tb.Cleanup(process.close)
	all, own, c := h.Root+"/proc/stat", h.pid(pid, "stat"), &CPU{}
	return func() {
		b, err := host.read(all)
		if err == nil {
			err = parseHostCPU(host.path, b, c)
		}
		if err == nil {
			b, err = process.read(own)
		}
		if err == nil {
			_, _, _, err = parseProcessCPU(process.path, b)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkCPU(b *testing.B) {
	read := cpuReader(b, Host{}, os.Getpid())
	b.ReportAllocs()
	for b.Loop() {
		read()
	}
}
