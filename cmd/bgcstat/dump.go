package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/iosample"
	"bgcstat/report"
)

type dumpOptions struct {
	inputOptions
	format string
}

func (o *dumpOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.format, "format", "text", "print rows as `text`, csv, or json (one object a line)")
	o.inputOptions.addFlags(f)
}

func dumpCommand(u *ui) *cobra.Command {
	o := &dumpOptions{}
	cmd := &cobra.Command{
		Use:   "dump [flags] LOG...",
		Short: "Print one row per transaction of binlog files",
		Long: `Prints one row per transaction: where it is, its clock or commit id, its times,
its session, how it ends, which tables it changed by how many row events, and
its group where that is known. LOG is as in analyze.

` + statusHelp,
		Example: `  bgcstat dump binlog.000042
  bgcstat dump --format csv --start-position 4711 binlog.000042
  bgcstat dump --format json binlog.0000* | jq -r 'select(.bytes > 1e6) | .gtid'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "json", "csv"}, o.format) {
				return usageError("--format is %q, want text, json or csv", o.format)
			}
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			return o.run(u, args)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *dumpOptions) run(u *ui, args []string) error {
	parts, err := o.find(u, args)
	if err != nil {
		return err
	}
	out := report.TextRows(u.stdout)
	switch o.format {
	case "csv":
		out = report.CSVRows(u.stdout)
	case "json":
		out = report.JSONRows(u.stdout)
	}
	var all []*parser.Log
	badTrace := false
	for _, part := range parts {
		rows := analysis.NewRows(o.filterFor(part), o.settings, out.Write)
		done, err := o.joinRows(u, part, rows)
		if err != nil {
			return err
		}
		logs, err := o.read(u, part, rows.Add)
		if err != nil {
			return err
		}
		if err := rows.End(); err != nil {
			return err
		}
		badTrace = done() || badTrace
		all = append(all, logs...)
	}
	if slices.ContainsFunc(all, reports) {
		if err := out.Close(); err != nil {
			return err
		}
	}
	for _, l := range all {
		u.warnings(l)
	}
	return traceStatus(status(all), badTrace)
}

// joinRows has a trace joined, if one is given, once all of the logs have told
// that it is theirs, and what its syncs say of groups.
func (o *dumpOptions) joinRows(u *ui, part []*parser.Input, rows *analysis.Rows) (done func() (damaged bool), err error) {
	none := func() bool { return false }
	if o.trace == "" {
		return none, nil
	}
	if slices.ContainsFunc(part, func(in *parser.Input) bool { return in.Head.Name == parser.Stdin }) {
		return nil, usageError("--trace needs logs that can be read twice, which standard input cannot")
	}
	a := analysis.New(o.filterFor(part), o.settings)
	if done, err = o.join(quiet, logNames(part), a.Join); err != nil {
		return nil, err
	}
	logs, err := o.read(quiet, part, func(t *parser.Txn) error {
		a.Add(t)
		return nil
	})
	done()
	if err != nil {
		return nil, err
	}
	r := a.Result(logs)
	for _, w := range r.Warnings {
		if strings.HasPrefix(w.Code, "trace-") || strings.HasPrefix(w.Code, "syncs-") {
			u.warningf("%s: %s", w.Code, w.Message)
		}
	}
	ok, exact := a.Joined()
	if !ok {
		return none, nil
	}
	return o.join(u, logNames(part), func(h *iosample.Header, next func() *iosample.Interval, names []string) {
		rows.Join(h, next, names, exact)
	})
}
