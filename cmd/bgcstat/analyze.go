package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/report"
	"bgcstat/report/html"
	"bgcstat/report/plot"
)

type analyzeOptions struct {
	inputOptions
	format string
	out    string
	plots  []string
	theme  string
	redact bool

	plotFormat string
	width      int
}

func (o *analyzeOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.format, "format", "text", "print the result as `text`, json (one object, with --per-server one for each), or csv (one row per bucket of time)")
	f.StringVarP(&o.out, "out", "o", "", "also write report.html (one page with everything, to read or to send), report.json and the plots into this `directory`")
	f.StringSliceVar(&o.plots, "plots", nil, "the plots of --out, a `list` of "+strings.Join(plot.Names(), ",")+" (default all)")
	f.StringVar(&o.plotFormat, "plot-format", string(plot.PNG), "write the plots as `png` or svg; those inside report.html are always PNG")
	f.IntVar(&o.width, "width", plot.DefaultWidth, "width of the plots in `pixels`")
	f.StringVar(&o.theme, "theme", string(html.Auto), "colours: light, dark, or `auto`, which for report.html on a screen is what the reader's device prefers, and else light")
	f.BoolVar(&o.redact, "redact", false, "replace the names of databases, tables, users, hosts, directories and unusual files, and UUIDs, by short ones (db1.t3, host1), for a report that you send")
	o.inputOptions.addFlags(f)
}

func analyzeCommand(u *ui) *cobra.Command {
	o := &analyzeOptions{}
	cmd := &cobra.Command{
		Use:   "analyze [flags] LOG...",
		Short: "Report on the commit groups of binlog files",
		Long: `Reads binlogs and reports how many transactions shared a group, what is proven
and what is not, with the basis of each figure.

LOG is a binlog file (or a .gz or .zst archive of one), a directory of them, a
server's .index file, or - for standard input. Several are read as one log, in
the order of their numbers. Filters choose what is reported; groups are formed
over all transactions first.

` + statusHelp,
		Example: `  bgcstat analyze binlog.000042
  bgcstat analyze --out report /var/lib/mysql/binlog.index
  bgcstat analyze --out report --redact --plots group-size,timeline binlog.000042
  bgcstat analyze --sync-binlog 1 mariadb-bin.*
  bgcstat analyze --start-datetime '2026-11-30 12:00' --table shop.orders binlog.000042
  zcat binlog.000042.gz | bgcstat analyze --format json -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "json", "csv"}, o.format) {
				return usageError("--format is %q, want text, json or csv", o.format)
			}
			if o.format == "csv" && o.perServer {
				return usageError("--format csv and --per-server contradict each other: one table holds the rates of one server")
			}
			if cmd.Flags().Changed("out") && o.out == "" {
				return usageError("--out is empty, want a directory")
			}
			if err := o.checkPage(cmd.Flags()); err != nil {
				return err
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

// checkPage reads the flags that say what --out writes.
func (o *analyzeOptions) checkPage(f *pflag.FlagSet) error {
	for _, name := range []string{"plots", "plot-format", "width", "theme"} {
		if f.Changed(name) && o.out == "" {
			return usageError("--%s without --out, which writes the page and the plots", name)
		}
	}
	if !slices.Contains([]html.Theme{html.Auto, html.Light, html.Dark}, html.Theme(o.theme)) {
		return usageError("--theme is %q, want auto, light or dark", o.theme)
	}
	if !slices.Contains([]plot.Format{plot.PNG, plot.SVG}, plot.Format(o.plotFormat)) {
		return usageError("--plot-format is %q, want png or svg", o.plotFormat)
	}
	if o.width < plot.MinWidth || o.width > plot.MaxWidth {
		return usageError("--width is %d, want %d to %d", o.width, plot.MinWidth, plot.MaxWidth)
	}
	names := plot.Names()
	for _, name := range o.plots {
		if !slices.Contains(names, name) {
			return usageError("--plots has %q, want of %s", name, strings.Join(names, ", "))
		}
	}
	if !f.Changed("plots") {
		o.plots = names
	}
	return nil
}

func (o *analyzeOptions) run(u *ui, args []string) error {
	parts, err := o.find(u, args)
	if err != nil {
		return err
	}
	if o.out != "" { // before the work, not after it
		if err := os.MkdirAll(o.out, 0o777); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	var all []*parser.Log
	badTrace := false
	for i, part := range parts {
		a := analysis.New(o.filterFor(part), o.settings)
		done, err := o.join(u, part, a.Join)
		if err != nil {
			return err
		}
		logs, err := o.read(u, part, func(t *parser.Txn) error {
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
		if o.trace != "" && r.Transactions == 0 {
			if r, err = o.withoutTrace(part, r); err != nil {
				return err
			}
		}
		if err := o.print(u, r, partName(part, len(parts))); err != nil {
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
func (o *analyzeOptions) withoutTrace(part []*parser.Input, r *analysis.Result) (*analysis.Result, error) {
	if slices.ContainsFunc(part, func(in *parser.Input) bool { return in.Head.Name == parser.Stdin }) {
		return r, nil // it cannot be read again
	}
	a := analysis.New(o.filterFor(part), o.settings)
	logs, err := o.read(quiet, part, func(t *parser.Txn) error {
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
