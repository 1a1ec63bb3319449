package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bgcstat/analysis"
	"bgcstat/report"
	"bgcstat/report/html"
	"bgcstat/report/plot"
)

type compareOptions struct {
	pageOptions
	format string
}

func (o *compareOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.format, "format", "text", "print the comparison as `text`, json, or csv (one row for each figure)")
	o.addFlagsOf(f, "compare", plot.CompareNames())
}

func compareCommand(u *ui) *cobra.Command {
	o := &compareOptions{}
	cmd := &cobra.Command{
		Use:   "compare [flags] RUN RUN...",
		Short: "Set recorded runs side by side",
		Long: `Sets runs side by side: time, transactions, latency, commit groups, syncs, and
what of settings and loads differs. The first run is what the others are
compared with.

RUN is a directory that bgcstat record wrote; its run.json and report.json are
read. Runs with the same --label are repeats: they share a column with their
median and range, and a difference whose ranges overlap is none.

Exit status:
  0  done
  1  nothing could be compared: a directory holds no run
  2  wrong usage: unknown flag, fewer than two runs, the same run twice
  3  compared, but a run is incomplete`,
		Example: `  bgcstat compare run-8 run-16
  bgcstat compare --out report --redact run-8 run-16
  bgcstat compare --format csv before-1 before-2 before-3 after-1 after-2 after-3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "json", "csv"}, o.format) {
				return usageError("--format is %q, want text, json or csv", o.format)
			}
			if len(args) < 2 {
				return usageError("compare takes two runs or more, %d given", len(args)).hint("a run is a directory that bgcstat record --out RUN wrote")
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

func (o *compareOptions) run(u *ui, dirs []string) error {
	runs, err := readRuns(dirs)
	if err != nil {
		return err
	}
	if err := o.makeDir(); err != nil {
		return err
	}
	if o.redact {
		runs = report.RedactRuns(runs)
	}
	c := analysis.Compare(runs)
	switch o.format {
	case "json":
		err = report.CompareJSON(u.stdout, c)
	case "csv":
		err = report.CompareCSV(u.stdout, c)
	default:
		err = report.CompareText(u.stdout, c)
	}
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := o.writeComparison(u, c); err != nil {
			return err
		}
	}
	if !c.Complete() {
		return &exitError{status: statusDamaged}
	}
	return nil
}

// writeComparison fills the output directory.
func (o *compareOptions) writeComparison(u *ui, c *analysis.Comparison) error {
	figures, absent := plot.Compare(c)
	return o.fill(u, o.out, page{
		name: "compare", figures: figures, absent: absent,
		html: func(w io.Writer, images []html.Image, absent []html.Absent, options html.Options) error {
			return html.WriteComparison(w, c, images, absent, options)
		},
		json: func(w io.Writer) error { return report.CompareJSON(w, c) },
	})
}

// readRuns reads run directories, each of which may be given once.
func readRuns(dirs []string) ([]analysis.RunResult, error) {
	runs := make([]analysis.RunResult, len(dirs))
	infos := make([]fs.FileInfo, len(dirs))
	for i, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, err
		}
		for j, before := range infos[:i] {
			if os.SameFile(before, info) {
				return nil, usageError("%s and %s are the same run", dirs[j], dir)
			}
		}
		infos[i] = info
		run, result, err := readRunDir(dir)
		if err != nil {
			e := &exitError{status: statusNothing, err: err}
			return nil, e.hint("bgcstat record --out RUN -- COMMAND writes a run directory")
		}
		dir = filepath.Clean(dir)
		if base := filepath.Base(dir); base == "." || base == ".." { // which are no names
			if dir, err = filepath.Abs(dir); err != nil {
				return nil, err
			}
		}
		runs[i] = analysis.RunResult{Dir: dir, Run: run, Result: result}
	}
	return runs, nil
}
