package iosample

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// search is a search among the servers of a machine.
type search struct {
	what    string // is sought, such as "port 3306"
	servers []Process
	found   []int
	refused error // why a server could not be looked into
}

func (h Host) search(what string) (*search, error) {
	servers, err := h.servers()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return &search{what: what, servers: servers}, nil
}

// try keeps the servers that match, unless some were found before.
func (s *search) try(match func(Process) (bool, error)) {
	if len(s.found) > 0 {
		return
	}
	for _, p := range s.servers {
		ok, err := match(p)
		if ok {
			s.found = append(s.found, p.PID)
		}
		s.refuse(err)
	}
}

// refuse notes why a server could not be looked into. One that has ended since
// the search began is not the one that is sought.
func (s *search) refuse(err error) {
	if !errors.Is(err, ErrNotVisible) {
		s.refused = cmp.Or(s.refused, err)
	}
}

// one gives the server found; there must be just one. More is said of why
// there is none.
func (s *search) one(more string) (int, error) {
	switch {
	case len(s.found) == 1:
		return s.found[0], nil
	case len(s.found) > 1:
		slices.Sort(s.found)
		return 0, fmt.Errorf("%s: %d servers match, want 1: processes %s", s.what, len(s.found), strings.Trim(fmt.Sprint(s.found), "[]"))
	case s.refused != nil:
		return 0, fmt.Errorf("%s: no server found, but not all could be looked into: %w", s.what, s.refused)
	case len(s.servers) == 0:
		return 0, fmt.Errorf("%s: no mysqld or mariadbd is to be seen%s", s.what, more)
	}
	return 0, fmt.Errorf("%s: none of the %d servers matches%s", s.what, len(s.servers), more)
}

// FindByPIDFile gives the process that a server's pid file names. It must be a
// server: a pid file of a container holds a number that means another process
// outside.
func (h Host) FindByPIDFile(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(b))
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("%s: holds %.20q, want a process number", path, text)
	}
	p, err := h.Process(pid)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if !p.IsServer() {
		return 0, fmt.Errorf("%s: process %d is %s, want mysqld or mariadbd", path, pid, filepath.Base(p.Exe))
	}
	return pid, nil
}

// FindByDataDir gives the server that has its data in dir. Servers make it
// their working directory; where that may not be read, the option --datadir
// on their command line must spell it the same.
func (h Host) FindByDataDir(dir string) (int, error) {
	s, err := h.search(dir)
	if err != nil {
		return 0, err
	}
	want, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	s.try(func(p Process) (bool, error) {
		path := h.pid(p.PID, "cwd")
		fi, err := os.Stat(path)
		if err != nil {
			arg := dataDirOf(p.Args)
			return arg != "" && filepath.Clean(arg) == filepath.Clean(dir), h.refusal(p.PID, path, err, needsTrace)
		}
		return os.SameFile(fi, want), nil
	})
	return s.one("")
}

// dataDirOf gives the data directory that a command line names, or "". The
// last wins.
func dataDirOf(args []string) string {
	dir := ""
	for i, arg := range args {
		switch {
		case strings.HasPrefix(arg, "--datadir="):
			dir = strings.TrimPrefix(arg, "--datadir=")
		case (arg == "--datadir" || arg == "-h") && i+1 < len(args):
			dir = args[i+1]
		}
	}
	return dir
}

// FindByPort gives the server that listens on a TCP port of this machine, or
// where there is none, of a network namespace of its own.
func (h Host) FindByPort(port int) (int, error) {
	s, err := h.search(fmt.Sprintf("port %d", port))
	if err != nil {
		return 0, err
	}
	here, err := listeners(h.Root+"/proc/net", port)
	if err != nil {
		return 0, fmt.Errorf("port %d: %w", port, err)
	}
	s.try(func(p Process) (bool, error) { return h.holds(p.PID, here) })
	s.try(func(p Process) (bool, error) {
		there, err := listeners(h.pid(p.PID, "net"), port)
		if err != nil {
			return false, h.refusal(p.PID, h.pid(p.PID, "net"), err, needsTrace)
		}
		return h.holds(p.PID, there)
	})
	if len(here) > 0 {
		return s.one(", yet something else listens there")
	}
	return s.one("")
}

