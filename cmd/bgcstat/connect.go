package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"bgcstat/parser/server"
)

// connectOptions say which server to connect to, in the words of the mysql
// client. All commands that connect share them.
type connectOptions struct {
	host, socket, user            string
	port                          uint16
	password                      passwordFlag
	protocol                      string
	sslMode, sslCA, sslCert       string
	sslKey                        string
	getKey, cleartext, noDefaults bool
	defaultsFile, defaultsExtra   string
	timeout                       uint32
}

// connectFlags are the names of the flags.
var connectFlags = []string{
	"host", "port", "socket", "user", "password", "protocol", "defaults-file", "defaults-extra-file", "no-defaults",
	"ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "get-server-public-key", "enable-cleartext-plugin", "connect-timeout",
}

func (o *connectOptions) addFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.host, "host", "h", "", "connect to this `host`; localhost, the default, means the socket")
	f.Uint16VarP(&o.port, "port", "P", 0, "TCP `port` (default 3306); with it localhost means TCP")
	f.StringVarP(&o.socket, "socket", "S", "", "`path` of the server's socket")
	f.StringVarP(&o.user, "user", "u", "", "log in as this `user` (default: who you are on this machine)")
	f.VarP(&o.password, "password", "p", "password to log in with, -pPASSWORD or --password=PASSWORD; without a value it is asked for. Better in an option file")
	f.Lookup("password").NoOptDefVal = askForIt
	f.StringVar(&o.protocol, "protocol", "", "`tcp` or socket, where host and port leave a choice")
	f.StringVar(&o.defaultsFile, "defaults-file", "", "read options from this `file` only")
	f.StringVar(&o.defaultsExtra, "defaults-extra-file", "", "read options from this `file`, too, before ~/.my.cnf")
	f.BoolVar(&o.noDefaults, "no-defaults", false, "read no option files")
	f.StringVar(&o.sslMode, "ssl-mode", "", "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY: `mode` of encryption (default PREFERRED; VERIFY_CA with --ssl-ca)")
	f.StringVar(&o.sslCA, "ssl-ca", "", "PEM `file` of the authorities to trust (default: the system's)")
	f.StringVar(&o.sslCert, "ssl-cert", "", "PEM `file` of the certificate to show")
	f.StringVar(&o.sslKey, "ssl-key", "", "PEM `file` of its key")
	f.BoolVar(&o.getKey, "get-server-public-key", false, "ask the server for its RSA key where caching_sha2_password needs it: TCP without encryption")
	f.BoolVar(&o.cleartext, "enable-cleartext-plugin", false, "send the password in clear text to a server that asks for it, also without encryption")
	f.Uint32Var(&o.timeout, "connect-timeout", 0, "give up connecting after `seconds` (default 10)")
}

// given reports whether any flag says which server to connect to, or how.
func (o *connectOptions) given(f *pflag.FlagSet) bool {
	return slices.ContainsFunc(connectFlags, f.Changed)
}

// options gives what flags, option files and environment say together; the
// former win over the latter. It asks for the password where that is wanted.
func (o *connectOptions) options(u *ui, f *pflag.FlagSet) (server.Options, error) {
	var s server.Options
	if err := s.ReadEnv(os.Getenv); err != nil {
		return s, usageError("%v", err)
	}
	if err := o.readDefaults(u, &s); err != nil {
		return s, err
	}
	if err := o.take(u, f, &s); err != nil {
		return s, err
	}
	if s.AskPassword {
		password, err := askPassword()
		if err != nil {
			return s, fmt.Errorf("password: %w", err)
		}
		s.SetPassword(password)
	}
	return s, nil
}

// readDefaults reads the option files.
func (o *connectOptions) readDefaults(u *ui, s *server.Options) error {
	if o.noDefaults && (o.defaultsFile != "" || o.defaultsExtra != "") || o.defaultsFile != "" && o.defaultsExtra != "" {
		return usageError("--no-defaults, --defaults-file and --defaults-extra-file exclude each other")
	}
	if o.noDefaults {
		return nil
	}
	home, _ := os.UserHomeDir() // without one there is no file in it
	read := func(path string, required bool) error {
		// The shell leaves ~ alone in --defaults-file=~/my.cnf.
		if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
			path = filepath.Join(home, rest)
		}
		warnings, err := s.ReadDefaults(path, required)
		for _, w := range warnings {
			u.warningf("%s", w)
		}
		if err != nil {
			return usageError("%v", err)
		}
		return nil
	}
	if o.defaultsFile != "" {
		return read(o.defaultsFile, true)
	}
	files := server.DefaultFiles("")
	for _, path := range files {
		if err := read(path, false); err != nil {
			return err
		}
	}
	if o.defaultsExtra != "" {
		if err := read(o.defaultsExtra, true); err != nil {
			return err
		}
	}
	for _, path := range server.DefaultFiles(home)[len(files):] {
		if err := read(path, false); err != nil {
			return err
		}
	}
	return nil
}

