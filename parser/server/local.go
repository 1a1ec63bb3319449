package server

import (
	"net"
	"slices"
)

// Address is where a connection goes: "unix" and a path, or "tcp" and
// host:port.
func (o Options) Address() (network, address string) { return o.address() }

// Local reports whether the address is one of this host: a socket, or one of
// its own addresses. Something may listen there that passes connections on to
// another host.
func (o Options) Local() bool {
	network, address := o.address()
	if network == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return false
	}
	own, _ := net.InterfaceAddrs() // loopback is told without
	return slices.ContainsFunc(ips, func(ip net.IP) bool {
		return ip.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip)
		})
	})
}
