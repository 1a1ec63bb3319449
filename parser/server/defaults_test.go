package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// write makes a file that only its owner may write to.
func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// fields prints the options with the password, which their own form leaves out.
func fields(o Options) string {
	type bare Options
	return fmt.Sprintf("%+v", bare(o))
}

func TestReadDefaults(t *testing.T) {
	password := func(s string) Options { return Options{Password: s, HasPassword: true} }
	for _, test := range []struct {
		name, text string
		want       Options
	}{
		{"empty", "", Options{}},
		{"all", `
[client]
host = db1
port=3307
socket =/x/y.sock
user= bob
password = hunter2
protocol = TCP
ssl-mode = verify_ca
ssl-ca = /ca.pem
ssl-cert = /cert.pem
ssl-key = /key.pem
get-server-public-key
enable-cleartext-plugin
connect-timeout = 5
`, Options{
			Host: "db1", Port: 3307, Socket: "/x/y.sock", User: "bob", Password: "hunter2", HasPassword: true, Protocol: TCP,
			SSLMode: VerifyCA, SSLCA: "/ca.pem", SSLCert: "/cert.pem", SSLKey: "/key.pem", GetServerPublicKey: true,
			EnableCleartextPlugin: true, ConnectTimeout: 5 * time.Second,
		}},
		{"underscores", "[client]\nssl_mode=REQUIRED\nget_server_public_key=1\nSSL_CA=x", Options{SSLMode: Required, GetServerPublicKey: true, SSLCA: "x"}},
		{
			"groups", "[client]\nuser=a\n[mysql]\nuser=b\n[mysqld]\nuser=c\n[ Client-Server ]\nhost=d\n[client-mariadb]\nport=1\n[bgcstat] # ours\nsocket=e\n[client5.7]\nuser=f",
			Options{User: "a", Host: "d", Port: 1, Socket: "e"},
		},
		{"later wins", "[bgcstat]\nuser=a\n[client]\nuser=b\n[client-server]\nuser=c", Options{User: "c"}},
		{"comments", "# x\n; y\n  # z\n[client]\nuser=bob # not a part\n;user=eve\nhost=a;b\n#host=c", Options{User: "bob", Host: "a;b"}},
		{"line ends", "[client]\r\nuser=bob\r\nhost=db1\r", Options{User: "bob", Host: "db1"}},
		{"unknown", "[client]\nlongest-day\nno=1\n=x\nuser=bob\nprompt=\\u\nskip-foo\nquick", Options{User: "bob"}},
		{"unquoted hash", "[client]\npassword=a#b", password("a")},
		{"quoted hash", "[client]\npassword=\"a#b\" # c", password("a#b")},
		{"single quotes", "[client]\npassword='a\"#b'", password("a\"#b")},
		{"quotes inside", "[client]\npassword=a\"#\"b", password("a\"#\"b")},
		{"one quote", "[client]\npassword='", password("'")},
		{"no quotes", "[client]\npassword=''", password("")},
		{"other quotes", "[client]\npassword='x\"", password("'x\"")},
		{"kept spaces", "[client]\npassword='  x '", password("  x ")},
		{"spaces", "[client]\n\t password \t=\t a  b \t", password("a  b")},
		{"escapes", `[client]` + "\n" + `password=\s\b\t\n\r\\\"\'\x\q`, password(" \b\t\n\r\\\"'\\x\\q")},
		{"escapes in quotes", "[client]\npassword=\"a\\\"#b\\sc\"", password(`a"#b c`)},
		{"last backslash", `[client]` + "\n" + `password=a\`, password(`a\`)},
		{"escaped backslash", `[client]` + "\n" + `password=a\\sb`, password(`a\sb`)},
		{"equals", "[client]\npassword=a=b=", password("a=b=")},
		{"empty password", "[client]\npassword=", password("")},
		{"bare password", "[client]\npassword=x\npassword", Options{AskPassword: true}},
		{"password behind bare", "[client]\npassword\npassword=x", password("x")},
		{"skip-password", "[client]\npassword=x\nskip-password", password("")},
		{"loose", "[client]\nloose-ssl-mode=REQUIRED\nloose_user=bob", Options{SSLMode: Required, User: "bob"}},
		{"skip-ssl", "[client]\nssl-mode=REQUIRED\nskip-ssl", Options{SSLMode: Disabled}},
		{"ssl=0", "[client]\nssl=0", Options{SSLMode: Disabled}},
		{"disable-ssl", "[client]\ndisable-ssl", Options{SSLMode: Disabled}},
		{"ssl", "[client]\nssl", Options{SSLMode: Required}},
		{"ssl=on", "[client]\nssl=ON", Options{SSLMode: Required}},
		{"verify", "[client]\nssl-verify-server-cert", Options{SSLMode: VerifyIdentity}},
		{"no verify", "[client]\nssl-ca=x\nssl-verify-server-cert=0", Options{SSLCA: "x", SSLMode: Preferred}},
		{"verify no more", "[client]\nssl-verify-server-cert\nskip-ssl-verify-server-cert", Options{SSLMode: Required}},
		{"verify not disabled", "[client]\nskip-ssl\nssl-verify-server-cert=off", Options{SSLMode: Disabled}},
		{"off", "[client]\nget-server-public-key\nget-server-public-key=OFF\nenable-cleartext-plugin=true\nskip-enable-cleartext-plugin", Options{}},
		{"protocol", "[client]\nprotocol=socket", Options{Protocol: Socket}},
		{"skip value", "[client]\nuser=bob\nskip-user", Options{User: "bob"}},
		{"unknown directive", "[client]\n!incl x\nuser=bob", Options{User: "bob"}},
		{"port 0", "[client]\nport=0", Options{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var o Options
			warnings, err := o.ReadDefaults(write(t, filepath.Join(t.TempDir(), "my.cnf"), test.text), true)
			if err != nil || len(warnings) > 0 {
				t.Errorf("got %v, %q", err, warnings)
			}
			if o != test.want {
				t.Errorf("got  %s\nwant %s", fields(o), fields(test.want))
			}
		})
	}
}

func TestReadDefaultsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"user=bob":                         "1: option before any [group]",
		"\n\npassword=hunter2":             "3: option before any [group]",
		"[client\nuser=bob":                "1: group without a closing bracket",
		"[client]\nport=x":                 `2: port: got "x", want a port up to 65535`,
		"[client]\nport=65536":             `2: port: got "65536", want a port up to 65535`,
		"[client]\nport":                   "2: port: no value",
		"[client]\nhost":                   "2: host: no value",
		"[client]\nssl-mode=maybe":         `2: ssl-mode: got "maybe", want DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY`,
		"[client]\nprotocol=pipe":          `2: protocol: got "pipe", want tcp or socket`,
		"[client]\nconnect-timeout=1h":     `2: connect-timeout: got "1h", want seconds`,
		"[client]\nget_server_public_key=": `2: get-server-public-key: got "", want 1 or 0`,
		"!include":                         "1: !include without a path",
		"!includedir \t":                   "1: !includedir without a path",
	} {
		path := write(t, filepath.Join(t.TempDir(), "my.cnf"), text)
		for _, required := range []bool{false, true} {
			var o Options
			if _, err := o.ReadDefaults(path, required); err == nil || err.Error() != path+":"+want {
				t.Errorf("%q: got %v, want %s", text, err, want)
			}
		}
	}
	path := write(t, filepath.Join(t.TempDir(), "my.cnf"), strings.Repeat("#", maxOptionFile+1))
	if _, err := new(Options).ReadDefaults(path, true); err == nil || err.Error() != path+": more than 1048576 bytes" {
		t.Errorf("got %v", err)
	}
}

func TestReadDefaultsFiles(t *testing.T) {
	dir := t.TempDir()
	read := func(path string, required bool) (Options, []string, error) {
		var o Options
		warnings, err := o.ReadDefaults(path, required)
		return o, warnings, err
	}

	missing := filepath.Join(dir, "missing.cnf")
	if o, warnings, err := read(missing, false); o != (Options{}) || warnings != nil || err != nil {
		t.Errorf("missing: got %v, %q, %v", o, warnings, err)
	}
	if _, _, err := read(missing, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing and required: got %v", err)
	}
	if _, warnings, err := read(dir, false); err != nil || len(warnings) != 1 || !strings.HasSuffix(warnings[0], ": is a directory") {
		t.Errorf("a directory: got %q, %v", warnings, err)
	}
	if o, warnings, err := read(os.DevNull, true); o != (Options{}) || warnings != nil || err != nil {
		t.Errorf("%s: got %v, %q, %v", os.DevNull, o, warnings, err)
	}

	world := write(t, filepath.Join(dir, "world.cnf"), "[client]\nuser=eve")
	if err := os.Chmod(world, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, required := range []bool{false, true} {
		o, warnings, err := read(world, required)
		if want := []string{world + ": not read, because everybody may write to it"}; o != (Options{}) || !slices.Equal(warnings, want) || err != nil {
			t.Errorf("world-writable: got %v, %q, %v", o, warnings, err)
		}
	}

	// Files in directories are read in order of their names, where the directive stands.
	write(t, filepath.Join(dir, "d/20.cnf"), "[client]\nuser=b\nhost=db20")
	write(t, filepath.Join(dir, "d/10.cnf"), "[client]\nuser=a\nport=10")
	write(t, filepath.Join(dir, "d/30.cnf.bak"), "[client]\nuser=c")
	write(t, filepath.Join(dir, "one"), "[mysqld]\nuser=x\n[client]\nsocket=/one")
	top := write(t, filepath.Join(dir, "top.cnf"), fmt.Sprintf(
		"!includedir %[1]s/d\n[client]\nhost=top\n!include\t%[1]s/one\npassword=x\n! include %[1]s/gone\n!includedir %[1]s/gone\n!include %[1]s/world.cnf", dir))
	o, warnings, err := read(top, true)
	if want := (Options{User: "b", Host: "top", Port: 10, Socket: "/one", Password: "x", HasPassword: true}); o != want || err != nil {
		t.Errorf("got %s, %v\nwant %s", fields(o), err, fields(want))
	}
	if want := []string{
		top + ":6: open " + dir + "/gone: no such file or directory",
		top + ":7: open " + dir + "/gone: no such file or directory",
		world + ": not read, because everybody may write to it",
	}; !slices.Equal(warnings, want) {
		t.Errorf("got %q\nwant %q", warnings, want)
	}

	// A fault of an included file is told where it is.
	bad := write(t, filepath.Join(dir, "bad.cnf"), "[client]\nport=x")
	top = write(t, filepath.Join(dir, "top2.cnf"), "!include "+bad)
	if _, _, err := read(top, false); err == nil || err.Error() != bad+`:2: port: got "x", want a port up to 65535` {
		t.Errorf("got %v", err)
	}

	// One that includes itself ends at a depth, and with a width at a number.
	loop := filepath.Join(dir, "loop.cnf")
	write(t, loop, "!include "+loop+"\n[client]\nuser=bob")
	o, warnings, err = read(loop, true)
	if want := []string{loop + ":1: " + loop + " is not read, because files include each other more than 10 deep"}; o.User != "bob" || err != nil || !slices.Equal(warnings, want) {
		t.Errorf("got %v, %q, %v", o, warnings, err)
	}
	write(t, loop, strings.Repeat("!include "+loop+"\n", 3))
	if _, _, err = read(loop, true); err == nil || err.Error() != loop+": more than 1000 option files" {
		t.Errorf("got %v", err)
	}
}

func TestDefaultFiles(t *testing.T) {
	if got := DefaultFiles("/home/bob"); !slices.Equal(got, []string{"/etc/my.cnf", "/etc/mysql/my.cnf", "/home/bob/.my.cnf"}) {
		t.Errorf("got %q", got)
	}
	if got := DefaultFiles(""); !slices.Equal(got, []string{"/etc/my.cnf", "/etc/mysql/my.cnf"}) {
		t.Errorf("got %q", got)
	}
}

// FuzzDefaults reads files of any content. It must not panic, a fault must
// name its line, and a password that is written with quotes and escapes must be
// read back from behind it.
func FuzzDefaults(f *testing.F) {
	f.Add([]byte("[client]\nuser = bob # x\npassword=\"a\\\"#b\"\n!include x\n"), "a#b'\"\\s \n")
	f.Add([]byte("[mysqld\n"), "")
	f.Add([]byte("[bgcstat]\nskip-ssl\nport=99999999999\nssl=\n"), "\x00\xff")
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`)
	f.Fuzz(func(t *testing.T, data []byte, password string) {
		var o Options
		lines := 0
		take := func(line optionLine) error {
			if line.number < lines {
				t.Errorf("line %d behind line %d", line.number, lines)
			}
			lines = line.number
			if line.directive != "" {
				return nil
			}
			return o.set(line)
		}
		if err := parseOptions("f", data, take); err != nil {
			if !errors.Is(err, errOption) || !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("got %v", err)
			}
			return
		}
		data = append(data, "\n[client]\npassword = \""+escape.Replace(password)+"\" # \""...)
		before := o
		lines = 0
		if err := parseOptions("f", data, take); err != nil {
			t.Fatal(err)
		}
		if o.Password != password || !o.HasPassword || o.AskPassword {
			t.Errorf("password is %q, want %q", o.Password, password)
		}
		o.Password, o.HasPassword, o.AskPassword = before.Password, before.HasPassword, before.AskPassword
		if o != before {
			t.Errorf("read twice, the options change from %s to %s", fields(before), fields(o))
		}
	})
}
