package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bgcstat/parser/server"
	"bgcstat/parser/servertest"
)

// connecting gives what the flags in args make, and what is said on stderr.
func connecting(t *testing.T, args ...string) (server.Options, string, error) {
	t.Helper()
	var (
		got  server.Options
		errs bytes.Buffer
	)
	root := &cobra.Command{Use: "bgcstat", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().Bool("help", false, "print help")
	o := &connectOptions{}
	cmd := &cobra.Command{Use: "sample", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) (err error) {
		if given := cmd.Flags().NFlag() > 0; o.given(cmd.Flags()) != given {
			t.Errorf("%q: given is %v", args, !given)
		}
		got, err = o.options(&ui{stderr: &errs}, cmd.Flags())
		return err
	}}
	o.addFlags(cmd.Flags())
	root.AddCommand(cmd)
	root.SetArgs(gluedPassword(root, append([]string{"sample"}, args...)))
	err := root.Execute()
	return got, errs.String(), err
}

// noSurroundings takes the environment and the user's option file away. Those
// of the machine stay.
func noSurroundings(t *testing.T) (home string) {
	for _, name := range []string{"MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD"} {
		t.Setenv(name, "")
	}
	home = t.TempDir()
	t.Setenv("HOME", home)
	return home
}

func TestConnectFlags(t *testing.T) {
	noSurroundings(t)
	for _, test := range []struct {
		args string
		want server.Options
	}{
		{"", server.Options{}},
		{"-h db1 -P 3307 -u bob", server.Options{Host: "db1", Port: 3307, User: "bob", Protocol: server.TCP}},
		{"-hdb1 -P3307 -ubob", server.Options{Host: "db1", Port: 3307, User: "bob", Protocol: server.TCP}},
		{"--host=db1 --port 3307 --user bob", server.Options{Host: "db1", Port: 3307, User: "bob", Protocol: server.TCP}},
		{"-h localhost", server.Options{Host: "localhost"}},
		{"-h localhost -P 3307", server.Options{Host: "localhost", Port: 3307, Protocol: server.TCP}},
		{"-P 3307", server.Options{Port: 3307, Protocol: server.TCP}},
		{"-S /x.sock", server.Options{Socket: "/x.sock", Protocol: server.Socket}},
		{"-S /x.sock -h localhost -P 3307", server.Options{Socket: "/x.sock", Host: "localhost", Port: 3307, Protocol: server.Socket}},
		{"-S /x.sock -h 127.0.0.1", server.Options{Socket: "/x.sock", Host: "127.0.0.1", Protocol: server.TCP}},
		{"--protocol TCP", server.Options{Protocol: server.TCP}},
		{"--protocol socket -P 3307", server.Options{Port: 3307, Protocol: server.Socket}},
		{
			"--ssl-mode verify_ca --ssl-ca a --ssl-cert b --ssl-key c --get-server-public-key --enable-cleartext-plugin --connect-timeout 3",
			server.Options{
				SSLMode: server.VerifyCA, SSLCA: "a", SSLCert: "b", SSLKey: "c", GetServerPublicKey: true, EnableCleartextPlugin: true,
				ConnectTimeout: 3 * time.Second,
			},
		},
	} {
		got, said, err := connecting(t, append([]string{"--no-defaults"}, strings.Fields(test.args)...)...)
		if err != nil || said != "" || got != test.want {
			t.Errorf("%s: got %v %+v, %q, %v", test.args, got, got.Protocol, said, err)
		}
	}
	for args, want := range map[string]string{
		"-P x":                            `invalid argument "x" for "-P, --port" flag: must be a non-negative integer`,
		"--protocol pipe":                 `--protocol: got "pipe", want tcp or socket`,
		"--ssl-mode on":                   `--ssl-mode: got "on", want DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY`,
		"--ssl-cert x":                    "--ssl-cert and --ssl-key: got one, want both",
		"--no-defaults --defaults-file x": "--no-defaults, --defaults-file and --defaults-extra-file exclude each other",
		"--defaults-file /none":           "open /none: no such file or directory",
		"--defaults-extra-file /none":     "open /none: no such file or directory",
		"--defaults-file ~/none":          "open " + os.Getenv("HOME") + "/none: no such file or directory",
	} {
		if _, _, err := connecting(t, strings.Fields(args)...); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

func TestConnectPassword(t *testing.T) {
	noSurroundings(t)
	const warning = "bgcstat: warning: using a password on the command line can be insecure\n"
	for _, test := range []struct {
		args     []string
		password string
		has      bool
		said     string
	}{
		{nil, "", false, ""},
		{[]string{"-phunter2"}, "hunter2", true, warning},
		{[]string{"-p-h"}, "-h", true, warning},
		{[]string{"-p=x"}, "=x", true, warning},
		{[]string{"-p x=y "}, " x=y ", true, warning},
		{[]string{"-pp"}, "p", true, warning},
		{[]string{"--password=hunter2"}, "hunter2", true, warning},
		{[]string{"--password="}, "", true, ""},
		{[]string{"-u", "bob", "-phunter2", "-h", "db1"}, "hunter2", true, warning},
		{[]string{"-phunter2", "--password="}, "", true, ""},
		{[]string{"-u", "-px"}, "", false, ""},
		{[]string{"--user", "-px"}, "", false, ""},
	} {
		got, said, err := connecting(t, append([]string{"--no-defaults"}, test.args...)...)
		if err != nil || got.Password != test.password || got.HasPassword != test.has || said != test.said {
			t.Errorf("%q: got %q (%v), %q, %v", test.args, got.Password, got.HasPassword, said, err)
		}
	}
	if got, _, _ := connecting(t, "--no-defaults", "-u", "-px"); got.User != "-px" {
		t.Errorf("user is %q, want -px", got.User)
	}
	// What follows a bare -p is no password.
	if _, _, err := connecting(t, "-p", "hunter2"); err == nil || !strings.HasPrefix(err.Error(), "unknown command") {
		t.Errorf("got %v", err)
	}
	// No help, and no message about another flag, shows one.
	o := &connectOptions{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.addFlags(f)
	if err := f.Parse([]string{"--password=hunter2"}); err != nil {
		t.Fatal(err)
	}
	if usage := f.FlagUsages(); strings.Contains(usage, "hunter2") || !strings.Contains(usage, "-p, --password[=(asked for)]") {
		t.Errorf("the help is\n%s", usage)
	}
}

func TestGluedPassword(t *testing.T) {
	root := &cobra.Command{Use: "bgcstat"}
	with, without := &cobra.Command{Use: "with", Run: func(*cobra.Command, []string) {}}, &cobra.Command{Use: "without", Run: func(*cobra.Command, []string) {}}
	(&connectOptions{}).addFlags(with.Flags())
	with.Flags().BoolP("verbose", "v", false, "")
	without.Flags().StringP("print", "p", "", "")
	root.AddCommand(with, without)
	for args, want := range map[string]string{
		"with -px":            "with --password=x",
		"with -vpx":           "with -v --password=x",
		"with -p":             "with -p",
		"with -vp":            "with -vp",
		"with -upx":           "with -upx",
		"with -vu -px":        "with -vu -px",
		"with -zpx":           "with -zpx",
		"with -- -px":         "with -- -px",
		"with --password -px": "with --password --password=x",
		"with --user=a -px":   "with --user=a --password=x",
		"with -u":             "with -u",
		"with - -px":          "with - --password=x",
		"with --no-such -px":  "with --no-such --password=x",
		"without -px":         "without -px",
		"none -px":            "none -px",
		"":                    "",
	} {
		if got := gluedPassword(root, strings.Fields(args)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: got %q, want %s", args, got, want)
		}
	}
}

// TestConnectPrecedence takes one source after the other away: flag, user's
// file, extra file, environment.
func TestConnectPrecedence(t *testing.T) {
	home := noSurroundings(t)
	own, extra := filepath.Join(home, ".my.cnf"), filepath.Join(home, "extra.cnf")
	for path, text := range map[string]string{
		own:   "[client]\nuser=own\nport=3\npassword=own",
		extra: "[client]\nuser=extra\nport=2\npassword=extra\nhost=extra",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("MYSQL_HOST", "env")
	t.Setenv("MYSQL_TCP_PORT", "1")
	t.Setenv("MYSQL_PWD", "env")
	check := func(want string, args ...string) {
		t.Helper()
		got, _, err := connecting(t, args...)
		if s := strings.Join([]string{got.User, got.Host, strconv.Itoa(got.Port), got.Password}, " "); err != nil || s != want {
			t.Errorf("%q: got %s, %v, want %s", args, s, err, want)
		}
	}
	check("flag flag 4 flag", "--defaults-extra-file", extra, "-u", "flag", "-h", "flag", "-P", "4", "-pflag")
	check("own extra 3 own", "--defaults-extra-file", extra)
	check("extra extra 2 extra", "--defaults-file", extra)
	check("extra extra 2 extra", "--defaults-file", "~/extra.cnf")
	check(" env 1 env", "--no-defaults")
	check("flag  4 ", "--no-defaults", "-u", "flag", "-h", "", "-P", "4", "--password=")

	if err := os.Chmod(own, 0o666); err != nil {
		t.Fatal(err)
	}
	got, said, err := connecting(t, "--defaults-file", own)
	if want := "bgcstat: warning: " + own + ": not read, because everybody may write to it\n"; got.User != "" || said != want || err != nil {
		t.Errorf("got %v, %q, %v", got, said, err)
	}
	t.Setenv("MYSQL_TCP_PORT", "x")
	if _, _, err := connecting(t, "--no-defaults"); err == nil || err.Error() != `MYSQL_TCP_PORT: got "x", want a port up to 65535` {
		t.Errorf("got %v", err)
	}
}

func TestConnectServers(t *testing.T) {
	noSurroundings(t)
	for _, kind := range servertest.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			s := servertest.Start(t, kind)
			port := strconv.Itoa(s.Port)
			for _, args := range [][]string{
				{"-u", "root", "-S", s.Socket},
				{"-u", "root", "-h", "localhost", "-P", port},
				{"-u", "root", "-h", "127.0.0.1", "-P", port},
			} {
				o, _, err := connecting(t, append([]string{"--no-defaults"}, args...)...)
				if err != nil {
					t.Fatal(err)
				}
				c, err := server.Connect(t.Context(), o)
				if err != nil {
					t.Errorf("%q: %v", args, err)
					continue
				}
				c.Close()
			}
		})
	}
}
