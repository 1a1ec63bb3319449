package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bgcstat/parser/servertest"
)

const secret = "s3cr\u00e9t'\"\\ #!"

// each runs f on every real server, with args on its command line.
func each(t *testing.T, f func(*testing.T, *servertest.Server), args ...string) {
	for _, kind := range servertest.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			f(t, servertest.Start(t, kind, args...))
		})
	}
}

func onSocket(s *servertest.Server, user string) Options {
	return Options{Socket: s.Socket, User: user}
}

func onTCP(s *servertest.Server, user string) Options {
	return Options{Host: "127.0.0.1", Port: s.Port, User: user}
}

func with(o Options, change func(*Options)) Options {
	change(&o)
	return o
}

func connect(t *testing.T, o Options) *Conn {
	t.Helper()
	c, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// refused connects in vain and returns the text of the error.
func refused(t *testing.T, o Options, kind error) string {
	t.Helper()
	c, err := Connect(t.Context(), o)
	if err == nil {
		c.Close()
		t.Fatalf("%v: connected, want %v", o, kind)
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("%v: got %v, want %v", o, err, kind)
	}
	if text := fmt.Sprintf("%v %+v %#v %q", err, err, err, err); strings.Contains(text, secret) {
		t.Errorf("%v: the error holds the password: %s", o, text)
	}
	return err.Error()
}

func one(t *testing.T, c *Conn, sql string, args ...any) Row {
	t.Helper()
	rows, err := c.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 {
		t.Fatalf("%s: got %d rows, want 1", sql, len(rows))
	}
	return rows[0]
}

// literal writes a string for SQL.
func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// cipher is that of the session, empty without TLS.
func cipher(t *testing.T, c *Conn) string {
	return one(t, c, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")["Value"]
}

func TestSession(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server) {
		c := connect(t, onSocket(s, "root"))
		if got, want := c.Target(), "root@localhost via "+s.Socket; got != want {
			t.Errorf("target is %q, want %q", got, want)
		}
		if got := connect(t, onTCP(s, "root")).Target(); got != "root@"+s.Addr() {
			t.Errorf("target is %q, want root@%s", got, s.Addr())
		}
		want := map[servertest.Kind]string{
			servertest.MySQL97: "mysql 9.7", servertest.MariaDB1011: "mariadb 10.11", servertest.MariaDB118: "mariadb 11.8",
		}[s.Kind]
		v := c.Version()
		if got := fmt.Sprintf("%s %d.%d", v.Flavor, v.Major, v.Minor); got != want {
			t.Errorf("version is %s, want %s", got, want)
		}
		if own := strings.TrimSpace(s.Exec(t, "SELECT VERSION()")); v.Text != own || !strings.HasPrefix(own, fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)) {
			t.Errorf("version is %+v, the server's own client says %q", v, own)
		}
		if c.Account() != "root@localhost" {
			t.Errorf("account is %q, want root@localhost", c.Account())
		}
		row := one(t, c, "SELECT 'a\u00e9\U0001f600' AS s, NULL AS n, '' AS e, 18446744073709551615 AS u, -1 AS i, 1.50 AS d, @@autocommit AS ac, @@character_set_client AS cs")
		for name, want := range map[string]string{"s": "a\u00e9\U0001f600", "e": "", "u": "18446744073709551615", "i": "-1", "d": "1.50", "ac": "1", "cs": "utf8mb4"} {
			if got, ok := row[name]; got != want || !ok {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if _, ok := row["n"]; ok || len(row) != 7 {
			t.Errorf("row is %v, want 7 columns that are not NULL", row)
		}
		row = one(t, c, "SELECT ? AS s, ? + 1 AS i, ? AS n", secret, int64(41), nil)
		if row["s"] != secret || row["i"] != "42" || len(row) != 2 {
			t.Errorf("row is %q", row)
		}
		if rows, err := c.Query(t.Context(), "DO 1"); len(rows) != 0 || err != nil {
			t.Errorf("got %v, %v of a statement without a result", rows, err)
		}
		// A statement that the server does not understand is no reason to lose the connection.
		if _, err := c.Query(t.Context(), "SELEKT 1"); err == nil || errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "(error 1064)") {
			t.Errorf("got %v, want error 1064", err)
		}
		if row := one(t, c, "SELECT attr_value AS v FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID() AND attr_name = 'program_name'"); row["v"] != "bgcstat" {
			t.Errorf("program_name is %q, want bgcstat", row["v"])
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.Query(t.Context(), "SELECT 1"); !errors.Is(err, ErrLost) {
			t.Errorf("got %v of a closed connection, want ErrLost", err)
		}
		c.Close()
	}, "--performance-schema=ON", "--autocommit=0")
}

// TestUser logs in without a user's name.
func TestUser(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server) {
		me, err := user.Current()
		if err != nil {
			t.Fatal(err)
		}
		s.Exec(t, "CREATE USER IF NOT EXISTS "+literal(me.Username)+"@'localhost'")
		c := connect(t, Options{Socket: s.Socket})
		if got, want := c.Account(), me.Username+"@localhost"; got != want {
			t.Errorf("account is %q, want %q", got, want)
		}
	})
}

