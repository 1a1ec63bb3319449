package servertest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Kind is a server that tests may start.
type Kind int

// The servers known.
const (
	MySQL97     Kind = iota // MySQL 9.7, in the tree BGCSTAT_MYSQL97_ROOT (default /opt/mysql-9.7)
	MariaDB1011             // MariaDB 10.11, the mariadbd in PATH
	MariaDB118              // MariaDB 11.8, in the tree BGCSTAT_MARIADB118_ROOT (default /opt/mariadb-11.8)
)

// Kinds holds every Kind, for tests that run on all.
var Kinds = []Kind{MySQL97, MariaDB1011, MariaDB118}

// Some returns the Kinds for a test that takes long: all of them, but under -short, as when the race detector makes all slow,
// only the first.
func Some() []Kind {
	if testing.Short() {
		return Kinds[:1]
	}
	return Kinds
}

// String returns the name and version, fit for the name of a subtest.
func (k Kind) String() string {
	switch k {
	case MySQL97:
		return "mysql-9.7"
	case MariaDB1011:
		return "mariadb-10.11"
	case MariaDB118:
		return "mariadb-11.8"
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// MySQL reports whether k is a MySQL and not a MariaDB.
func (k Kind) MySQL() bool { return k == MySQL97 }

// install says where a kind's programs are and where its directories go.
type install struct {
	kind                   Kind
	root                   string // tree to chroot into, as a host path; "" for the host's own
	tmp                    string // host path of the directory for templates and running servers
	server, client, binlog string // programs, as seen inside root
	systemSQL              string // MariaDB: path inside root of an SQL script that makes system tables; %s is its name
	logBin                 string // value of --log-bin, without a directory: base name of the binlogs
}

const (
	runPrefix      = "bgcstat-run-"      // a running server's directory: prefix, process id of the test, "-", random
	templatePrefix = "bgcstat-template-" // an initialised data directory
)

// find returns the installation of kind, or why it cannot be used here.
func find(kind Kind) (install, error) {
	in := install{kind: kind, logBin: "mariadb-bin"}
	switch kind {
	case MySQL97:
		in.root = cmp.Or(os.Getenv("BGCSTAT_MYSQL97_ROOT"), "/opt/mysql-9.7")
		in.server, in.client, in.binlog = "/usr/sbin/mysqld", "/usr/bin/mysql", "/usr/bin/mysqlbinlog"
		in.logBin = "binlog"
	case MariaDB118:
		in.root = cmp.Or(os.Getenv("BGCSTAT_MARIADB118_ROOT"), "/opt/mariadb-11.8")
		in.server, in.client, in.binlog = "/usr/sbin/mariadbd", "/usr/bin/mariadb", "/usr/bin/mariadb-binlog"
		in.systemSQL = "/usr/share/mariadb/mariadb_%s.sql"
	case MariaDB1011:
		for prog, path := range map[string]*string{
			"mariadbd": &in.server, "mariadb": &in.client, "mariadb-binlog": &in.binlog,
		} {
			var err error
			if *path, err = exec.LookPath(prog); err != nil {
				return in, err
			}
		}
		out, err := exec.Command(in.server, "--version").Output()
		if err != nil {
			return in, fmt.Errorf("%s --version: %w", in.server, err)
		}
		if !strings.Contains(string(out), "10.11.") {
			return in, fmt.Errorf("%s is another version: %s", in.server, strings.TrimSpace(string(out)))
		}
		in.systemSQL = "/usr/share/mysql/mysql_%s.sql"
		in.tmp = os.TempDir()
		return in, nil
	default:
		return in, fmt.Errorf("unknown kind %d", kind)
	}
	in.root = filepath.Clean(in.root)
	in.tmp = filepath.Join(in.root, "tmp")
	if os.Geteuid() != 0 {
		return in, errors.New("needs root, for chroot")
	}
	_, err := os.Stat(filepath.Join(in.root, in.server))
	return in, err
}

// inside turns a host path, alone or as an option's value, into what programs inside the tree see.
func (in install) inside(arg string) string {
	if in.root == "" {
		return arg
	}
	return strings.Replace(arg, in.root+"/", "/", 1)
}

// command returns prog, a path inside the tree, ready to run there. Linux kills it when the thread that starts it ends.
func (in install) command(prog string, args ...string) *exec.Cmd {
	cmd := exec.Command(prog, args...)
	cmd.SysProcAttr = attr(in.root)
	if in.root != "" {
		cmd.Dir = "/"
	}
	return cmd
}

// serverArgs returns the options that initialisation and every start have in common. They make a small server that starts
// fast; none bears on the binlog or on what is synced when.
func (in install) serverArgs() []string {
	args := []string{"--no-defaults", "--innodb-buffer-pool-size=32M"}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	if in.kind.MySQL() {
		return append(args, "--mysqlx=OFF", "--secure-file-priv=NULL", "--innodb-redo-log-capacity=8M")
	}
	return append(args, "--innodb-log-file-size=8M")
}

// template returns the host path of an initialised data directory for copyTree, made now if there is none for this very
// server program. Any number of processes may call it at once.
func (in install) template() (string, error) {
	prog, err := os.Stat(filepath.Join(in.root, in.server))
	if err != nil {
		return "", err
	}
	// Size and time tell builds apart; the user is in the name because the files are his.
	dir := filepath.Join(in.tmp, fmt.Sprintf("%s%v-%x-%x-%d", templatePrefix, in.kind, prog.Size(), prog.ModTime().Unix(), os.Geteuid()))
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close() // and so unlocks
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}
	if err := in.initialise(part); err != nil {
		return "", err
	}
	// Each copy must draw a server UUID of its own.
	if err := os.Remove(filepath.Join(part, "auto.cnf")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	// Logs of the initialisation are no part of a test's binlog.
	for _, glob := range []string{in.logBin + ".*", "*.err"} {
		files, _ := filepath.Glob(filepath.Join(part, glob))
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				return "", err
			}
		}
	}
	return dir, os.Rename(part, dir)
}

// initialise makes a data directory at the host path dir.
func (in install) initialise(dir string) error {
	args := append(in.serverArgs(), "--datadir="+in.inside(dir))
	if in.kind.MySQL() {
		_, err := output(in.command(in.server, append(args, "--initialize-insecure")...))
		return err
	}
	// What mariadb-install-db does, without the help texts and the sys schema. The script itself needs a shell and sed, which
	// the tree need not hold.
	sql := []byte("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")
	for _, name := range []string{"system_tables", "performance_tables", "system_tables_data"} {
		b, err := os.ReadFile(filepath.Join(in.root, fmt.Sprintf(in.systemSQL, name)))
		if err != nil {
			return err
		}
		sql = append(sql, b...)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	cmd := in.command(in.server, append(args, "--bootstrap", "--enforce-storage-engine=")...)
	cmd.Stdin = bytes.NewReader(sql)
	_, err := output(cmd)
	return err
}

// copyTree copies the directory tree src to dst, which must not exist.
func copyTree(dst, src string) error {
	if err := os.Mkdir(dst, 0o755); err != nil {
		return err
	}
	return os.CopyFS(dst, os.DirFS(src))
}

// copyFile copies the file src to dst, which must not exist.
func copyFile(dst, src string) error {
	b, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	return os.WriteFile(dst, b, 0o644)
}

// removeStale removes the directories in tmp of servers whose test process is gone. The kernel has killed those servers.
func removeStale(tmp string) {
	dirs, _ := filepath.Glob(filepath.Join(tmp, runPrefix+"*"))
	for _, dir := range dirs {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), runPrefix), "-")
		if pid, err := strconv.Atoi(owner); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
}