// listeners gives the inodes of the sockets that listen on a TCP port, by the
// files tcp and tcp6 of a directory net.
func listeners(dir string, port int) (map[uint64]string, error) {
	inodes := map[uint64]string{}
	for _, name := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if name == "tcp6" && errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without it
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(b)) {
			// Number, local address:port, remote, state, queues, timer,
			// retransmits, user, timeout, inode.
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" { // TCP_LISTEN
				continue
			}
			_, local, _ := strings.Cut(f[1], ":")
			number, err1 := strconv.ParseUint(local, 16, 16)
			inode, err2 := strconv.ParseUint(f[9], 10, 64)
			if err1 == nil && err2 == nil && int(number) == port {
				inodes[inode] = ""
			}
		}
	}
	return inodes, nil
}

// FindBySocket gives the server that listens on a Unix socket. The path may be
// as this process sees it or as the server does, which differ where the server
// has a root directory of its own.
func (h Host) FindBySocket(path string) (int, error) {
	s, err := h.search(path)
	if err != nil {
		return 0, err
	}
	bound := map[int][]string{} // by process, as it sees them
	for _, p := range s.servers {
		// A socket is in the list of the network namespace it was made in.
		all, err := unixListeners(h.pid(p.PID, "net/unix"))
		if err == nil {
			bound[p.PID], err = h.held(p.PID, all)
		}
		s.refuse(h.refusal(p.PID, h.pid(p.PID, "net/unix"), err, needsTrace))
	}
	by := func(match func(pid int, at string) bool) {
		s.try(func(p Process) (bool, error) {
			return slices.ContainsFunc(bound[p.PID], func(at string) bool { return match(p.PID, at) }), nil
		})
	}
	// The same file, whatever it is called on either side, is the surest.
	if want, err := os.Stat(path); err == nil {
		by(func(pid int, at string) bool {
			from := "root"
			if !filepath.IsAbs(at) {
				from = "cwd"
			}
			fi, err := os.Stat(h.pid(pid, from, at))
			return err == nil && os.SameFile(fi, want)
		})
	}
	by(func(_ int, at string) bool { return at == path })
	by(func(pid int, at string) bool { // its file may be gone
		root, err := os.Readlink(h.pid(pid, "root"))
		return err == nil && filepath.Join(root, at) == path
	})
	return s.one("")
}

// unixListeners reads a file /proc/net/unix: inode and path of the sockets
// that listen.
func unixListeners(file string) (map[uint64]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sockets := map[uint64]string{}
	for line := range strings.Lines(string(b)) {
		// Num RefCount Protocol Flags Type St Inode Path, which may hold spaces.
		f := strings.Fields(line)
		if len(f) < 8 || f[3] != "00010000" { // __SO_ACCEPTCON: it listens
			continue
		}
		inode, err := strconv.ParseUint(f[6], 10, 64)
		if err != nil {
			continue
		}
		_, path, _ := strings.Cut(line, " "+f[6]+" ")
		sockets[inode] = strings.TrimSuffix(path, "\n")
	}
	return sockets, nil
}

// holds is whether a process has one of these sockets open.
func (h Host) holds(pid int, inodes map[uint64]string) (bool, error) {
	if len(inodes) == 0 {
		return false, nil
	}
	held, err := h.held(pid, inodes)
	return len(held) > 0, err
}

// held gives the names of those sockets that a process has open.
func (h Host) held(pid int, inodes map[uint64]string) ([]string, error) {
	dir := h.pid(pid, "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, h.refusal(pid, dir, err, needsFiles)
	}
	var names []string
	for _, e := range entries {
		link, err := os.Readlink(filepath.Join(dir, e.Name()))
		if os.IsPermission(err) {
			return nil, h.refusal(pid, dir, err, needsFiles)
		}
		text, isSocket := strings.CutPrefix(link, "socket:[")
		if !isSocket {
			continue // or closed just now
		}
		inode, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64)
		if err != nil {
			continue
		}
		if name, ok := inodes[inode]; ok {
			names = append(names, name)
		}
	}
	return names, nil
}
