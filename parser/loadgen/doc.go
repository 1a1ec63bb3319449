// Package loadgen reads the summaries that load generators print at the end of
// a run: those of sysbench 1.0 and 1.1, and of mysqlslap and mariadb-slap.
//
//	SQL statistics:                                          Benchmark
//	    queries performed:                                   	Average number of seconds to run all queries: 0.028 seconds
//	        read:                            0               	...
//	    transactions:        4000   (3978.28 per sec.)       	Number of clients running queries: 2
//	...                                                      	Average number of queries per client: 50
//	General statistics:                                      or, by --csv without a file:
//	    total time:                          1.0040s         	innodb,write,0.028,0.028,0.029,2,50
//
// The output may be of any length and hold anything, since other programs may
// write to it too: what is not understood is passed over, and what does not
// look like a figure leaves its field nil. Who controls the output controls the
// summary, but no more than that.
package loadgen

// Summary is what a load generator says of its run, as far as it says it: a
// nil field was not printed.
//
// Of mysqlslap it is the mean iteration, of which there are as many as
// --iterations says, with the last of several numbers of clients.
type Summary struct {
	Tool         string   `json:"tool"` // "sysbench" or "mysqlslap"
	Version      string   `json:"version,omitempty"`
	Clients      *int64   `json:"clients,omitempty"`
	Seconds      *float64 `json:"seconds,omitempty"` // of the measured part
	Transactions *int64   `json:"transactions,omitempty"`
	Queries      *int64   `json:"queries,omitempty"` // mysqlslap: of all clients
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
