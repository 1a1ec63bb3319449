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

// CSV writes the rates of r, a header line and one row a bucket. Basis and
// method are those of the sync groups.
func CSV(w io.Writer, r *analysis.Result) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"t", "bucket_seconds", "transactions", "sync_groups", "bytes", "basis", "method"}); err != nil {
		return err
	}
	if r.Rates != nil {
		width := strconv.FormatFloat(r.Rates.BucketSeconds, 'f', -1, 64)
		for _, b := range r.Rates.Series {
			groups, basis, method := "", "", ""
			if b.SyncGroups != nil {
				groups = strconv.FormatInt(*b.SyncGroups, 10)
				if g := r.Groups.Sync; g != nil {
					basis, method = string(g.Basis), string(g.Method)
				}
			}
			row := []string{b.Start.String(), width, strconv.FormatInt(b.Transactions, 10), groups, strconv.FormatInt(b.Bytes, 10), basis, method}
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}
