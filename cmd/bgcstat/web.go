package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/pflag"
)

// webOptions say where to serve metrics, if anywhere, and to whom. Their names
// are those of all exporters.
type webOptions struct {
	address    string
	configFile string
}

func (o *webOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.address, "web.listen-address", "", "serve metrics for Prometheus at this `address`, such as 127.0.0.1:9147 (default: none are served)")
	f.StringVar(&o.configFile, "web.config.file", "", "take TLS and users for them from this `file`, in the web configuration format of Prometheus' exporters")
}

func (o *webOptions) check(f *pflag.FlagSet) error {
	if f.Changed("web.config.file") && o.configFile == "" {
		return usageError("--web.config.file is empty, want a file")
	}
	if !f.Changed("web.listen-address") {
		if o.configFile != "" {
			return usageError("--web.config.file is given without --web.listen-address")
		}
		return nil
	}
	if _, port, err := net.SplitHostPort(o.address); err != nil || port == "" {
		return usageError("--web.listen-address is %q, want HOST:PORT", o.address).hint("127.0.0.1:9147 is for this machine only, :9147 for all")
	}
	return nil
}

// webServer serves metrics. One that is nil serves none.
type webServer struct {
	u          *ui
	listener   net.Listener
	configFile string
	server     *http.Server  // nil until it serves
	done       chan struct{} // closed when it serves no more
}

// listen takes the address, and checks the file, before anything else starts:
// connections wait until serve. It gives nil where none was asked for.
func (o *webOptions) listen(u *ui) (*webServer, error) {
	if o.address == "" {
		return nil, nil
	}
	if err := web.Validate(o.configFile); err != nil {
		// Those of YAML have several lines.
		return nil, fmt.Errorf("--web.config.file: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	l, err := net.Listen("tcp", o.address)
	if err != nil {
		return nil, fmt.Errorf("--web.listen-address: %w", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); o.configFile == "" && ok && !a.IP.IsLoopback() {
		u.warningf("--web.listen-address: whoever can reach %v can read the metrics", a)
		u.hintf("--web.config.file has TLS and users; 127.0.0.1:%d is for this machine only", a.Port)
	}
	return &webServer{u: u, listener: l, configFile: o.configFile}, nil
}

// serve serves metrics at /metrics, and a page that leads there, until close. It
// returns at once, and is called once at most.
func (s *webServer) serve(metrics http.Handler) error {
	if s == nil {
		return nil
	}
	page, err := web.NewLandingPage(web.LandingConfig{
		Name: "bgcstat", Description: "How well a server groups its commits", Version: version(),
		Links: []web.LandingLinks{{Address: "/metrics", Text: "Metrics"}}, Profiling: "false",
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	mux.Handle("/", page)
	s.server = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // of handshakes that fail, which any passer-by can have
	}
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		err := web.Serve(s.listener, s.server, &web.FlagConfig{WebConfigFile: &s.configFile}, slog.New(&warningLog{s.u}))
		if !errors.Is(err, http.ErrServerClosed) {
			s.listener.Close() // else clients would wait
			s.u.warningf("metrics are served no more: %v", err)
		}
	}()
	s.u.errorf("serving metrics at %s", s.addr())
	return nil
}

// addr is where it listens, with the port that it got.
func (s *webServer) addr() string { return s.listener.Addr().String() }

// close ends it. Requests that have begun are answered, for a while.
func (s *webServer) close() {
	if s == nil {
		return
	}
	if s.server == nil {
		s.listener.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // who has had two seconds gets no answer
	}
	<-s.done
}

// warningLog is a log of which warnings and worse are worth a line, such as a
// configuration file that has become unreadable.
type warningLog struct{ u *ui }

func (l *warningLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

func (l *warningLog) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, ", %s: %v", a.Key, a.Value)
		return true
	})
	l.u.warningf("serving metrics: %s", strings.Join(strings.Fields(b.String()), " "))
	return nil
}

func (l *warningLog) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *warningLog) WithGroup(string) slog.Handler { return l }
