package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"
)

// SSLMode says whether a connection is encrypted and what is checked of the
// server's certificate, as --ssl-mode of MySQL's clients does. The empty mode
// is Preferred, or VerifyCA where an authority's certificate is given.
type SSLMode string

// The modes. On a Unix socket Preferred means no encryption: nobody can listen.
const (
	Disabled       SSLMode = "DISABLED"
	Preferred      SSLMode = "PREFERRED"       // if the server offers it
	Required       SSLMode = "REQUIRED"        // whoever the server is
	VerifyCA       SSLMode = "VERIFY_CA"       // signed by SSLCA, or by one that the system trusts
	VerifyIdentity SSLMode = "VERIFY_IDENTITY" // and made out to Host
)

// ParseSSLMode reads a mode's name, in upper or lower case.
func ParseSSLMode(s string) (SSLMode, error) {
	switch m := SSLMode(strings.ToUpper(s)); m {
	case Disabled, Preferred, Required, VerifyCA, VerifyIdentity:
		return m, nil
	}
	return "", fmt.Errorf("got %q, want DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY", s)
}

// Protocol is the way to a server.
type Protocol string

// The protocols. The empty one is a socket where the host is empty or
// localhost, else TCP.
const (
	TCP    Protocol = "tcp"
	Socket Protocol = "socket"
)

// ParseProtocol reads the name of a protocol, in upper or lower case.
func ParseProtocol(s string) (Protocol, error) {
	switch p := Protocol(strings.ToLower(s)); p {
	case TCP, Socket:
		return p, nil
	}
	return "", fmt.Errorf("got %q, want tcp or socket", s)
}

// Options say which server to connect to, and as whom. The zero value is what
// the mysql client does without options: the server of this machine through
// its socket, as the user of the operating system, without a password.
//
// No printed form shows the password, and none is made in JSON.
type Options struct {
	Host string // empty: localhost
	Port int    // 0: 3306
	// Socket is the path of the server's socket; empty: the first that exists
	// of the usual ones. It is used where Protocol says so.
	Socket string
	// Protocol chooses between socket and TCP. As with the mysql client a Port
	// alone does not: option files state the port beside the socket.
	Protocol Protocol
	User     string // empty: the operating system's name for who runs this

	Password    string `json:"-"`
	HasPassword bool   // Password was given, be it empty
	AskPassword bool   // it is to be asked for, which is left to the caller

	SSLMode SSLMode
	SSLCA   string // path of a PEM file with the authorities to trust; empty: the system's
	SSLCert string // path of a PEM file with the client's certificate, for servers that want one
	SSLKey  string // path of a PEM file with its key

	// GetServerPublicKey allows to ask the server for its RSA key where a
	// password cannot be sent otherwise: TCP without TLS, and an account that
	// uses caching_sha2_password and is not in the server's cache. Who can
	// answer in the server's place learns the password then.
	GetServerPublicKey bool
	// EnableCleartextPlugin allows to send the password as it is over TCP
	// without TLS, which accounts of PAM and LDAP need. Over TLS and sockets
	// that is always allowed: caching_sha2_password sends it so there, too.
	EnableCleartextPlugin bool

	ConnectTimeout time.Duration // for connection and login; 0: 10 s
}

// SetPassword gives the password.
func (o *Options) SetPassword(s string) { o.Password, o.HasPassword, o.AskPassword = s, true, false }

// Ask says that the password is to be asked for.
func (o *Options) Ask() { o.Password, o.HasPassword, o.AskPassword = "", false, true }

// String names what is connected to and how, without the password.
func (o Options) String() string {
	s := o.Target()
	if o.SSLMode != "" {
		s += " ssl-mode=" + string(o.SSLMode)
	}
	if o.HasPassword {
		s += " (with a password)"
	}
	return s
}

// GoString is String.
func (o Options) GoString() string { return o.String() }

// Format prints String, whatever the verb.
func (o Options) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }

// Target names what is connected to: "root@127.0.0.1:3306", or
// "root@localhost via /run/mysqld/mysqld.sock".
func (o Options) Target() string {
	network, addr := o.address()
	if network == "unix" {
		return o.user() + "@localhost via " + addr
	}
	return o.user() + "@" + addr
}

// socketPaths is where servers have their sockets: Debian, Red Hat, and the
// default of MySQL and MariaDB themselves.
var socketPaths = []string{
	"/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock",
}

// address gives what net.Dial takes.
func (o Options) address() (network, addr string) {
	if o.Protocol == Socket || o.Protocol == "" && (o.Host == "" || o.Host == "localhost") {
		if o.Socket != "" {
			return "unix", o.Socket
		}
		for _, path := range socketPaths {
			if _, err := os.Stat(path); err == nil {
				return "unix", path
			}
		}
		return "unix", socketPaths[0]
	}
	return "tcp", net.JoinHostPort(cmp.Or(o.Host, "localhost"), strconv.Itoa(cmp.Or(o.Port, 3306)))
}

func (o Options) user() string {
	if o.User != "" {
		return o.User
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// ReadEnv takes what the mysql client takes from the environment. Option files
// and flags win over it, so it comes first.
func (o *Options) ReadEnv(getenv func(string) string) error {
	if s := getenv("MYSQL_HOST"); s != "" {
		o.Host = s
	}
	if s := getenv("MYSQL_UNIX_PORT"); s != "" {
		o.Socket = s
	}
	if s := getenv("MYSQL_PWD"); s != "" {
		o.SetPassword(s)
	}
	if s := getenv("MYSQL_TCP_PORT"); s != "" {
		var err error
		if o.Port, err = parsePort(s); err != nil {
			return fmt.Errorf("MYSQL_TCP_PORT: %w", err)
		}
	}
	return nil
}

// parsePort reads a port; 0 is the default one.
func parsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("got %q, want a port up to 65535", s)
	}
	return int(n), nil
}

// check says what contradicts itself.
func (o Options) check() error {
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("port: got %d, want up to 65535", o.Port)
	}
	if _, err := ParseSSLMode(string(cmp.Or(o.SSLMode, Preferred))); err != nil {
		return fmt.Errorf("ssl-mode: %w", err)
	}
	if (o.SSLCert == "") != (o.SSLKey == "") {
		return errors.New("ssl-cert and ssl-key: got one, want both")
	}
	return nil
}