func TestPasswords(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server) {
		var users []string
		if s.Kind.MySQL() {
			s.Exec(t, "CREATE USER bob@'%' IDENTIFIED WITH caching_sha2_password BY "+literal(secret))
			users = []string{"bob"}
		} else {
			s.Exec(t, "INSTALL SONAME 'auth_ed25519'")
			s.Exec(t, "CREATE USER bob@'%' IDENTIFIED BY "+literal(secret))
			s.Exec(t, "CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD("+literal(secret)+")")
			users = []string{"bob", "ed"}
		}
		for _, user := range users {
			for _, o := range []Options{onSocket(s, user), onTCP(s, user)} {
				o.GetServerPublicKey = true
				if text, want := refused(t, o, ErrLogin), "login as "+o.Target()+" refused: Access denied for user '"+user+"'@'localhost'"; !strings.HasPrefix(text, want) {
					t.Errorf("got %q, want %q", text, want)
				}
				o.SetPassword("x" + secret)
				refused(t, o, ErrLogin)
				o.SetPassword(secret)
				c := connect(t, o)
				if c.Account() != user+"@%" {
					t.Errorf("account is %q, want %s@%%", c.Account(), user)
				}
				for _, verb := range []string{"%v", "%+v", "%#v"} {
					if text := fmt.Sprintf(verb+" "+verb, c, *c); strings.Contains(text, secret) || strings.Contains(text, strconv.Quote(secret)) {
						t.Errorf("%s of a connection prints the password", verb)
					}
				}
				c.Close()
			}
		}
	})
}

// TestCachingSHA2 sends a password that is not in the server's cache.
func TestCachingSHA2(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.MySQL97)
	s.Exec(t, "CREATE USER bob@'%' IDENTIFIED WITH caching_sha2_password BY "+literal(secret))
	forget := func() { s.Exec(t, "FLUSH PRIVILEGES") }
	tcp := onTCP(s, "bob")
	tcp.SetPassword(secret)
	plain := with(tcp, func(o *Options) { o.SSLMode = Disabled })

	forget()
	want := "login as bob@" + s.Addr() + ": caching_sha2_password needs an encrypted connection or the server's public key; use --ssl-mode=REQUIRED or --get-server-public-key"
	if text := refused(t, plain, ErrLogin); text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	c := connect(t, with(plain, func(o *Options) { o.GetServerPublicKey = true }))
	if got := cipher(t, c); got != "" {
		t.Errorf("cipher is %q without TLS", got)
	}
	connect(t, plain) // it is in the cache now
	forget()
	if got := cipher(t, connect(t, with(tcp, func(o *Options) { o.SSLMode = Required }))); got == "" {
		t.Error("no cipher with ssl-mode REQUIRED")
	}
	forget()
	if got := cipher(t, connect(t, tcp)); got == "" {
		t.Error("no cipher with ssl-mode PREFERRED, and the server offers TLS")
	}
	forget()
	socket := onSocket(s, "bob")
	socket.SetPassword(secret)
	if got := cipher(t, connect(t, socket)); got != "" {
		t.Errorf("cipher is %q on a socket", got)
	}
	forget()
	if got := cipher(t, connect(t, with(socket, func(o *Options) { o.SSLMode = Required }))); got == "" {
		t.Error("no cipher on a socket with ssl-mode REQUIRED")
	}
}

