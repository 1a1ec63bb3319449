package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// webFlags parses flags of a command that may serve metrics.
func webFlags(t *testing.T, args ...string) (*webOptions, error) {
	t.Helper()
	o, f := &webOptions{}, pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.addFlags(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o, o.check(f)
}

// serveWeb serves metrics at a free port of this machine until the test ends.
func serveWeb(t *testing.T, u *ui, metrics http.Handler, args ...string) *webServer {
	t.Helper()
	o, err := webFlags(t, append([]string{"--web.listen-address=127.0.0.1:0"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := o.listen(u)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.serve(metrics); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// get gives the status and the body of an answer.
func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

var oneMetric = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "one 1\n") })

func TestWebUsage(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{"--web.listen-address=127.0.0.1:9147", ""},
		{"--web.listen-address=:9147", ""},
		{"--web.listen-address=[::1]:9147", ""},
		{"--web.listen-address=", `--web.listen-address is "", want HOST:PORT`},
		{"--web.listen-address=9147", `--web.listen-address is "9147", want HOST:PORT`},
		{"--web.listen-address=localhost:", `--web.listen-address is "localhost:", want HOST:PORT`},
		{"--web.config.file=web.yml", "--web.config.file is given without --web.listen-address"},
		{"--web.config.file=", "--web.config.file is empty, want a file"},
	} {
		_, err := webFlags(t, test.arg)
		if e, ok := errors.AsType[*exitError](err); test.want == "" && err != nil || test.want != "" && (!ok || e.Error() != test.want || e.status != statusUsage) {
			t.Errorf("%s: got %v, want %q", test.arg, err, test.want)
		}
	}
}

// TestWebOff has no flags: nothing listens, and nobody need ask.
func TestWebOff(t *testing.T) {
	o, err := webFlags(t)
	if err != nil {
		t.Fatal(err)
	}
	s, err := o.listen(quiet)
	if s != nil || err != nil {
		t.Errorf("got %v, %v", s, err)
	}
	if err := s.serve(oneMetric); err != nil {
		t.Error(err)
	}
	s.close()
}

func TestWeb(t *testing.T) {
	var errs bytes.Buffer
	s := serveWeb(t, &ui{stderr: &errs}, oneMetric)
	if want := "bgcstat: serving metrics at " + s.addr() + "\n"; errs.String() != want {
		t.Errorf("stderr is %q, want %q", &errs, want)
	}
	base := "http://" + s.addr()
	if status, body := get(t, http.DefaultClient, base+"/"); status != http.StatusOK || !strings.Contains(body, `<a href="/metrics">`) || strings.Contains(body, "/debug/pprof") {
		t.Errorf("/: %d %s", status, body)
	}
	if status, body := get(t, http.DefaultClient, base+"/metrics"); status != http.StatusOK || body != "one 1\n" {
		t.Errorf("/metrics: %d %s", status, body)
	}
	for _, path := range []string{"/favicon.ico", "/metrics/x", "/debug/pprof/heap"} {
		if status, _ := get(t, http.DefaultClient, base+path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	s.close()
	if c, err := net.Dial("tcp", s.addr()); err == nil {
		c.Close()
		t.Error("it listens when closed")
	}
}

// TestWebEarlyEnd closes before anything was served.
func TestWebEarlyEnd(t *testing.T) {
	o := &webOptions{address: "127.0.0.1:0"}
	s, err := o.listen(quiet)
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	again := &webOptions{address: s.addr()}
	if s, err = again.listen(quiet); err != nil {
		t.Fatal(err)
	}
	s.close()
}

// TestWebEnd closes in the middle of a request, which gets its answer.
func TestWebEnd(t *testing.T) {
	begun := make(chan struct{})
	s := serveWeb(t, quiet, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		time.Sleep(100 * time.Millisecond)
		io.WriteString(w, "late 1\n")
	}))
	got := make(chan string, 1)
	go func() {
		r, err := http.Get("http://" + s.addr() + "/metrics")
		if err != nil {
			got <- err.Error()
			return
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}()
	<-begun
	s.close()
	if body := <-got; body != "late 1\n" {
		t.Errorf("got %q", body)
	}
}

func TestWebInUse(t *testing.T) {
	s := serveWeb(t, quiet, oneMetric)
	o := &webOptions{address: s.addr()}
	_, err := o.listen(quiet)
	if want := "--web.listen-address: listen tcp " + s.addr() + ": bind: address already in use"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWebBadConfig(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ text, want string }{
		"missing.yml": {"", "open " + filepath.Join(dir, "missing.yml") + ": no such file or directory"},
		"field.yml":   {"tls_server_confg:\n  cert_file: x\n", "field tls_server_confg not found"},
		"cert.yml":    {"tls_server_config:\n  cert_file: x.pem\n  key_file: y.pem\n", "failed to read cert_file"},
		"key.yml":     {"tls_server_config:\n  cert_file: x.pem\n", "missing one of key or key_file"},
		"user.yml":    {"basic_auth_users:\n  prom: plain\n", "hash"},
	} {
		path := filepath.Join(dir, name)
		if test.text != "" {
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o := &webOptions{address: "127.0.0.1:0", configFile: path}
		_, err := o.listen(quiet)
		if err == nil || !strings.HasPrefix(err.Error(), "--web.config.file: ") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

// TestWebWarns listens where others can read.
func TestWebWarns(t *testing.T) {
	config := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(config, []byte("basic_auth_users:\n  prom: "+knownHash+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		o    webOptions
		warn bool
	}{
		{webOptions{address: "127.0.0.1:0"}, false},
		{webOptions{address: "localhost:0"}, false},
		{webOptions{address: ":0"}, true},
		{webOptions{address: "0.0.0.0:0"}, true},
		{webOptions{address: ":0", configFile: config}, false},
	} {
		var errs bytes.Buffer
		s, err := test.o.listen(&ui{stderr: &errs})
		if err != nil {
			t.Fatal(err)
		}
		s.close()
		if warned := strings.HasPrefix(errs.String(), "bgcstat: warning: --web.listen-address: whoever can reach "); warned != test.warn || !test.warn && errs.Len() > 0 {
			t.Errorf("%+v: got %q", test.o, &errs)
		}
	}
}

// knownHash is bcrypt of the password "known".
const knownHash = "$2a$04$Q7JrMMIGY/PQLUzI1JWoEOaXeAtqg4sklhiKPGXZMMT0ZlyUbgnw."

// TestWebTLS asks for a password over TLS, and says so when its file breaks
// later.
func TestWebTLS(t *testing.T) {
	dir := t.TempDir()
	roots := writeCertificate(t, dir)
	config := filepath.Join(dir, "web.yml")
	text := "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\nbasic_auth_users:\n  prom: " + knownHash + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	s := serveWeb(t, &ui{stderr: &errs}, oneMetric, "--web.config.file", config)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer c.CloseIdleConnections()
	for _, test := range []struct {
		url  string
		want int
	}{
		{"https://" + s.addr() + "/metrics", http.StatusUnauthorized},
		{"https://" + s.addr() + "/", http.StatusUnauthorized},
		{"https://prom:wrong@" + s.addr() + "/metrics", http.StatusUnauthorized},
		{"https://prom:known@" + s.addr() + "/metrics", http.StatusOK},
		{"http://prom:known@" + s.addr() + "/metrics", http.StatusBadRequest}, // no TLS
	} {
		if status, body := get(t, c, test.url); status != test.want || (status == http.StatusOK) != (body == "one 1\n") {
			t.Errorf("%s: %d %q, want %d", test.url, status, body, test.want)
		}
	}
	if err := os.WriteFile(config, []byte(text+"x: y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _ := get(t, c, "https://prom:known@"+s.addr()+"/metrics"); status != http.StatusInternalServerError {
		t.Errorf("with a broken file: %d", status)
	}
	s.close()
	want := "bgcstat: serving metrics at " + s.addr() + "\n" +
		"bgcstat: warning: serving metrics: Unable to parse configuration, err: yaml: unmarshal errors: line 6: field x not found in type web.Config\n"
	if errs.String() != want {
		t.Errorf("stderr is\n%swant\n%s", &errs, want)
	}
}

// writeCertificate writes cert.pem and key.pem for 127.0.0.1.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	for _, b := range []struct {
		file  string
		block pem.Block
	}{{"cert.pem", pem.Block{Type: "CERTIFICATE", Bytes: cert}}, {"key.pem", pem.Block{Type: "PRIVATE KEY", Bytes: private}}} {
		text := pem.EncodeToMemory(&b.block)
		roots.AppendCertsFromPEM(text)
		if err := os.WriteFile(filepath.Join(dir, b.file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return roots
}
