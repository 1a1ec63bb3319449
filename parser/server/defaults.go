package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Limits on option files, which may include each other.
const (
	maxOptionFile  = 1 << 20 // bytes of one
	maxOptionFiles = 1000    // of one call
	maxInclude     = 10      // depth, as in the clients
)

// DefaultFiles returns the option files that clients read, in their order: the
// later wins. One given by --defaults-extra-file belongs before that in home,
// the user's directory.
func DefaultFiles(home string) []string {
	files := []string{"/etc/my.cnf", "/etc/mysql/my.cnf"}
	if home != "" {
		files = append(files, filepath.Join(home, ".my.cnf"))
	}
	return files
}

// groups are the groups of an option file that are ours.
var groups = []string{"client", "client-server", "client-mariadb", "bgcstat"}

// ReadDefaults takes what the option file at path says in its groups [client],
// [client-server], [client-mariadb] and [bgcstat], over what o has; options
// that are not ours are passed over. A file that is missing is an error only
// if required. As with the clients, a file that everybody may write to is not
// read; that, and what cannot be included, is returned as warnings. An error
// reads "file:line: option: got and want" and shows no password.
func (o *Options) ReadDefaults(path string, required bool) (warnings []string, err error) {
	r := defaultsReader{options: o}
	if err := r.file(path, 0); err != nil {
		if errors.Is(err, fs.ErrNotExist) && !required {
			return r.warnings, nil
		}
		if !errors.Is(err, errOption) && !required {
			return append(r.warnings, err.Error()), nil
		}
		return r.warnings, err
	}
	return r.warnings, nil
}

// errOption marks a fault in what an option file says.
var errOption = errors.New("option file")

type defaultsReader struct {
	options  *Options
	warnings []string
	files    int
}

// file reads one file. Errors of reading it are those of the system; those in
// it wrap errOption.
func (r *defaultsReader) file(path string, depth int) error {
	if r.files++; r.files > maxOptionFiles {
		return &kindError{errOption, fmt.Sprintf("%s: more than %d option files", path, maxOptionFiles)}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// Of what is no regular file, /dev/null and pipes of a shell, the clients
	// do not ask who may write. On Windows these bits say nothing.
	if runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o002 != 0 {
		r.warnings = append(r.warnings, fmt.Sprintf("%s: not read, because everybody may write to it", path))
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxOptionFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxOptionFile {
		return &kindError{errOption, fmt.Sprintf("%s: more than %d bytes", path, maxOptionFile)}
	}
	return parseOptions(path, data, func(line optionLine) error {
		if line.directive != "" {
			return r.include(path, line, depth+1)
		}
		for _, g := range groups {
			if strings.EqualFold(g, line.group) {
				return r.options.set(line)
			}
		}
		return nil
	})
}

// include follows a directive of the file at path.
func (r *defaultsReader) include(path string, line optionLine, depth int) error {
	warn := func(err error) {
		r.warnings = append(r.warnings, fmt.Sprintf("%s:%d: %v", path, line.number, err))
	}
	if depth > maxInclude {
		warn(fmt.Errorf("%s is not read, because files include each other more than %d deep", line.value, maxInclude))
		return nil
	}
	files := []string{line.value}
	if line.directive == "includedir" {
		entries, err := os.ReadDir(line.value) // in order of their names
		if err != nil {
			warn(err)
			return nil
		}
		files = nil
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".cnf") {
				files = append(files, filepath.Join(line.value, e.Name()))
			}
		}
	}
	for _, file := range files {
		err := r.file(file, depth)
		if errors.Is(err, errOption) {
			return err
		}
		if err != nil {
			warn(err)
		}
	}
	return nil
}

// optionLine is a line of an option file that says something.
type optionLine struct {
	number    int
	group     string
	name      string // lower case, words joined by dashes
	value     string
	hasValue  bool   // there was a "="
	directive string // "include" or "includedir", of value; there is no name then
}