// TestSHA256 logs in with the plugin that caching_sha2_password replaced.
func TestSHA256(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.MySQL97)
	s.Exec(t, "CREATE USER bob@'%' IDENTIFIED WITH sha256_password BY "+literal(secret))
	tcp, socket := onTCP(s, "bob"), onSocket(s, "bob")
	tcp.SetPassword(secret)
	socket.SetPassword(secret)
	plain := with(tcp, func(o *Options) { o.SSLMode = Disabled })
	connect(t, tcp)
	connect(t, with(socket, func(o *Options) { o.SSLMode = Required }))
	connect(t, with(plain, func(o *Options) { o.GetServerPublicKey = true }))
	refused(t, plain, ErrLogin)
	if got, want := refused(t, socket, ErrLogin), "login as "+socket.Target()+": sha256_password needs an encrypted connection; use --ssl-mode=REQUIRED"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNoTLS is about a server that offers none.
func TestNoTLS(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.MariaDB1011, "--skip-ssl")
	s.Exec(t, "CREATE USER bob@'%'")
	if got := cipher(t, connect(t, onTCP(s, "bob"))); got != "" {
		t.Errorf("cipher is %q", got)
	}
	want := "login as bob@" + s.Addr() + ": the server offers no TLS, which ssl-mode REQUIRED needs"
	if got := refused(t, with(onTCP(s, "bob"), func(o *Options) { o.SSLMode = Required }), ErrLogin); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// certificate makes one for names, signed by parent or, without one, by itself.
func certificate(t *testing.T, path string, parent *x509.Certificate, key *ecdsa.PrivateKey, names ...string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: filepath.Base(path)},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: parent == nil, BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	if parent == nil {
		parent, key = c, own
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &own.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	bits, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		path + ".pem": {Type: "CERTIFICATE", Bytes: der},
		path + ".key": {Type: "PRIVATE KEY", Bytes: bits},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c, own
}

func TestTLS(t *testing.T) {
	each(t, func(t *testing.T, first *servertest.Server) {
		// The certificates must lie where the server sees them before it starts: in another server's directory.
		dir := first.DataDir
		inside := strings.TrimSpace(first.Exec(t, "SELECT @@datadir"))
		ca, key := certificate(t, filepath.Join(dir, "ca"), nil, nil)
		certificate(t, filepath.Join(dir, "server"), ca, key, "localhost", "db1.example")
		certificate(t, filepath.Join(dir, "client"), ca, key)
		certificate(t, filepath.Join(dir, "other"), nil, nil)
		s := servertest.Start(t, first.Kind, "--ssl-ca="+inside+"ca.pem", "--ssl-cert="+inside+"server.pem", "--ssl-key="+inside+"server.key")
		s.Exec(t, "CREATE USER bob@'%' IDENTIFIED BY "+literal(secret)+"; CREATE USER cert@'%' IDENTIFIED BY "+literal(secret)+" REQUIRE X509")
		pem := func(name string) string { return filepath.Join(dir, name+".pem") }
		tcp := func(user string, mode SSLMode, ca string) Options {
			o := onTCP(s, user)
			o.SetPassword(secret)
			o.SSLMode = mode
			if ca != "" {
				o.SSLCA = pem(ca)
			}
			return o
		}
		for _, o := range []Options{
			tcp("bob", "", ""),
			tcp("bob", Preferred, ""),
			tcp("bob", Required, ""),
			tcp("bob", Required, "other"), // nothing is verified
			tcp("bob", VerifyCA, "ca"),
			tcp("bob", "", "ca"),
			with(tcp("bob", VerifyIdentity, "ca"), func(o *Options) { o.Host, o.Protocol = "localhost", TCP }),
			with(tcp("bob", VerifyIdentity, "ca"), func(o *Options) { o.Protocol, o.Socket = Socket, s.Socket }),
			with(tcp("cert", VerifyCA, "ca"), func(o *Options) { o.SSLCert, o.SSLKey = pem("client"), filepath.Join(dir, "client.key") }),
		} {
			if cipher(t, connect(t, o)) == "" {
				t.Errorf("%v: not encrypted", o)
			}
		}
		at := "connect to bob@" + s.Addr() + ": "
		for _, test := range []struct {
			o    Options
			want string
		}{
			{tcp("bob", VerifyCA, "other"), at + "x509: certificate signed by unknown authority; --ssl-ca names the authority to trust"},
			{tcp("bob", "", "other"), at + "x509: certificate signed by unknown authority; --ssl-ca names the authority to trust"},
			{tcp("bob", VerifyCA, ""), at + "x509: certificate signed by unknown authority; --ssl-ca names the authority to trust"},
			{tcp("bob", VerifyIdentity, "ca"), at + "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs; --ssl-mode=VERIFY_CA does not compare the host"},
			{tcp("bob", "", "none"), "ssl-ca: open " + pem("none") + ": no such file or directory"},
			{with(tcp("bob", VerifyCA, ""), func(o *Options) { o.SSLCA = filepath.Join(dir, "ca.key") }), "ssl-ca: " + dir + "/ca.key holds no certificate in PEM form"},
		} {
			if got := refused(t, test.o, nil); got != test.want {
				t.Errorf("%v: got %q, want %q", test.o, got, test.want)
			}
		}
		refused(t, tcp("cert", VerifyCA, "ca"), ErrLogin)
		// Accounts that insist on TLS.
		s.Exec(t, "ALTER USER bob@'%' REQUIRE SSL")
		refused(t, tcp("bob", Disabled, ""), ErrLogin)
		connect(t, tcp("bob", "", ""))
	})
}

