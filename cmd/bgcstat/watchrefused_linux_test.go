package main

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"bgcstat/parser/servertest"
)

// refusal is a watch that ends at once: with one line that says why, and hints.
type refusal struct {
	name   string
	args   []string
	status int
	want   string // regular expression of the line, without "bgcstat: "
	hint   string // part of a hint; "" for none wanted
}

func (r *refusal) check(t *testing.T) {
	t.Helper()
	// Some places are refused behind the first event: a line must not come before, or be the last.
	cmd := child(append([]string{"watch", "--no-defaults", "--count", "1", "--interval", "1m", "--source", "none"}, r.args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait() // whose status is looked at
	if got := cmd.ProcessState.ExitCode(); got != r.status {
		t.Errorf("%s: status %d, want %d", r.name, got, r.status)
	}
	if strings.Contains(out.String()+errs.String(), secret) {
		t.Errorf("%s: the password was printed", r.name)
	}
	var said []string
	hinted := r.hint == ""
	for line := range strings.Lines(errs.String()) {
		line = strings.TrimSpace(line)
		switch text, ok := strings.CutPrefix(line, "bgcstat: "); {
		case !ok:
			t.Errorf("%s: line of another form: %s", r.name, line)
		case strings.HasPrefix(text, "hint: "):
			hinted = hinted || strings.Contains(text, r.hint)
		case strings.HasPrefix(text, "warning: "):
			t.Errorf("%s: %s", r.name, text)
		default:
			said = append(said, text)
		}
	}

	if len(said) != 1 || !regexp.MustCompile("^(?:"+r.want+")$").MatchString(said[0]) {
		t.Errorf("%s: got %q, want one line of %s", r.name, said, r.want)
	}
	if !hinted {
		t.Errorf("%s: no hint with %q", r.name, r.hint)
	}
	if r.status != statusDamaged && out.Len() > 0 {
		t.Errorf("%s: printed was\n%s", r.name, &out)
	}
}

// works looks at a watch that has an end, and gives what it says on stderr.
func works(t *testing.T, args ...string) (stderr string) {
	t.Helper()
	cmd := child(append([]string{"watch", "--no-defaults", "--count", "2", "--interval", "100ms", "--source", "none"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || !strings.HasPrefix(out.String(), watchHeader) && !strings.Contains(out.String(), "\n"+watchHeader) {
		t.Errorf("%q: %v\n%s%s", args, err, &out, &errs)
	}
	return errs.String()
}

// TestWatchRefused asks real servers for what they do not give.
func TestWatchRefused(t *testing.T) {
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			args := []string{"--binlog-format=ROW"}
			if kind.MySQL() {
				args = append(args, "--gtid-mode=OFF")
			}
			s := servertest.Start(t, kind, args...)
			monitor := map[bool]string{true: "REPLICATION CLIENT", false: "BINLOG MONITOR"}[kind.MySQL()]
			for user, grant := range map[string]string{"sb": "ALL", "none": "USAGE", "dumps": "REPLICATION SLAVE", "looks": monitor} {
				s.Exec(t, fmt.Sprintf("CREATE USER %s@localhost IDENTIFIED BY '%s'; GRANT %s ON *.* TO %[1]s@localhost", user, secret, grant))
			}
			s.Exec(t, "CREATE USER other@localhost IDENTIFIED BY 'another'; CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")
			s.Exec(t, "INSERT INTO d.t (v) VALUES (1); FLUSH BINARY LOGS; INSERT INTO d.t (v) VALUES (2); FLUSH BINARY LOGS; INSERT INTO d.t (v) VALUES (3)")
			logs := s.Binlogs(t)
			first, last := filepath.Base(logs[0]), filepath.Base(logs[len(logs)-1])
			closed := closedPort(t)
			grant := func(what, user string) string {
				return `.* \(error 1227\); for .* an administrator may run: GRANT ` + what + ` ON \*\.\* TO '` + user + `'@'localhost'`
			}
			replica := strconv.Itoa(startReplica(t, s))
			as := func(user string, more ...string) []string {
				return append([]string{"-S", s.Socket, "-u", user}, more...)
			}

			// 1. Not to be reached, and not let in.
			for _, r := range []refusal{
				{"password", as("other"), 1, `login as other@localhost via \S+/sock refused: Access denied for user 'other'@'localhost' \(using password: YES\)`, ""},
				{"host", []string{"-u", "sb", "-h", "nohost.invalid"}, 1, `connect to sb@nohost\.invalid:3306: lookup nohost\.invalid.*: .*`, ""},
				{"closed port", []string{"-u", "sb", "-h", "127.0.0.1", "-P", closed}, 1, `connect to sb@127\.0\.0\.1:` + closed + `: connection refused`, ""},
				{"no socket", []string{"-u", "sb", "-S", "/nowhere/sock"}, 1, `connect to sb@localhost via /nowhere/sock: no such file or directory`, ""},
				{"no privilege", as("none", "--from", "oldest"), 1, "binlog dump: " + grant("REPLICATION SLAVE", "none"), ""},
				{"no dump", as("looks"), 1, "binlog dump: " + grant("REPLICATION SLAVE", "looks"), ""},
				{"own id", as("sb", "--server-id", "1"), 1, `server id is in use: 1 is that of the server or of one of its replicas`, "give another --server-id"},
				{"replica's id", as("sb", "--server-id", replica), 1, `server id is in use: ` + replica + ` is that of the server or of one of its replicas`, "give another --server-id"},
			} {
				r.check(t)
			}

			// 2. No such place.
			const offset = "--from LOG:OFFSET wants the offset of a transaction"
			for _, r := range []refusal{
				{"log", as("sb", "--from", "binlog.999999:4"), 1, `the server does not have binlog\.999999: Could not find first log file name in binary log index file \(error 1236\)`, "--from oldest"},
				{"end", as("sb", "--from", last+":99999999"), 1, `cannot begin at ` + last + `:99999999: the log ends at \d+`, offset},
				{"end of another", as("sb", "--from", first+":99999999"), 1, `cannot begin at ` + first + `:99999999: the log is shorter \(error 1236\)`, offset},
				{"end without privilege", as("dumps", "--from", last+":99999999"), 1, `cannot begin at ` + last + `:99999999: the log .*`, offset},
				{"end beyond 32 bits", as("sb", "--from", last+":9999999999"), 1, `cannot begin at ` + last + `:9999999999: the log ends at \d+`, offset},
				{"end of another beyond 32 bits", as("sb", "--from", first+":9999999999"), 1, `cannot begin at ` + first + `:9999999999: the log ends at \d+`, offset},
				{"first event", as("sb", "--from", first+":77"), 1, `cannot begin at ` + first + `:77: an event goes from 4 to \d+ there`, offset},
				{"event", as("sb", "--from", first+":300"), 1, `cannot begin at ` + first + `:300: no transaction begins there.*`, offset},
			} {
				r.check(t)
			}
			s.Exec(t, "PURGE BINARY LOGS TO '"+last+"'")
			(&refusal{"purged", as("sb", "--from", first), 1, `the server does not have ` + first + `: Could not find first log file name in binary log index file \(error 1236\)`, "--from oldest"}).check(t)

			// 3. GTIDs.
			const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
			if kind.MySQL() {
				(&refusal{"gtid_mode", as("sb", "--from", uuid+":1-5"), 1, `cannot begin behind a GTID set: gtid_mode is OFF`, "--from LOG:OFFSET"}).check(t)
				(&refusal{"gtid of the other", as("sb", "--from", "0-1-2"), 1, `GTID set is "0-1-2", want UUID:INTERVAL, as the server is MySQL`, ""}).check(t)
				for _, mode := range []string{"OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"} {
					s.Exec(t, "SET GLOBAL enforce_gtid_consistency = ON; SET GLOBAL gtid_mode = "+mode)
				}
				s.Exec(t, "INSERT INTO d.t (v) VALUES (4); FLUSH BINARY LOGS; INSERT INTO d.t (v) VALUES (5)")
				works(t, as("sb", "--from", uuid+":1-5")...)
				logs := s.Binlogs(t)
				s.Exec(t, "PURGE BINARY LOGS TO '"+filepath.Base(logs[len(logs)-1])+"'")
				(&refusal{"gtid purged", as("sb", "--from", uuid+":1-5"), 1, `the server does not have all that is behind the GTIDs: .*`, "--from oldest"}).check(t)
			} else {
				(&refusal{"gtid of the other", as("sb", "--from", uuid+":1-5"), 1, `GTID is "` + uuid + `:1-5", want domain-server-number, as the server is MariaDB`, ""}).check(t)
				(&refusal{"gtid to come", as("sb", "--from", "0-1-2000"), 1, `the server does not have all that is behind the GTIDs: .*0-1-2000.*`, "--from oldest"}).check(t)
				(&refusal{"gtid purged", as("sb", "--from", "0-1-1"), 1, `the server does not have all that is behind the GTIDs: .*`, "--from oldest"}).check(t)
				works(t, as("sb", "--from", strings.TrimSpace(s.Exec(t, "SELECT @@gtid_binlog_pos")))...)
			}

			// 4. With less, what can be done.
			if kind.MySQL() { // MariaDB tells everybody
				(&refusal{"position", as("dumps"), 1, "binlog position: " + grant(monitor, "dumps"), "--from oldest"}).check(t)
			} else {
				works(t, as("dumps")...)
			}
			logs = s.Binlogs(t)
			last = filepath.Base(logs[len(logs)-1])
			for _, from := range []string{"oldest", last, last + ":4"} {
				if got := works(t, as("dumps", "--from", from)...); strings.Contains(got, "hint: it is not noticed if the logs are reset: ") != kind.MySQL() {
					t.Errorf("said was\n%s", got)
				}
			}
			s.Exec(t, "SET GLOBAL binlog_format = STATEMENT")
			if got, want := works(t, as("sb")...), "bgcstat: warning: binlog_format is STATEMENT: "; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
				t.Errorf("of binlog_format=STATEMENT is said %q, want one line of %s", got, want)
			}

			// 5. A server without a binlog, and without TLS.
			args = []string{"--skip-log-bin"}
			if kind.MySQL() {
				args = append(args, "--tls-version=")
			}
			bare := servertest.Start(t, kind, args...)
			bare.Exec(t, "CREATE USER sb@localhost IDENTIFIED BY '"+secret+"'; CREATE USER sb@'127.0.0.1' IDENTIFIED BY '"+secret+"'")
			port := strconv.Itoa(bare.Port)
			(&refusal{"no binlog", []string{"-S", bare.Socket, "-u", "sb"}, 1, `no binlog: log_bin is OFF`, ""}).check(t)
			if kind != servertest.MariaDB118 { // which makes itself a certificate
				(&refusal{"no TLS", []string{"-h", "127.0.0.1", "-P", port, "-u", "sb", "--ssl-mode", "REQUIRED"}, 1, `login as sb@127\.0\.0\.1:` + port + `: the server offers no TLS, which ssl-mode REQUIRED needs`, ""}).check(t)
			}

			// 6. What is this program's own. The password is right, so that nothing else refuses.
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer taken.Close()
			(&refusal{"address", as("sb", "--web.listen-address", taken.Addr().String()), 1, `--web\.listen-address: listen tcp .*: bind: address already in use`, ""}).check(t)
		})
	}
}

// startReplica starts a replica of a server, and gives its id.
func startReplica(t *testing.T, s *servertest.Server) (id int) {
	t.Helper()
	args := []string{"--server-id=2"}
	if s.Kind.MySQL() {
		args = append(args, "--gtid-mode=OFF")
	}
	replica := servertest.Start(t, s.Kind, args...)
	hosts := "SHOW REPLICAS"
	if s.Kind.MySQL() {
		replica.Exec(t, fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=%d, SOURCE_USER='root', GET_SOURCE_PUBLIC_KEY=1; START REPLICA", s.Port))
	} else {
		hosts = "SHOW REPLICA HOSTS"
		replica.Exec(t, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='root', MASTER_USE_GTID=slave_pos, MASTER_SSL_VERIFY_SERVER_CERT=0; START SLAVE", s.Port))
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if strings.HasPrefix(s.Exec(t, hosts), "2\t") {
			return 2
		}
		if time.Now().After(deadline) {
			t.Fatal("the replica has not come")
		}
	}
}
