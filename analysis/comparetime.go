package analysis

// Timeline is what was counted over the time of a run.
type Timeline struct {
	Transactions *RunRates `json:"transactions,omitempty"`
	BinlogSyncs  *RunRates `json:"binlog_syncs,omitempty"`
}

// RunRates counts by time since From. For transactions a bucket that is not in
// the series had none, for syncs it was not sampled.
type RunRates struct {
	From          string      `json:"from"` // FromCommand or FromFirst
	Basis         Basis       `json:"basis"`
	BucketSeconds float64     `json:"bucket_seconds"`
	Series        []RunBucket `json:"series"` // by rising time
}

// RunBucket is one bucket, named by its start, which may lie before 0.
type RunBucket struct {
	Start float64 `json:"start_seconds"`
	Count int64   `json:"count"`
}

// What times of a run count from.
const (
	FromCommand = "start of the command"
	FromFirst   = "first transaction" // of a server on another host, whose clock may be another
)

// newTimeline counts transactions by the server's clock and syncs by that of
// the host that took the trace, which ran the command, too. It is nil where
// neither is known.
func newTimeline(r RunResult) *Timeline {
	t := &Timeline{}
	if rates := r.Result.Rates; rates != nil && len(rates.Series) > 0 {
		from, start := FromCommand, r.Run.Start
		if !r.Run.Server.Local {
			from, start = FromFirst, rates.Series[0].Start
		}
		t.Transactions = &RunRates{From: from, Basis: Exact, BucketSeconds: rates.BucketSeconds}
		if !wholeLog(r) {
			t.Transactions.Basis = Bounded // there may be more
		}
		for _, b := range rates.Series {
			t.Transactions.Series = append(t.Transactions.Series, RunBucket{b.Start.Sub(start.Time).Seconds(), b.Transactions})
		}
	}
	io := r.Result.IO
	if io != nil && io.Rates != nil {
		if counted, ok := io.Syncs["binlog"]; ok {
			t.BinlogSyncs = &RunRates{From: FromCommand, Basis: syncBasis(counted, io.Lost), BucketSeconds: io.Rates.BucketSeconds}
			for _, b := range io.Rates.Series {
				t.BinlogSyncs.Series = append(t.BinlogSyncs.Series, RunBucket{b.Start.Sub(r.Run.Start.Time).Seconds(), b.Syncs["binlog"]})
			}
		}
	}
	if t.Transactions == nil && t.BinlogSyncs == nil {
		return nil
	}
	return t
}