// TestOwnCertificates is about what MySQL makes when it is installed: signed
// by its own authority, and made out to no host.
func TestOwnCertificates(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.MySQL97)
	o := onTCP(s, "root")
	o.SSLCA = filepath.Join(s.DataDir, "ca.pem")
	if cipher(t, connect(t, o)) == "" {
		t.Error("not encrypted")
	}
	o.SSLMode = VerifyIdentity
	if got := refused(t, o, nil); !strings.HasSuffix(got, "; --ssl-mode=VERIFY_CA does not compare the host") {
		t.Errorf("got %q", got)
	}
}

// TestUnixSocketPlugin logs in as packages of MariaDB set root up.
func TestUnixSocketPlugin(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.MariaDB1011)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	account := literal(me.Username) + "@localhost"
	s.Exec(t, "CREATE USER IF NOT EXISTS "+account)
	for _, via := range []string{"unix_socket", "mysql_native_password USING 'invalid' OR unix_socket"} {
		s.Exec(t, "ALTER USER "+account+" IDENTIFIED VIA "+via)
		if got := connect(t, Options{Socket: s.Socket}).Account(); got != me.Username+"@localhost" {
			t.Errorf("account is %q", got)
		}
		refused(t, onTCP(s, me.Username), ErrLogin)
	}
}