// take puts the flags that were given over s.
func (o *connectOptions) take(u *ui, f *pflag.FlagSet, s *server.Options) error {
	for _, t := range []struct {
		name  string
		value string
		to    *string
	}{
		{"host", o.host, &s.Host},
		{"socket", o.socket, &s.Socket},
		{"user", o.user, &s.User},
		{"ssl-ca", o.sslCA, &s.SSLCA},
		{"ssl-cert", o.sslCert, &s.SSLCert},
		{"ssl-key", o.sslKey, &s.SSLKey},
	} {
		if f.Changed(t.name) {
			*t.to = t.value
		}
	}
	if f.Changed("port") {
		s.Port = int(o.port)
	}
	var err error
	switch {
	case f.Changed("protocol"):
		if s.Protocol, err = server.ParseProtocol(o.protocol); err != nil {
			return usageError("--protocol: %v", err)
		}
	// Who types one of these means it, whatever an option file says. The mysql
	// client of old passes over a port with localhost, to everybody's surprise.
	case f.Changed("host") && s.Host != "" && s.Host != "localhost":
		s.Protocol = server.TCP
	case f.Changed("socket"):
		s.Protocol = server.Socket
	case f.Changed("port"):
		s.Protocol = server.TCP
	}
	if f.Changed("ssl-mode") {
		if s.SSLMode, err = server.ParseSSLMode(o.sslMode); err != nil {
			return usageError("--ssl-mode: %v", err)
		}
	}
	if (s.SSLCert == "") != (s.SSLKey == "") {
		return usageError("--ssl-cert and --ssl-key: got one, want both")
	}
	if f.Changed("get-server-public-key") {
		s.GetServerPublicKey = o.getKey
	}
	if f.Changed("enable-cleartext-plugin") {
		s.EnableCleartextPlugin = o.cleartext
	}
	if f.Changed("connect-timeout") {
		s.ConnectTimeout = time.Duration(o.timeout) * time.Second
	}
	switch {
	case !f.Changed("password"):
	case o.password == askForIt:
		s.Ask()
	default:
		if o.password != "" {
			u.warningf("using a password on the command line can be insecure")
		}
		s.SetPassword(string(o.password))
	}
	return nil
}

// askForIt stands for a --password without a value. The help shows it.
const askForIt = "(asked for)"

// passwordFlag is the value of --password. The flag package prints it nowhere.
type passwordFlag string

func (p *passwordFlag) String() string     { return "" }
func (p *passwordFlag) Set(s string) error { *p = passwordFlag(s); return nil }
func (p *passwordFlag) Type() string       { return "" }

// gluedPassword writes -pPASSWORD as --password=PASSWORD. The flag package
// cannot do both that and a -p without a value: it would read the password as
// more flags, and print it in an error. It is for the arguments of root, before
// they are parsed.
func gluedPassword(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil {
		return args
	}
	f := cmd.Flags()
	if p := f.ShorthandLookup("p"); p == nil || p.Name != "password" {
		return args
	}
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		var flag *pflag.Flag // that takes the next argument as its value
		switch {
		case arg == "--":
			return append(out, args[i:]...)
		case strings.HasPrefix(arg, "--"):
			if !strings.Contains(arg, "=") {
				flag = f.Lookup(arg[2:])
			}
		case strings.HasPrefix(arg, "-"):
			// Several letters may follow one dash; the first that takes a value ends them.
			for j := 1; j < len(arg); j++ {
				known := f.ShorthandLookup(arg[j : j+1])
				if known == nil {
					break
				}
				if known.Name == "password" && j+1 < len(arg) {
					if j > 1 {
						out = append(out, arg[:j])
					}
					arg = "--password=" + arg[j+1:]
					break
				}
				if known.NoOptDefVal == "" {
					if j+1 == len(arg) {
						flag = known
					}
					break
				}
			}
		}
		out = append(out, arg)
		if flag != nil && flag.NoOptDefVal == "" && i+1 < len(args) {
			i++
			out = append(out, args[i])
		}
	}
	return out
}

// askPassword asks for a password on the terminal, whatever standard input is,
// and does not show what is typed.
func askPassword() (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", errors.New("to be asked for, and there is no terminal")
	}
	defer tty.Close()
	fd := int(tty.Fd())
	state, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	// An interrupt must not leave a terminal behind that shows nothing.
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	defer signal.Stop(interrupt)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case s := <-interrupt:
			_ = term.Restore(fd, state)
			signal.Reset(s)
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Signal(s)
			}
		case <-done:
		}
	}()
	fmt.Fprint(tty, "Enter password: ")
	password, err := term.ReadPassword(fd)
	fmt.Fprintln(tty)
	return string(password), err
}
