package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// SyncLatency is how long single binlog syncs took. It is safe for concurrent
// use; make it with NewSyncLatency.
type SyncLatency struct{ histogram prometheus.Histogram }

// latencyBuckets are in seconds, from a disk that keeps what it is told in
// memory of its own to one that is stuck.
var latencyBuckets = []float64{
	50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, 200e-3, 500e-3, 1, 2, 5,
}

// NewSyncLatency has no syncs in it.
func NewSyncLatency() *SyncLatency {
	return &SyncLatency{prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "bgcstat_binlog_sync_duration_seconds",
		Help:    "How long single binlog syncs (fsync or fdatasync) took, as the source in bgcstat_figures_info measured each.",
		Buckets: latencyBuckets,
	})}
}

// Observe adds one sync.
func (l *SyncLatency) Observe(nanoseconds int64) {
	l.histogram.Observe(time.Duration(nanoseconds).Seconds())
}