func TestGrants(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server) {
		const account, quoted = "o'b\\mon@x", `'o''b\\mon@x'@'127.0.0.%'`
		s.Exec(t, "CREATE USER "+quoted)
		o := onTCP(s, account)
		position, sql := "GRANT BINLOG MONITOR ON *.* TO "+quoted, "SHOW MASTER STATUS"
		if s.Kind.MySQL() {
			position, sql = "GRANT REPLICATION CLIENT ON *.* TO "+quoted, "SHOW BINARY LOG STATUS"
		}
		for _, test := range []struct{ sql, purpose, grant string }{
			{sql, "the binlog position", position},
			{"SHOW BINARY LOGS", "the list of binlogs", position},
			{"SELECT COUNT(*) FROM performance_schema.file_summary_by_instance", "the performance schema", "GRANT SELECT ON performance_schema.* TO " + quoted},
			{"SELECT COUNT(*) FROM information_schema.innodb_metrics", "InnoDB's counters", "GRANT PROCESS ON *.* TO " + quoted},
			{"SHOW ENGINE INNODB STATUS", "InnoDB's status", "GRANT PROCESS ON *.* TO " + quoted},
		} {
			s.Exec(t, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM "+quoted)
			c := connect(t, o)
			_, err := c.Query(t.Context(), test.sql)
			e, ok := errors.AsType[*PrivilegeError](err)
			if !ok {
				t.Errorf("%s: got %v, want a PrivilegeError", test.sql, err)
				continue
			}
			if e.Grant != test.grant || e.Purpose != test.purpose {
				t.Errorf("%s: got %q for %s, want %q for %s", test.sql, e.Grant, e.Purpose, test.grant, test.purpose)
			}
			if !strings.HasSuffix(err.Error(), "; for "+test.purpose+" an administrator may run: "+test.grant) {
				t.Errorf("%s: the text is %q", test.sql, err)
			}
			s.Exec(t, e.Grant)
			if _, err := connect(t, o).Query(t.Context(), test.sql); err != nil {
				t.Errorf("%s: after %s: %v", test.sql, e.Grant, err)
			}
		}
		// What is refused for reasons of another kind is told as the server says it.
		_, err := connect(t, o).Query(t.Context(), "SELECT * FROM mysql.user")
		if _, ok := errors.AsType[*PrivilegeError](err); ok || err == nil || !strings.Contains(err.Error(), "(error 1142)") {
			t.Errorf("got %v, want error 1142", err)
		}
	}, "--performance-schema=ON")
}

// TestGerman holds that the server's language does not matter.
func TestGerman(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.MariaDB1011, "--lc-messages=de_DE")
	s.Exec(t, "CREATE USER mon@'%'")
	_, err := connect(t, onTCP(s, "mon")).Query(t.Context(), "SHOW BINARY LOGS")
	e, ok := errors.AsType[*PrivilegeError](err)
	if !ok || e.Grant != "GRANT BINLOG MONITOR ON *.* TO 'mon'@'%'" {
		t.Errorf("got %v", err)
	}
}

func TestSettings(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server) {
		s.Exec(t, "CREATE USER mon@'%'")
		c := connect(t, onTCP(s, "mon"))
		got, err := c.Settings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"sync_binlog": "7", "innodb_flush_log_at_trx_commit": "2", "server_id": "1", "log_bin": "ON", "port": strconv.Itoa(s.Port),
			"version": c.Version().Text, "innodb_io_capacity": "321", "binlog_checksum": "CRC32",
		}
		if s.Kind.MySQL() {
			want["binlog_order_commits"], want["binlog_group_commit_sync_delay"] = "ON", "0"
			want["innodb_redo_log_capacity"], want["log_replica_updates"] = "8388608", "ON"
		} else {
			want["binlog_commit_wait_count"], want["log_bin_compress"] = "0", "OFF"
			want["innodb_log_file_size"], want["log_slave_updates"], want["rpl_semi_sync_master_enabled"] = "8388608", "OFF", "OFF"
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s is %q, want %q", name, got[name], value)
			}
		}
		// All that the server has, with the values that its own client prints.
		own := map[string]string{}
		for line := range strings.Lines(s.Exec(t, "SHOW GLOBAL VARIABLES")) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			own[name] = value
		}
		present := 0
		for _, name := range settings {
			value, ok := own[name]
			if ok {
				present++
			}
			if g, has := got[name]; has != ok || g != value {
				t.Errorf("%s is %q (%v), the server's own client says %q (%v)", name, g, has, value, ok)
			}
		}
		if present != len(got) || present < 20 {
			t.Errorf("%d settings, want %d, and more than 20", len(got), present)
		}
	}, "--sync-binlog=7", "--innodb-flush-log-at-trx-commit=2", "--innodb-io-capacity=321")
}

