package metrics

import (
	"math"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"bgcstat/analysis"
)

// descs are of all metrics that a collector may have.
var descs []*prometheus.Desc

func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	descs = append(descs, d)
	return d
}

const restsOn = " What it rests on is in bgcstat_figures_info; of an estimate this is the highest so far."

var (
	transactions = desc("bgcstat_transactions_total", "Transactions in the binlog since bgcstat began to follow it.")
	bytes        = desc("bgcstat_binlog_bytes_total", "Bytes of these transactions in the binlog.")
	lastTime     = desc("bgcstat_last_transaction_timestamp_seconds",
		"When the last transaction was committed, by the server's clock, in Unix time.")

	syncGroups = desc("bgcstat_sync_groups_total",
		"Sync groups: transactions of one pass of the sync stage (MySQL) or one commit id (MariaDB), what people mean by a commit group."+restsOn)
	syncGroupTransactions = desc("bgcstat_sync_group_transactions_total",
		"Transactions in the groups of bgcstat_sync_groups_total: over these, the mean group size."+restsOn)
	groupSize = desc("bgcstat_group_size",
		"Sync groups by their size in transactions."+restsOn)
	lowerBound = desc("bgcstat_sync_groups_lower_bound_total",
		"Proven least number of sync groups: there are no fewer, whatever bgcstat_sync_groups_total says.")
	upperBound = desc("bgcstat_sync_groups_upper_bound_total",
		"Proven greatest number of sync groups: every transaction alone.")
	flushGroups = desc("bgcstat_flush_groups_total",
		"Flush groups: transactions that one leader of the flush stage wrote to the binlog together."+restsOn)
	flushGroupTransactions = desc("bgcstat_flush_group_transactions_total",
		"Transactions in the groups of bgcstat_flush_groups_total."+restsOn)
	flushGroupSize = desc("bgcstat_flush_group_size",
		"Flush groups by their size in transactions."+restsOn)
	runs = desc("bgcstat_last_committed_runs_total",
		"Runs of transactions with equal last_committed: the popular recipe. A run is a commit group only by luck.")

	syncs = desc("bgcstat_syncs_total",
		"Syncs (fsync or fdatasync) of the server's files, by class of file. Source and exactness are in bgcstat_figures_info.", "class")
	syncsLost = desc("bgcstat_syncs_lost_total",
		"Syncs whose events the kernel dropped, so that bgcstat_binlog_sync_duration_seconds and traced groups lack them.")

	lag = desc("bgcstat_lag_seconds",
		"How long after its commit the last transaction came, by the clocks of both hosts; 0 once none has come for a second.")
	connected  = desc("bgcstat_connected", "Whether the binlog is being received from the server: 1 or 0.")
	reconnects = desc("bgcstat_reconnects_total", "How often the connection was lost and made anew.")
	pollErrors = desc("bgcstat_poll_errors_total", "Failed queries of the server's settings.")

	figuresInfo = desc("bgcstat_figures_info",
		"What the figures rest on. basis and method are of sync groups, flush_basis and flush_method of flush groups; "+
			"tracking is the dependency tracking that the log last showed, certainty how sure that is; "+
			"sync_source counts the syncs, sync_exactness is how well. Empty where not known. Always 1.",
		"basis", "method", "flush_basis", "flush_method", "tracking", "certainty", "sync_source", "sync_exactness")
	serverInfo = desc("bgcstat_server_info", "The server that is followed. Always 1.", "flavor", "version", "server")
)

// sizeBuckets are the sizes of groups that are told apart, each with all that
// are smaller.
var sizeBuckets = []int64{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512}

// collector makes metrics of a snapshot.
type collector struct {
	mu       sync.Mutex // held while a snapshot is taken and sent: an older one must not come later
	snapshot func() Values
	highest  map[series]int64
}

// series is what may only rise.
type series struct {
	desc  *prometheus.Desc
	class string
	le    int64 // of a bucket; sumOf is the sum
}

const sumOf = -1

