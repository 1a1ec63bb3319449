package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"bgcstat/parser/iosample"
	"bgcstat/parser/server"
)

// sourceOptions say how syncs are counted beside something else: of commands
// that also do without.
type sourceOptions struct {
	source         string
	sampleInterval time.Duration
}

func (o *sourceOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.source, "source", "auto", "count syncs by `source`: bpf, perf, status, proc, auto, the first of them that can be used, or none")
	f.DurationVar(&o.sampleInterval, "sample-interval", 100*time.Millisecond, "take a sample of the syncs each `time`")
}

// leastSampleInterval is the shortest time between samples.
const leastSampleInterval = 10 * time.Millisecond

// check reads the flags' values.
func (o *sourceOptions) check() error {
	if !slices.Contains(append([]string{"auto", "none"}, iosample.Sources...), o.source) {
		return usageError("--source is %q, want auto, %s or none", o.source, strings.Join(iosample.Sources, ", "))
	}
	if o.sampleInterval < leastSampleInterval {
		return usageError("--sample-interval is %v, want at least %v", o.sampleInterval, leastSampleInterval)
	}
	return nil
}

// counting is a sampler with its own connection. One that is nil counts nothing.
type counting struct {
	*iosample.Sampler
	conn *sqlServer
}

// open begins to count the syncs of the server that is connected to. Where that
// cannot be, and was not asked for by name, it gives nil, and why not.
func (o *sourceOptions) open(ctx context.Context, u *ui, options server.Options, settings map[string]string) (c *counting, why, err error) {
	if o.source == "none" {
		return nil, nil, nil
	}
	c = &counting{conn: &sqlServer{options: options}}
	config := iosample.Config{Interval: o.sampleInterval, Server: c.conn}
	if o.source != "auto" {
		config.Source = o.source
	}
	findServer(&config, options, settings)
	if c.Sampler, err = iosample.Open(ctx, config); err != nil {
		c.conn.close()
		if o.source != "auto" || ctx.Err() != nil {
			return nil, nil, err
		}
		return nil, err, nil
	}
	h := c.Header()
	u.errorf("counting syncs by %s, %s: %s", h.Source, words(h.Exactness), h.Detail)
	for _, r := range h.Refused {
		u.hintf("not by %s: %s", r.Source, r.Why)
	}
	return c, nil, nil
}

func (c *counting) close() {
	if c != nil {
		c.Close()
		c.conn.close()
	}
}
