package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// wire is the connection below the driver. It keeps the reason why reading or
// writing failed, which the driver loses, and during a login without TLS it
// sees each packet before the driver does: the driver sends a password in
// whatever way the server wants it.
type wire struct {
	net.Conn
	ahead []byte                    // read, and not yet taken by the driver
	watch func(packet []byte) error // looks at the packets of the server; nil when there is nothing to watch
	err   error                     // the first that happened
}

func (w *wire) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if len(w.ahead) == 0 && w.watch != nil {
		packet, err := w.packet()
		if err == nil {
			err = w.watch(packet[4:])
		}
		if err != nil {
			w.err = err
			return 0, err
		}
		w.ahead = packet
	}
	if len(w.ahead) > 0 {
		n := copy(p, w.ahead)
		w.ahead = w.ahead[n:]
		return n, nil
	}
	n, err := w.Conn.Read(p)
	if err != nil {
		w.err = err
	}
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// shut closes the connection under the driver, which ends whatever it waits
// for. It may be called from another goroutine.
func (w *wire) shut() {
	if w.Conn != nil {
		_ = w.Conn.Close()
	}
}

// maxLoginPacket bounds what a server may send during a login; an RSA key is
// the longest of it.
const maxLoginPacket = 1 << 16

// packet reads one packet, with its header of 4 bytes.
func (w *wire) packet() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(w.Conn, head[:]); err != nil {
		return nil, err
	}
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if n == 0 || n > maxLoginPacket {
		return nil, fmt.Errorf("no MySQL server: got a packet of %d bytes, want 1 to %d", n, maxLoginPacket)
	}
	packet := append(head[:], make([]byte, n)...)
	_, err := io.ReadFull(w.Conn, packet[4:])
	return packet, err
}

// greet reads the server's greeting, which stays there for the driver, and
// reports whether it offers TLS.
func (w *wire) greet() (tls bool, err error) {
	packet, err := w.packet()
	if err != nil {
		return false, err
	}
	w.ahead = packet
	greeting := packet[4:]
	// Version, connection id, 8 bytes of salt, 0, capabilities.
	end := bytes.IndexByte(greeting, 0)
	if greeting[0] != mysql.ClassicProtocolVersion || end < 0 || len(greeting) < end+1+4+8+1+2 {
		return false, nil // an error instead of a greeting, or what the driver will call one
	}
	capabilities := binary.LittleEndian.Uint16(greeting[end+1+4+8+1:])
	return uint32(capabilities)&mysql.CLIENT_SSL != 0, nil
}

// guard returns the watch over a login as o allows it, for a connection
// without TLS; local is a socket, where nobody listens.
func (o Options) guard(local bool) func(packet []byte) error {
	asked := false // the driver sends for the server's key
	// The first byte of a packet: 0xfe changes the plugin, 1 is for the plugin
	// itself. 4 then asks for the whole password; a key begins with "-".
	return func(p []byte) error {
		var plugin string
		if p[0] == mysql.EOF_HEADER {
			name, _, _ := bytes.Cut(p[1:], []byte{0})
			plugin = string(name)
		}
		full := bytes.HasPrefix(p, []byte{mysql.MORE_DATE_HEADER, mysql.CACHE_SHA2_FULL_AUTH})
		key := bytes.HasPrefix(p, []byte{mysql.MORE_DATE_HEADER, '-'})
		switch {
		case asked && !key:
			// The driver takes whatever comes for a key.
			return &kindError{ErrLogin, "the server gives no public key; use --ssl-mode=REQUIRED"}
		case local && plugin == mysql.AUTH_SHA256_PASSWORD && o.Password != "":
			// Unlike caching_sha2_password it trusts no socket, and the driver does not know.
			return &kindError{ErrLogin, "sha256_password needs an encrypted connection; use --ssl-mode=REQUIRED"}
		case local:
		case plugin == mysql.AUTH_CLEAR_PASSWORD && !o.EnableCleartextPlugin:
			return &kindError{ErrLogin, "the server asks for the password in clear text, and the connection is not encrypted; use --ssl-mode=REQUIRED or, if you must, --enable-cleartext-plugin"}
		case full && !o.GetServerPublicKey:
			return needKey(mysql.AUTH_CACHING_SHA2_PASSWORD)
		case (key || plugin == mysql.AUTH_SHA256_PASSWORD && o.Password != "") && !o.GetServerPublicKey:
			return needKey(mysql.AUTH_SHA256_PASSWORD)
		}
		asked = full && !local
		return nil
	}
}

func needKey(plugin string) error {
	return &kindError{ErrLogin, plugin + " needs an encrypted connection or the server's public key; use --ssl-mode=REQUIRED or --get-server-public-key"}
}