func TestPosition(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server) {
		s.Exec(t, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")
		s.Exec(t, "CREATE USER mon@'%'")
		root, mon := connect(t, onSocket(s, "root")), connect(t, onTCP(s, "mon"))
		sql := "SHOW MASTER STATUS"
		if s.Kind.MySQL() {
			sql = "SHOW BINARY LOG STATUS"
		}
		for _, change := range []string{"DO 1", "INSERT INTO d.t VALUES (1)", "FLUSH BINARY LOGS", "CREATE TABLE d.u (id INT)", "INSERT INTO d.t VALUES (2)"} {
			s.Exec(t, change)
			if strings.HasPrefix(change, "FLUSH") {
				s.AwaitCheckpoint(t)
			}
			own := strings.Fields(s.Exec(t, sql))
			file, offset, err := root.Position(t.Context())
			if err != nil || file != own[0] || strconv.FormatInt(offset, 10) != own[1] {
				t.Errorf("after %s: %s:%d, %v, want %v", change, file, offset, err, own)
			}
			file, offset, err = mon.Position(t.Context())
			if s.Kind.MySQL() {
				if _, ok := errors.AsType[*PrivilegeError](err); !ok || !strings.HasPrefix(err.Error(), "binlog position: ") {
					t.Errorf("got %v, want a PrivilegeError", err)
				}
				continue
			}
			if err != nil || file != own[0] || strconv.FormatInt(offset, 10) != own[1] {
				t.Errorf("after %s, without privileges: %s:%d, %v, want %v", change, file, offset, err, own)
			}
		}
	})
}

func TestNoBinlog(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server) {
		if _, _, err := connect(t, onSocket(s, "root")).Position(t.Context()); err == nil || err.Error() != "binlog position: the server writes no binlog" {
			t.Errorf("got %v", err)
		}
		s.Exec(t, "CREATE USER mon@'%'")
		if _, _, err := connect(t, onTCP(s, "mon")).Position(t.Context()); err == nil {
			t.Error("a position without a binlog")
		}
	}, "--skip-log-bin")
}

func TestLost(t *testing.T) {
	each(t, func(t *testing.T, s *servertest.Server) {
		lost := func(t *testing.T, c *Conn, ctx context.Context, sql string) error {
			t.Helper()
			_, err := c.Query(ctx, sql)
			if !errors.Is(err, ErrLost) || !strings.HasPrefix(err.Error(), "lost connection to "+c.Target()+": ") {
				t.Errorf("got %v, want ErrLost", err)
			}
			if _, again := c.Query(t.Context(), "SELECT 1"); !errors.Is(again, ErrLost) || again.Error() != err.Error() {
				t.Errorf("got %v afterwards, want %v", again, err)
			}
			return err
		}
		// atWork runs end while the server sleeps for c.
		atWork := func(c *Conn, end func(id string)) {
			id := one(t, c, "SELECT CONNECTION_ID() AS id")["id"]
			go func() {
				for t.Context().Err() == nil {
					out, _ := s.Query("SELECT COUNT(*) FROM information_schema.processlist WHERE id = " + id + " AND info LIKE 'SELECT SLEEP(20)%'")
					if strings.TrimSpace(out) == "1" {
						end(id)
						return
					}
				}
			}()
		}
		kill := func(id string) { _, _ = s.Query("KILL " + id) }
		for _, o := range []Options{onSocket(s, "root"), onTCP(s, "root")} {
			c := connect(t, o)
			kill(one(t, c, "SELECT CONNECTION_ID() AS id")["id"])
			lost(t, c, t.Context(), "SELECT 1")

			c = connect(t, o)
			atWork(c, kill)
			lost(t, c, t.Context(), "SELECT SLEEP(20)")

			c = connect(t, o)
			ctx, cancel := context.WithCancel(t.Context())
			atWork(c, func(string) { cancel() })
			if err := lost(t, c, ctx, "SELECT SLEEP(20)"); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled", err)
			}

			// A context that has ended before costs nothing.
			c = connect(t, o)
			if _, err := c.Query(ctx, "SELECT 1"); !errors.Is(err, context.Canceled) || errors.Is(err, ErrLost) {
				t.Errorf("got %v, want context.Canceled alone", err)
			}
			one(t, c, "SELECT 1 AS i")
		}
		c := connect(t, onTCP(s, "root"))
		s.Kill()
		lost(t, c, t.Context(), "SELECT 1")
		if got, want := refused(t, onTCP(s, "root"), nil), "connect to root@"+s.Addr()+": connection refused"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		os.Remove(s.Socket)
		if got, want := refused(t, onSocket(s, "root"), nil), "connect to root@localhost via "+s.Socket+": no such file or directory"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
