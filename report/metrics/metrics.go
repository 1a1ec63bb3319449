// Package metrics serves what is known so far of a live log to Prometheus.
//
// Each scrape takes one snapshot of the values, so that nothing is counted here
// a second time; only the latencies of syncs are gathered as they come. A
// figure that is not known has no series, never a zero. What a figure rests on
// is told by the labels of bgcstat_figures_info, whose value is always 1: as
// labels of the figures themselves, each change would end one series and begin
// another.
package metrics

import (
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"bgcstat/analysis"
)

// Values are what one scrape shows. Counts are cumulative, over the life of the
// program: they go on rising across reconnects and restarts of the server.
type Values struct {
	Live analysis.Live
	// Syncs are the syncs by class of file; nil where none are counted.
	Syncs         map[string]int64
	SyncSource    string // what counts them
	SyncExactness string
	SyncsLost     int64        // that the source saw and could not pass on
	SyncLatency   *SyncLatency // of binlog syncs; nil where not measured
	// Lag is how long after its commit the last transaction came, in seconds; nil
	// where not known.
	Lag        *float64
	Connected  bool  // receiving the log
	Reconnects int64 // after the log had been received once
	PollErrors int64 // failed queries of the server's settings
	Server     Server
}

// Server is which server is followed. It is all empty where that is not known
// yet.
type Server struct {
	Flavor  string
	Version string
	Address string // as a person would name it, without a password
}

// Handler serves the metrics of a registry of its own: the values that snapshot
// gives at each scrape, and those of the program itself. It calls snapshot from
// any goroutine, but never twice at the same time, and does not change what it
// gets; that must not change either while it is read.
//
// An estimated count may be a little lower than the one before, which for
// Prometheus would be a restart from zero. So of each counter, and of each
// bucket of a histogram, the highest value so far is served.
func Handler(snapshot func() Values) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(snapshot), buildInfo(), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{Registry: r})
}

// buildInfo tells which build of the program this is.
func buildInfo() prometheus.Collector {
	labels := prometheus.Labels{"version": "unknown", "revision": "unknown", "goversion": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			labels["version"] = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				labels["revision"] = s.Value
			}
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "bgcstat_build_info", Help: "The build of bgcstat. Always 1.", ConstLabels: labels,
	}, func() float64 { return 1 })
}
