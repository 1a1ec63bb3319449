package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answer listens on a socket and sends each of the packets, numbered as the
// protocol has it, after one read for all but the first.
func answer(t *testing.T, packets ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buf := make([]byte, 4096)
		for i, p := range packets {
			if i > 0 {
				if _, err := conn.Read(buf); err != nil {
					return
				}
			}
			head := []byte{byte(len(p)), byte(len(p) >> 8), byte(len(p) >> 16), byte(2 * i)}
			if _, err := conn.Write(append(head, p...)); err != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, conn)
	}()
	return path
}

// greeting is one of a server without TLS.
const greeting = "\x0a8.4.0\x00" + "\x01\x00\x00\x00" + "12345678\x00" + "\x00\xa2" + "\xff\x02\x00" + "\x09\x00\x15" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "901234567890\x00" + "caching_sha2_password\x00"

// TestHostile logs in at servers that do not keep to the protocol.
func TestHostile(t *testing.T) {
	for i, packets := range [][]string{
		{""},
		{"\x0a"},
		{"\xff"},
		{"\xff\x10\x04Too many connections"},
		{"SSH-2.0-OpenSSH_9.7\r\n"},
		{"\x0a8.4.0"},
		{greeting[:20]},
		{greeting, "\xfe"},
		{greeting, "\xfecaching_sha2_password"},
		{greeting, "\xfeclient_ed25519\x00short"},
		{greeting, "\xfemysql_native_password\x00"},
		{greeting, "\xfedialog\x00"},
		{greeting, "\x01"},
		{greeting, "\x01\x04", "no key"},
		{greeting, "\x00"},
		{greeting, "\x00\x00\x00\x02\x00\x00\x00", "\x02"},
		{greeting, strings.Repeat("x", maxLoginPacket+1)},
	} {
		o := Options{Socket: answer(t, packets...), User: "bob", ConnectTimeout: time.Minute}
		o.SetPassword(secret)
		if text := refused(t, o, nil); strings.Contains(text, "no answer within") {
			t.Errorf("case %d: %s", i, text)
		} else {
			t.Logf("case %d: %s", i, text)
		}
	}
}

// TestBusy is let in by nobody, for now, and by servers that refuse it for good.
func TestBusy(t *testing.T) {
	for code, login := range map[int]bool{1040: false, 1045: true, 1130: true, 1226: false, 2003: false, 3032: false} {
		o := Options{Socket: answer(t, greeting, "\xff"+string([]byte{byte(code), byte(code >> 8)})+"#HY000no"), User: "bob", ConnectTimeout: time.Minute}
		if _, err := Connect(t.Context(), o); err == nil || errors.Is(err, ErrLogin) != login {
			t.Errorf("error %d: %v", code, err)
		}
	}
}

// TestTimeout logs in at a server that says nothing.
func TestTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := Options{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: "bob", ConnectTimeout: time.Millisecond}
	if got, want := refused(t, o, nil), "connect to bob@"+l.Addr().String()+": no answer within 1ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestGuard sends what servers ask for, packet by packet, to the watch over a
// login, and the password must not leave.
func TestGuard(t *testing.T) {
	const (
		clear  = "\xfemysql_clear_password\x00"
		sha256 = "\xfesha256_password\x0012345678901234567890\x00"
		full   = "\x01\x04"
		key    = "\x01-----BEGIN PUBLIC KEY-----"
	)
	for _, test := range []struct {
		packet string
		local  bool
		o      Options
		want   string // part of the error; empty: it passes
	}{
		{clear, false, Options{}, "--enable-cleartext-plugin"},
		{clear, false, Options{GetServerPublicKey: true}, "--enable-cleartext-plugin"},
		{clear, false, Options{EnableCleartextPlugin: true}, ""},
		{clear, true, Options{}, ""},
		{"\xfemysql_clear_password", false, Options{}, "--enable-cleartext-plugin"},
		{full, false, Options{}, "caching_sha2_password needs"},
		{full, false, Options{EnableCleartextPlugin: true}, "caching_sha2_password needs"},
		{full, false, Options{GetServerPublicKey: true}, ""},
		{full, true, Options{}, ""},
		{key, false, Options{}, "sha256_password needs"},
		{key, false, Options{GetServerPublicKey: true}, ""},
		{sha256, false, Options{Password: "x"}, "sha256_password needs"},
		{sha256, false, Options{}, ""},
		{sha256, true, Options{Password: "x"}, "sha256_password needs an encrypted connection"},
		{sha256, true, Options{}, ""},
		{"\x01\x03", false, Options{}, ""},
		{"\x00\x00\x00\x02\x00\x00\x00", false, Options{}, ""},
		{"\xfe", false, Options{}, ""},
		{"\x01", false, Options{}, ""},
	} {
		err := test.o.guard(test.local)([]byte(test.packet))
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrLogin) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q, local %v, key %v, clear text %v: got %v, want %q", test.packet, test.local, test.o.GetServerPublicKey, test.o.EnableCleartextPlugin, err, test.want)
		}
	}
}

// TestNoKey is about a server that answers the demand for its key with
// something else.
func TestNoKey(t *testing.T) {
	for packet, want := range map[string]string{
		"\x01-----BEGIN PUBLIC KEY-----":  "",
		"\xff\x15\x04#28000Access denied": "the server gives no public key; use --ssl-mode=REQUIRED",
		"\x00\x00\x00\x02\x00\x00\x00":    "the server gives no public key; use --ssl-mode=REQUIRED",
		"\xfemysql_clear_password\x00":    "the server gives no public key; use --ssl-mode=REQUIRED",
	} {
		watch := Options{GetServerPublicKey: true}.guard(false)
		if err := watch([]byte("\x01\x04")); err != nil {
			t.Fatal(err)
		}
		if err := watch([]byte(packet)); want == "" && err != nil || want != "" && (!errors.Is(err, ErrLogin) || err.Error() != want) {
			t.Errorf("%q: got %v, want %q", packet, err, want)
		}
	}
}

// TestCleartext plays the server to a client over TCP, and sees all that it sends.
func TestCleartext(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprint(allowed), func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			got := make(chan []byte, 1)
			go func() {
				var all []byte
				defer func() { got <- all }()
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				buf := make([]byte, 4096)
				for i, p := range []string{greeting, "\xfemysql_clear_password\x00"} {
					if _, err := conn.Write(append([]byte{byte(len(p)), 0, 0, byte(2 * i)}, p...)); err != nil {
						return
					}
					n, _ := conn.Read(buf)
					all = append(all, buf[:n]...)
				}
			}()
			o := Options{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: "bob", EnableCleartextPlugin: allowed}
			o.SetPassword(secret)
			text := refused(t, o, nil)
			if sent := bytes.Contains(<-got, []byte(secret)); sent != allowed {
				t.Errorf("the password was sent: %v, want %v (%s)", sent, allowed, text)
			}
		})
	}
}
