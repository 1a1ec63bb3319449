package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"bgcstat/analysis"
)

// JSON writes r as one indented object: the JSON contract.
func JSON(w io.Writer, r *analysis.Result) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// CSV writes the rates of r, a header line and one row a bucket.
func CSV(w io.Writer, r *analysis.Result) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"t", "bucket_seconds", "transactions", "sync_groups", "bytes"}); err != nil {
		return err
	}
	if r.Rates != nil {
		width := strconv.FormatFloat(r.Rates.BucketSeconds, 'f', -1, 64)
		for _, b := range r.Rates.Series {
			groups := ""
			if b.SyncGroups != nil {
				groups = strconv.FormatInt(*b.SyncGroups, 10)
			}
			row := []string{b.Start.String(), width, strconv.FormatInt(b.Transactions, 10), groups, strconv.FormatInt(b.Bytes, 10)}
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}