// parseOptions calls f for each option and directive of an option file, in
// order, until f gives an error. Errors begin with file and line; they hold
// nothing of the line but the names of options that are ours.
func parseOptions(file string, data []byte, f func(optionLine) error) error {
	var line optionLine
	inGroup := false
	for text := range bytes.Lines(data) {
		line.number++
		fail := func(err error) error {
			if errors.Is(err, errOption) { // of a file included here, and says where
				return err
			}
			return &kindError{errOption, fmt.Sprintf("%s:%d: %v", file, line.number, err)}
		}
		s := strings.TrimSpace(string(text))
		line.directive, line.name, line.value, line.hasValue = "", "", "", false
		switch {
		case s == "", s[0] == '#', s[0] == ';':
			continue
		case s[0] == '!':
			// Clients pass over directives that they do not know.
			name, arg, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(s[1:]), "\t", " "), " ")
			if name != "include" && name != "includedir" {
				continue
			}
			line.directive, line.value = name, strings.TrimSpace(arg)
			if line.value == "" {
				return fail(fmt.Errorf("!%s without a path", name))
			}
		case s[0] == '[':
			name, _, ok := strings.Cut(s[1:], "]")
			if !ok {
				return fail(errors.New("group without a closing bracket"))
			}
			line.group, inGroup = strings.TrimSpace(name), true
			continue
		case !inGroup:
			return fail(errors.New("option before any [group]"))
		default:
			var name string
			name, line.value, line.hasValue = strings.Cut(uncomment(s), "=")
			line.name = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), "_", "-"))
			line.value = unquote(strings.TrimSpace(line.value))
		}
		if err := f(line); err != nil {
			return fail(err)
		}
	}
	return nil
}

// uncomment cuts off a comment behind an option. Within quotes there is none,
// and within quotes a backslash protects a quote.
func uncomment(s string) string {
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == '#':
			return s[:i]
		}
	}
	return s
}

// unquote takes the quotes off a value and resolves its escapes, which count
// without quotes, too. A backslash before anything else is itself.
func unquote(s string) string {
	if n := len(s); n > 1 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		s = s[1 : n-1]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if at := strings.IndexByte(`btnrs\'"`, s[i+1]); at >= 0 {
				b.WriteByte("\b\t\n\r \\'\""[at])
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// set takes one option.
func (o *Options) set(line optionLine) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", line.name, err)
		}
	}()
	name := strings.TrimPrefix(line.name, "loose-")
	on := true // of a switch: "name", "name=1", "skip-name"
	for _, no := range []string{"skip-", "disable-"} {
		if rest, ok := strings.CutPrefix(name, no); ok {
			name, on = rest, false
		}
	}
	text, is := map[string]*string{
		"host": &o.Host, "socket": &o.Socket, "user": &o.User, "ssl-ca": &o.SSLCA, "ssl-cert": &o.SSLCert, "ssl-key": &o.SSLKey,
	}[name]
	switch name {
	case "ssl", "ssl-verify-server-cert", "get-server-public-key", "enable-cleartext-plugin":
		if line.hasValue && on {
			if on, err = parseSwitch(line.value); err != nil {
				return err
			}
		}
	case "port", "protocol", "ssl-mode", "connect-timeout":
		is = true
	}
	if is && on && !line.hasValue {
		return errors.New("no value")
	}
	if is && !on {
		return nil // skip-host and the like mean nothing
	}
	if text != nil {
		*text = line.value
		return nil
	}

	switch name {
	case "port":
		o.Port, err = parsePort(line.value)
	case "protocol":
		o.Protocol, err = ParseProtocol(line.value)
	case "password":
		switch {
		case !on:
			o.SetPassword("")
		case line.hasValue:
			o.SetPassword(line.value)
		default:
			o.Ask()
		}
	case "connect-timeout":
		var seconds uint64
		if seconds, err = strconv.ParseUint(line.value, 10, 31); err != nil {
			return fmt.Errorf("got %q, want seconds", line.value)
		}
		o.ConnectTimeout = time.Duration(seconds) * time.Second
	case "get-server-public-key":
		o.GetServerPublicKey = on
	case "enable-cleartext-plugin":
		o.EnableCleartextPlugin = on
	case "ssl-mode":
		o.SSLMode, err = ParseSSLMode(line.value)
	case "ssl": // of MariaDB, and of MySQL before 8.0
		o.SSLMode = Disabled
		if on {
			o.SSLMode = Required
		}
	case "ssl-verify-server-cert": // the same
		switch {
		case on:
			o.SSLMode = VerifyIdentity
		case o.SSLMode == VerifyCA || o.SSLMode == VerifyIdentity:
			o.SSLMode = Required
		case o.SSLMode == "":
			o.SSLMode = Preferred // said, so that SSLCA no longer means VerifyCA
		}
	}
	return err
}

func parseSwitch(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "on", "true":
		return true, nil
	case "0", "off", "false":
		return false, nil
	}
	return false, fmt.Errorf("got %q, want 1 or 0", s)
}
