package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/report"
)

type analyzeOptions struct {
	inputOptions
	pageOptions
	remoteOptions
	format string
}

func (o *analyzeOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.format, "format", "text", "print the result as `text`, json (one object, with --per-server one for each), or csv (one row per bucket of time)")
	o.pageOptions.addFlags(f)
	o.inputOptions.addFlags(f)
	o.remoteOptions.addFlags(f)
}

func analyzeCommand(u *ui) *cobra.Command {
	o := &analyzeOptions{}
	cmd := &cobra.Command{
		Use:   "analyze [flags] LOG...",
		Short: "Report on the commit groups of binlog files",
		Long: `Reads binlogs and reports how many transactions shared a group, what is proven
and what is not, with the basis of each figure.

LOG is a binlog file (or a .gz or .zst archive of one), a directory of them, a
server's .index file, or - for standard input; with --read-from-remote-server it
is the name of a log of the server that the connection options lead to. Several
are read as one log, in the order of their numbers. Filters choose what is
reported; groups are formed over all transactions first.

` + statusHelp,
		Example: `  bgcstat analyze binlog.000042
  bgcstat analyze --out report /var/lib/mysql/binlog.index
  bgcstat analyze --out report --redact --plots group-size,timeline binlog.000042
  bgcstat analyze --sync-binlog 1 mariadb-bin.*
  bgcstat analyze --start-datetime '2026-11-30 12:00' --table shop.orders binlog.000042
  bgcstat analyze -R -h db1.example.com -u monitor -p --to-last-log binlog.000042
  zcat binlog.000042.gz | bgcstat analyze --format json -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "json", "csv"}, o.format) {
				return usageError("--format is %q, want text, json or csv", o.format)
			}
			if o.format == "csv" && o.perServer {
				return usageError("--format csv and --per-server contradict each other: one table holds the rates of one server")
			}
			if err := o.pageOptions.check(cmd.Flags()); err != nil {
				return err
			}
			if err := o.inputOptions.check(cmd.Flags()); err != nil {
				return err
			}
			if err := o.remoteOptions.check(cmd.Flags(), args); err != nil {
				return err
			}
			return o.run(cmd.Context(), u, cmd.Flags(), args)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// readings gives what is to be read.
func (o *analyzeOptions) readings(ctx context.Context, u *ui, f *pflag.FlagSet, args []string) ([]*reading, error) {
	if o.remote {
		r, err := o.remoteReading(ctx, u, f, args)
		return []*reading{r}, err
	}
	parts, err := o.find(u, args)
	if err != nil {
		return nil, err
	}
	out := make([]*reading, len(parts))
	for i, part := range parts {
		out[i] = &reading{
			name: partName(part, len(parts)), logs: logNames(part), filter: o.filterFor(part), settings: o.settings,
			again: !slices.ContainsFunc(part, func(in *parser.Input) bool { return in.Head.Name == parser.Stdin }),
			read: func(u *ui, add func(*parser.Txn) error) ([]*parser.Log, error) {
				return o.inputOptions.read(u, part, add)
			},
		}
	}
	return out, nil
}

func (o *analyzeOptions) run(ctx context.Context, u *ui, f *pflag.FlagSet, args []string) error {
	readings, err := o.readings(ctx, u, f, args)
	if err != nil {
		return err
	}
	if err := o.makeDir(); err != nil {
		return err
	}
	var all []*parser.Log
	badTrace := false
	for i, part := range readings {
		a := analysis.New(part.filter, part.settings)
		done, err := o.join(u, part.logs, a.Join)
		if err != nil {
			return err
		}
		logs, err := part.read(u, func(t *parser.Txn) error {
			a.Add(t)
			return nil
		})
		if err != nil {
			done()
			return err
		}
		all = append(all, logs...)
		if !slices.ContainsFunc(logs, reports) {
			continue
		}
		if i > 0 && o.format == "text" {
			fmt.Fprintln(u.stdout)
		}
		r := a.Result(logs)
		badTrace = done() || badTrace
		if o.trace != "" && r.Transactions == 0 && part.again {
			if r, err = withoutTrace(part, r); err != nil {
				return err
			}
		}
		if err := o.print(u, r, part.name); err != nil {
			return err
		}
	}
	for _, l := range all {
		if l.Damaged > 0 { // the result has these too, but may go elsewhere
			u.warnings(l)
		}
	}
	return traceStatus(status(all), badTrace)
}

// withoutTrace reports on the logs alone, since no transaction was joined to
// the trace, and keeps what r says of that.
func withoutTrace(part *reading, r *analysis.Result) (*analysis.Result, error) {
	a := analysis.New(part.filter, part.settings)
	logs, err := part.read(quiet, func(t *parser.Txn) error {
		a.Add(t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	alone := a.Result(logs)
	alone.IO = r.IO
	for _, w := range r.Warnings {
		if strings.HasPrefix(w.Code, "trace-") {
			alone.Warnings = append(alone.Warnings, w)
		}
	}
	return alone, nil
}

// partName is the subdirectory of --out for one of several servers.
func partName(part []*parser.Input, parts int) string {
	if parts == 1 {
		return ""
	}
	h := part[0].Head
	return fmt.Sprintf("%s-%d-%s", h.Flavor, h.ServerID, strings.ReplaceAll(h.Kind().String(), " ", "-"))
}

func (o *analyzeOptions) print(u *ui, r *analysis.Result, part string) error {
	if o.redact {
		r = report.Redact(r)
	}
	var err error
	switch o.format {
	case "json":
		err = report.JSON(u.stdout, r)
	case "csv":
		err = report.CSV(u.stdout, r)
	default:
		err = report.Text(u.stdout, r)
	}
	if err != nil || o.out == "" {
		return err
	}
	return o.write(u, r, filepath.Join(o.out, part))
}
