package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bgcstat/parser/iosample"
	"bgcstat/parser/servertest"
)

// keyringDir names the directory that TestSampleEncrypted has made, to its
// child.
const keyringDir = "BGCSTAT_TEST_KEYRING"

// TestSampleEncrypted samples a server whose binlog is encrypted, and joins the
// trace to what the server itself gives of the log. The files of such a log are
// 512 bytes longer than their positions.
//
// A keyring is a component that is named in a file beside the server's program.
// The test must leave the installation alone, so it has one of its own in a
// mount namespace, which goes with the child that is in it.
func TestSampleEncrypted(t *testing.T) {
	needLoad(t)
	if dir := os.Getenv(keyringDir); dir != "" {
		testEncrypted(t, dir)
		return
	}
	root := filepath.Clean(cmp.Or(os.Getenv("BGCSTAT_MYSQL97_ROOT"), "/opt/mysql-9.7"))
	if _, err := os.Stat(filepath.Join(root, keyringPlugins, keyringComponent+".so")); err != nil {
		need(t, "needs MySQL with a keyring: %v", err)
	}
	dir, err := os.MkdirTemp(filepath.Join(root, "tmp"), "keyring-") // where programs can be linked to
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // nothing is mounted there, for this process
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestSampleEncrypted$", "-test.v")
	cmd.Env = append(os.Environ(), keyringDir+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSampleEncrypted") {
		t.Errorf("%v\n%s", err, out)
	}
}

const (
	keyringPlugins   = "usr/lib/mysql/plugin"
	keyringComponent = "component_keyring_file"
)

// mountKeyring makes an installation with a keyring in dir, of the one that
// dir is in the tmp of, and returns its root.
func mountKeyring(t *testing.T, dir string) string {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	from := filepath.Dir(filepath.Dir(dir))
	root, sbin, plugins := filepath.Join(dir, "root"), filepath.Join(dir, "sbin"), filepath.Join(dir, "plugin")
	for _, d := range []string{root, sbin, plugins} {
		check(os.Mkdir(d, 0o755))
	}
	// Programs are linked to, since copies were another installation to servertest.
	check(os.Link(filepath.Join(from, "usr/sbin/mysqld"), filepath.Join(sbin, "mysqld")))
	check(os.WriteFile(filepath.Join(sbin, "mysqld.my"), []byte(`{"components": "file://`+keyringComponent+`"}`), 0o444))
	for _, name := range []string{keyringComponent, "component_reference_cache"} {
		check(os.Link(filepath.Join(from, keyringPlugins, name+".so"), filepath.Join(plugins, name+".so")))
	}
	keys := strings.TrimPrefix(dir, from) + "/keys"
	check(os.WriteFile(filepath.Join(plugins, keyringComponent+".cnf"), []byte(`{"path": "`+keys+`", "read_only": false}`), 0o444))

	check(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	for _, m := range [][2]string{{from, root}, {sbin, filepath.Join(root, "usr/sbin")}, {plugins, filepath.Join(root, keyringPlugins)}} {
		check(syscall.Mount(m[0], m[1], "", syscall.MS_BIND, ""))
	}
	return root
}

func testEncrypted(t *testing.T, dir string) {
	root := mountKeyring(t, dir)
	t.Setenv("BGCSTAT_MYSQL97_ROOT", root)
	s := servertest.Start(t, servertest.MySQL97, "--sync-binlog=1", "--binlog-encryption=ON")
	prepare(t, s)
	samplings := map[string]*sampling{}
	for _, source := range []string{"bpf", "perf"} {
		samplings[source] = startSampling(t, from(s, source)...)
	}
	const updates = 1000
	sysbench(t, s, "run", "--events="+strconv.Itoa(updates))
	for _, p := range samplings {
		p.interrupt(t)
		// Nobody who only reads files can tell transactions there.
		if !strings.Contains(p.errs.String(), "bgcstat: hint: transactions are not counted: ") {
			t.Errorf("stderr is %s", &p.errs)
		}
	}

	// The server gives the log as it was before encryption.
	plain := filepath.Join(filepath.Dir(s.DataDir), "plain") + "/"
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	logs := s.Binlogs(t)
	for i, log := range logs {
		s.Binlog(t, "--read-from-remote-server", "--user=root", "--socket="+s.Socket, "--raw", "--result-file="+plain, filepath.Base(log))
		logs[i] = plain + filepath.Base(log)
	}
	bpf := samplings["bpf"].trace
	encrypted := false
	each(t, bpf, func(v *iosample.Interval) {
		for _, f := range v.Sample.Files {
			encrypted = encrypted || f.Encrypted != nil && *f.Encrypted
		}
	})
	if !encrypted {
		t.Error("the trace does not say that the log is encrypted")
	}
	r, rows := joinedTo(t, logs, bpf)
	checkTraced(t, r, rows, updates, 512, bpf)
	if r, _ := joinedTo(t, logs, samplings["perf"].trace); r.Transactions != updates || *r.IO.BinlogSyncsDurable > syncsOf(t, bpf, iosample.Binlog) {
		t.Errorf("perf: %d transactions by %d syncs: %+v", r.Transactions, *r.IO.BinlogSyncsDurable, r.Warnings)
	}

	// And gives it to analyze, too.
	names := []string{"-R", "--no-defaults", "-S", s.Socket, "-u", "root", "--to-last-log", filepath.Base(logs[0])}
	settings := []string{"--sync-binlog", "1", "--flush-log-at-trx-commit", "1", "--binlog-group-commit-sync-delay", "0", "--binlog-group-commit-sync-no-delay-count", "0"}
	remote := analyzed(t, names...)
	remote.Sources[len(logs)-1].Open = false // its own tool does not say so
	if got, want := normal(t, remote), normal(t, analyzed(t, append(settings, logs...)...)); got != want {
		t.Errorf("over the connection: %s", firstDifference(got, want))
	}
}
