// Package loadgen reads the summaries that load generators print at the end of
// a run: sysbench's and mysqlslap's.
package loadgen

// Summary is what a load generator says of its run, as far as it says it: a
// nil field was not printed.
type Summary struct {
	Tool         string   `json:"tool"` // "sysbench" or "mysqlslap"
	Version      string   `json:"version,omitempty"`
	Clients      *int64   `json:"clients,omitempty"`
	Seconds      *float64 `json:"seconds,omitempty"` // of the measured part
	Transactions *int64   `json:"transactions,omitempty"`
	Queries      *int64   `json:"queries,omitempty"`
	Reads        *int64   `json:"reads,omitempty"`
	Writes       *int64   `json:"writes,omitempty"`
	Other        *int64   `json:"other,omitempty"`
	Errors       *int64   `json:"errors,omitempty"` // ignored ones: the transaction was tried again
	Reconnects   *int64   `json:"reconnects,omitempty"`
	TPS          *float64 `json:"tps,omitempty"`
	// Latencies of events, in milliseconds, which may be whole transactions.
	LatencyMin *float64 `json:"latency_min_ms,omitempty"`
	LatencyAvg *float64 `json:"latency_avg_ms,omitempty"`
	LatencyMax *float64 `json:"latency_max_ms,omitempty"`
	// Percentile is the value that a share of PercentileRank/100 of the events do
	// not exceed: sysbench's --percentile.
	Percentile     *float64 `json:"latency_percentile_ms,omitempty"`
	PercentileRank *int64   `json:"latency_percentile_rank,omitempty"`
}
