package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bgcstat/parser/iosample"
	"bgcstat/parser/server"
)

// sqlServer is a server that is asked again and again. It connects when it is
// first asked, and anew after the connection was lost.
type sqlServer struct {
	options server.Options
	conn    *server.Conn
}

// use connects, if need be, and runs f.
func (s *sqlServer) use(ctx context.Context, f func(*server.Conn) error) error {
	if s.conn == nil {
		conn, err := server.Connect(ctx, s.options)
		if err != nil {
			return err
		}
		s.conn = conn
	}
	err := f(s.conn)
	if errors.Is(err, server.ErrLost) {
		s.close()
	}
	return err
}

// Query implements iosample.Server.
func (s *sqlServer) Query(ctx context.Context, sql string) (rows []map[string]string, err error) {
	err = s.use(ctx, func(c *server.Conn) error {
		out, err := c.Query(ctx, sql)
		for _, row := range out {
			rows = append(rows, row)
		}
		return err
	})
	return rows, err
}

// Position implements iosample.Server.
func (s *sqlServer) Position(ctx context.Context) (file string, offset int64, err error) {
	err = s.use(ctx, func(c *server.Conn) error {
		file, offset, err = c.Position(ctx)
		return err
	})
	return file, offset, err
}

// Settings implements iosample.Server.
func (s *sqlServer) Settings(ctx context.Context) (settings map[string]string, err error) {
	err = s.use(ctx, func(c *server.Conn) error {
		settings, err = c.Settings(ctx)
		return err
	})
	return settings, err
}

// Target implements iosample.Server.
func (s *sqlServer) Target() string { return s.options.Target() }

// differing gives the names of settings that are not the same, in order: of those
// that only one of both has, too, as where a plugin is loaded.
func differing(a, b map[string]string) []string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return a[name] == b[name] })
}

func (s *sqlServer) close() {
	if s.conn != nil {
		_ = s.conn.Close() // it is gone either way
		s.conn = nil
	}
}

// findServer has a sampler look for the process of the server that is connected
// to, if that may be on this host.
func findServer(c *iosample.Config, o server.Options, settings map[string]string) {
	if !o.Local() {
		return
	}
	network, address := o.Address()
	h := c.Host
	c.Find = func() (int, error) { return findListener(h, network, address) }
	// What listens here may pass on to another machine, or be hidden.
	if dir := settings["datadir"]; dir != "" && sameServer(dir, settings["server_uuid"]) {
		c.DataDir = dir
	}
}

// findListener gives the server's process that listens at an address of this
// host.
func findListener(h iosample.Host, network, address string) (int, error) {
	pid, err := 0, error(nil)
	if network == "unix" {
		pid, err = h.FindBySocket(address)
	} else {
		var port int
		_, p, _ := net.SplitHostPort(address)
		if port, err = strconv.Atoi(p); err == nil {
			pid, err = h.FindByPort(port)
		}
	}
	if err != nil {
		return 0, err
	}
	p, err := h.Process(pid)
	if err != nil {
		return 0, err
	}
	// A tunnel or a proxy listens for a server elsewhere.
	if !p.IsServer() {
		return 0, fmt.Errorf("at %s listens %s, process %d, which is neither mysqld nor mariadbd", address, p.Exe, pid)
	}
	return pid, nil
}

// sameServer reports whether a data directory of this host is that of the
// server with a UUID.
func sameServer(dir, uuid string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "auto.cnf"))
	return err == nil && uuid != "" && strings.Contains(string(b), uuid)
}
