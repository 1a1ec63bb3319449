package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

func TestNoPasswordPrinted(t *testing.T) {
	o := Options{Host: "db1", User: "bob", SSLMode: Required}
	o.SetPassword("hunter2")
	const want = "bob@db1:3306 ssl-mode=REQUIRED (with a password)"
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%t"} {
		if got := fmt.Sprintf(verb, o); got != want {
			t.Errorf("%s prints %q, want %q", verb, got, want)
		}
		if got := fmt.Sprintf(verb, &o); got != want {
			t.Errorf("%s of a pointer prints %q, want %q", verb, got, want)
		}
		type holder struct {
			Options Options
			List    []Options
			Any     any
		}
		if got := fmt.Sprintf(verb, holder{o, []Options{o}, &o}); strings.Contains(got, "hunter2") || strings.Count(got, want) != 3 {
			t.Errorf("%s within a struct prints %q", verb, got)
		}
	}
	if o.String() != want || o.GoString() != want {
		t.Errorf("strings are %q and %q", o.String(), o.GoString())
	}
	if got, err := json.Marshal(o); err != nil || strings.Contains(string(got), "hunter2") {
		t.Errorf("JSON is %s, %v", got, err)
	}
	for _, err := range []error{fmt.Errorf("x: %w", &kindError{ErrLogin, "login as " + o.Target()}), o.check()} {
		if got := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(got, "hunter2") {
			t.Errorf("error is %s", got)
		}
	}
}

func TestTarget(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(t.TempDir(), "mysqld.sock")
	if err := os.WriteFile(sock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := socketPaths
	t.Cleanup(func() { socketPaths = old })
	socketPaths = []string{filepath.Join(t.TempDir(), "none"), sock}
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{}, me.Username + "@localhost via " + sock},
		{Options{User: "bob"}, "bob@localhost via " + sock},
		{Options{User: "bob", Host: "localhost"}, "bob@localhost via " + sock},
		{Options{User: "bob", Host: "localhost", Port: 3307}, "bob@localhost via " + sock},
		{Options{User: "bob", Host: "localhost", Port: 3307, Protocol: TCP}, "bob@localhost:3307"},
		{Options{User: "bob", Protocol: TCP}, "bob@localhost:3306"},
		{Options{User: "bob", Socket: "/x.sock"}, "bob@localhost via /x.sock"},
		{Options{User: "bob", Socket: "/x.sock", Host: "db1"}, "bob@db1:3306"},
		{Options{User: "bob", Socket: "/x.sock", Host: "db1", Protocol: Socket}, "bob@localhost via /x.sock"},
		{Options{User: "bob", Host: "127.0.0.1"}, "bob@127.0.0.1:3306"},
		{Options{User: "bob", Host: "::1", Port: 3307}, "bob@[::1]:3307"},
	} {
		if got := test.o.Target(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	socketPaths = []string{"/none/first", "/none/second"}
	if got := (Options{User: "bob"}).Target(); got != "bob@localhost via /none/first" {
		t.Errorf("got %q", got)
	}
}

func TestReadEnv(t *testing.T) {
	env := map[string]string{"MYSQL_HOST": "db1", "MYSQL_TCP_PORT": "3307", "MYSQL_UNIX_PORT": "/x.sock", "MYSQL_PWD": "hunter2"}
	getenv := func(k string) string { return env[k] }
	var o Options
	if err := o.ReadEnv(getenv); err != nil {
		t.Fatal(err)
	}
	if want := (Options{Host: "db1", Port: 3307, Socket: "/x.sock", Password: "hunter2", HasPassword: true}); o != want {
		t.Errorf("got %s %d %s %q", o.Host, o.Port, o.Socket, o.Password)
	}
	env["MYSQL_TCP_PORT"] = "33o7"
	if err := o.ReadEnv(getenv); err == nil || err.Error() != `MYSQL_TCP_PORT: got "33o7", want a port up to 65535` {
		t.Errorf("got %v", err)
	}
	o = Options{}
	if err := o.ReadEnv(func(string) string { return "" }); err != nil || o != (Options{}) {
		t.Errorf("got %v, %v of an empty environment", o, err)
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Port: 65536}, "port: got 65536, want up to 65535"},
		{Options{Port: -1}, "port: got -1, want up to 65535"},
		{Options{SSLMode: "SOME"}, `ssl-mode: got "SOME", want DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY`},
		{Options{SSLCert: "x"}, "ssl-cert and ssl-key: got one, want both"},
	} {
		if _, err := Connect(t.Context(), test.o); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for _, test := range []struct {
		text, comment, want string
	}{
		{"9.7.0", "MySQL Community Server - GPL", "mysql 9.7.0"},
		{"8.0.36-28", "Percona Server (GPL)", "mysql 8.0.36"},
		{"8.0.mysql_aurora.3.04.0", "Source distribution", "mysql 8.0.0"},
		{"5.7.44-log", "", "mysql 5.7.44"},
		{"10.11.6-MariaDB-log", "", "mariadb 10.11.6"},
		{"5.5.5-10.4.34-MariaDB-1:10.4.34+maria~ubu2004-log", "", "mariadb 10.4.34"},
		{"5.5.5-m3", "", "mysql 5.5.5"},
		{"11.8.2", "MariaDB Server", "mariadb 11.8.2"},
		{"99999999999999999999.1.1", "", ""},
		{"8", "", ""},
		{"", "", ""},
		{"x8.0.1", "", ""},
		{"8..1", "", ""},
	} {
		v, err := parseVersion(test.text, test.comment)
		got := fmt.Sprintf("%s %d.%d.%d", v.Flavor, v.Major, v.Minor, v.Patch)
		if test.want == "" && err == nil || test.want != "" && (err != nil || got != test.want) || v.Text != test.text {
			t.Errorf("%q: got %s, %v, want %q", test.text, got, err, test.want)
		}
	}
	v := Version{Major: 8, Minor: 2}
	if !v.AtLeast(8, 2) || !v.AtLeast(5, 7) || v.AtLeast(8, 3) || v.AtLeast(9, 0) {
		t.Errorf("%v is not compared by its numbers", v)
	}
}