func newCollector(snapshot func() Values) *collector {
	return &collector{snapshot: snapshot, highest: map[series]int64{}}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
	NewSyncLatency().histogram.Describe(ch)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.snapshot()

	c.counter(ch, transactions, v.Live.Transactions)
	c.counter(ch, bytes, v.Live.Bytes)
	if v.Live.Time != 0 {
		gauge(ch, lastTime, float64(v.Live.Time)/1e6)
	}
	c.counter(ch, lowerBound, v.Live.Lower)
	c.counter(ch, upperBound, v.Live.Upper)
	c.counter(ch, runs, v.Live.LastCommittedRuns)
	c.groups(ch, v.Live.Sync, syncGroups, syncGroupTransactions, groupSize)
	c.groups(ch, v.Live.Flush, flushGroups, flushGroupTransactions, flushGroupSize)

	if v.Syncs != nil {
		for class, n := range v.Syncs {
			n := c.rise(series{desc: syncs, class: class}, n)
			ch <- prometheus.MustNewConstMetric(syncs, prometheus.CounterValue, float64(n), class)
		}
		c.counter(ch, syncsLost, v.SyncsLost)
	}
	if v.SyncLatency != nil {
		v.SyncLatency.histogram.Collect(ch)
	}

	if v.Lag != nil {
		gauge(ch, lag, *v.Lag)
	}
	up := 0.0
	if v.Connected {
		up = 1
	}
	gauge(ch, connected, up)
	c.counter(ch, reconnects, v.Reconnects)
	c.counter(ch, pollErrors, v.PollErrors)

	// Without a method that counts sync groups there are their limits.
	basis, method := basisOf(v.Live.Sync, analysis.Bounded, analysis.Constraints)
	flushBasis, flushMethod := basisOf(v.Live.Flush, "", "")
	gauge(ch, figuresInfo, 1, string(basis), string(method), string(flushBasis), string(flushMethod),
		string(v.Live.Observed), string(v.Live.Certainty), v.SyncSource, v.SyncExactness)
	if v.Server != (Server{}) {
		gauge(ch, serverInfo, 1, v.Server.Flavor, v.Server.Version, v.Server.Address)
	}
}

func basisOf(g *analysis.LiveGroups, basis analysis.Basis, method analysis.Method) (analysis.Basis, analysis.Method) {
	if g == nil {
		return basis, method
	}
	return g.Basis, g.Method
}

// groups sends the figures of groups, as far as they are known.
func (c *collector) groups(ch chan<- prometheus.Metric, g *analysis.LiveGroups, count, transactions, size *prometheus.Desc) {
	if g == nil {
		return
	}
	c.counter(ch, count, g.Count)
	c.counter(ch, transactions, g.Transactions)
	if g.Sizes == nil && g.Count != 0 {
		return // no sizes are known
	}
	var groups, members int64
	rest := g.Sizes
	upTo := func(le int64) uint64 {
		for len(rest) > 0 && rest[0].Size <= le {
			groups += rest[0].Groups
			members += rest[0].Groups * rest[0].Size
			rest = rest[1:]
		}
		return uint64(c.rise(series{desc: size, le: le}, groups))
	}
	buckets := make(map[float64]uint64, len(sizeBuckets))
	for _, le := range sizeBuckets {
		buckets[float64(le)] = upTo(le)
	}
	all := upTo(math.MaxInt64)
	sum := c.rise(series{desc: size, le: sumOf}, members)
	ch <- prometheus.MustNewConstHistogram(size, all, float64(sum), buckets)
}

// rise gives the highest value that a series has had.
func (c *collector) rise(s series, value int64) int64 {
	value = max(value, c.highest[s])
	c.highest[s] = value
	return value
}

func (c *collector) counter(ch chan<- prometheus.Metric, d *prometheus.Desc, value int64) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(c.rise(series{desc: d}, value)))
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	for i, l := range labels {
		// One that is not UTF-8 would fail the scrape, and some are the server's words.
		labels[i] = strings.ToValidUTF8(l, "\uFFFD")
	}
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
