package iosample

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Process is one process. A PID alone may be another process tomorrow; with
// StartTicks it is not.
type Process struct {
	PID        int
	StartTicks uint64 // when it was started, in clock ticks since boot
	// Exe is the program's path where it may be read, else the first 15 bytes
	// of its name.
	Exe string
	// Args is its command line, empty where it is hidden. It may hold
	// passwords: never print it.
	Args []string
}

// Process gives the process of that number. The error is [ErrNotVisible] where
// there is none to be seen.
func (h Host) Process(pid int) (Process, error) {
	name, start, err := h.stat(pid)
	if err != nil {
		return Process{}, err
	}
	p := Process{PID: pid, StartTicks: start, Exe: name}
	fs, err := procfs.NewFS(h.Root + "/proc")
	if err != nil {
		return Process{}, err
	}
	proc, err := fs.Proc(pid)
	if err != nil {
		return Process{}, h.refusal(pid, h.pid(pid), err, needsTrace) // it has just ended
	}
	if exe, err := proc.Executable(); err == nil && exe != "" {
		p.Exe = strings.TrimSuffix(exe, deleted) // by an upgrade
	}
	p.Args, _ = proc.CmdLine()
	return p, nil
}

// stat gives the name of a process and when it was started.
func (h Host) stat(pid int) (name string, start uint64, err error) {
	path := h.pid(pid, "stat")
	b, err := os.ReadFile(path)
	if err != nil {
		return "", 0, h.refusal(pid, path, err, needsTrace)
	}
	return parseStat(path, b)
}

// parseStat reads /proc/PID/stat.
func parseStat(path string, b []byte) (name string, start uint64, err error) {
	// The name stands in parentheses and may hold any byte; behind the last ")"
	// are the fields from the third on (proc(5)). The start is the 22nd.
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return "", 0, fmt.Errorf("%s: no name in parentheses", path)
	}
	fields := bytes.Fields(b[end+1:])
	if len(fields) < 20 {
		return "", 0, fmt.Errorf("%s: %d fields behind the name, want 20 or more", path, len(fields))
	}
	if start, err = strconv.ParseUint(string(fields[19]), 10, 64); err != nil {
		return "", 0, fmt.Errorf("%s: start: %w", path, err)
	}
	return string(b[open+1 : end]), start, nil
}

// SameProcess is whether p still runs: the same process, not only the same
// number.
func (h Host) SameProcess(p Process) bool {
	_, start, err := h.stat(p.PID)
	return err == nil && start == p.StartTicks
}

// IO gives the bytes that a process gave to write calls, and the number of
// those calls, since it was started. It needs the process's own user, or
// CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.
func (h Host) IO(pid int) (wchar, syscw int64, err error) {
	path := h.pid(pid, "io")
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, h.refusal(pid, path, err, needsFiles)
	}
	return parseIO(path, b)
}

// parseIO reads /proc/PID/io.
func parseIO(path string, b []byte) (wchar, syscw int64, err error) {
	found := 0
	for line := range bytes.Lines(b) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		var to *int64
		switch string(name) {
		case "wchar":
			to = &wchar
		case "syscw":
			to = &syscw
		default:
			continue
		}
		if *to, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
			return 0, 0, fmt.Errorf("%s: %s: %w", path, name, err)
		}
		found++
	}
	if found != 2 {
		return 0, 0, fmt.Errorf("%s: %d of the lines wchar and syscw, want both", path, found)
	}
	return wchar, syscw, nil
}

// serverName is what the programs are called: mysqld-debug and mariadbd-11.8
// are servers, mysqld_safe and mysqld_exporter are not.
var serverName = regexp.MustCompile(`^(mysqld|mariadbd)([-.][-.\w]*)?$`)

// IsServer reports whether the process is a MySQL or MariaDB server, by the name
// of its program or the one that it was called by.
func (p Process) IsServer() bool {
	return serverName.MatchString(filepath.Base(p.Exe)) ||
		len(p.Args) > 0 && serverName.MatchString(filepath.Base(p.Args[0]))
}

// servers gives all processes that are MySQL or MariaDB servers.
func (h Host) servers() ([]Process, error) {
	fs, err := procfs.NewFS(h.Root + "/proc")
	if err != nil {
		return nil, err
	}
	all, err := fs.AllProcs()
	if err != nil {
		return nil, err
	}
	var servers []Process
	for _, proc := range all {
		p, err := h.Process(proc.PID)
		if err == nil && p.IsServer() { // others may have ended just now
			servers = append(servers, p)
		}
	}
	return servers, nil
}