func TestQuoteAccount(t *testing.T) {
	for account, want := range map[string]string{
		"mon@%":           `'mon'@'%'`,
		"a@b@localhost":   `'a@b'@'localhost'`,
		`o'b\@10.0.0.0/8`: `'o''b\\'@'10.0.0.0/8'`,
		"@localhost":      `''@'localhost'`,
		"":                `''@''`,
	} {
		if got := quoteAccount(account); got != want {
			t.Errorf("%s: got %s, want %s", account, got, want)
		}
	}
}

func TestGrantByVersion(t *testing.T) {
	for _, test := range []struct {
		version Version
		sql     string
		want    string
	}{
		{Version{Flavor: MariaDB, Major: 10, Minor: 4}, "show master status", "GRANT REPLICATION CLIENT ON *.* TO 'mon'@'%'"},
		{Version{Flavor: MariaDB, Major: 10, Minor: 5}, "SHOW MASTER STATUS", "GRANT BINLOG MONITOR ON *.* TO 'mon'@'%'"},
		{Version{Flavor: MySQL, Major: 8, Minor: 0}, "SHOW MASTER STATUS", "GRANT REPLICATION CLIENT ON *.* TO 'mon'@'%'"},
		{Version{Flavor: MySQL, Major: 8, Minor: 0}, "BINLOG DUMP", "GRANT REPLICATION SLAVE ON *.* TO 'mon'@'%'"},
		{Version{Flavor: MySQL, Major: 8, Minor: 0}, "SELECT 1", ""},
	} {
		c := &Conn{version: test.version, account: "mon@%"}
		if got, purpose := c.Grant(test.sql); got != test.want || (got == "") != (purpose == "") {
			t.Errorf("%v, %s: got %q for %q, want %q", test.version, test.sql, got, purpose, test.want)
		}
		err := c.explain(test.sql, &serverError{1227, "Access denied"})
		if _, ok := errors.AsType[*PrivilegeError](err); ok != (test.want != "") {
			t.Errorf("%v, %s: got %v", test.version, test.sql, err)
		}
		if _, ok := errors.AsType[*PrivilegeError](c.explain(test.sql, &serverError{1064, "syntax"})); ok {
			t.Errorf("%s: a syntax error is no want of a privilege", test.sql)
		}
	}
}
