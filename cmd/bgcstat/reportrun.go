package main

import (
	"slices"

	"github.com/spf13/cobra"

	"bgcstat/analysis"
	"bgcstat/report"
)

func reportCommand(u *ui) *cobra.Command {
	o := &pageOptions{}
	format := "text"
	cmd := &cobra.Command{
		Use:   "report [flags] RUN",
		Short: "Report again on a run that record has made",
		Long: `Prints the report on a run, from what bgcstat record left in its directory, and
with --out writes the page and the plots anew, as with other colours or names
replaced. That directory cannot be a run's: its report.json is what is read here.

Exit status:
  0  done
  1  nothing could be reported: the directory holds no run
  2  wrong usage
  3  reported, but the recording is not complete, or a log of it is damaged`,
		Example: `  bgcstat report run1
  bgcstat report --redact --out to-send run1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("report takes one run, %d given", len(args)).hint("a run is a directory that bgcstat record --out RUN wrote; bgcstat compare takes several")
			}
			if !slices.Contains([]string{"text", "json", "csv"}, format) {
				return usageError("--format is %q, want text, json or csv", format)
			}
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			run, result, err := readRunDir(args[0])
			if err != nil {
				return err
			}
			if err := o.makeDir(); err != nil {
				return err
			}
			switch format {
			case "text":
				err = showRun(u, u.stdout, o, run, result, o.out)
			default:
				if o.redact {
					run, result = redactRun(run, result)
				}
				if format == "json" {
					err = report.JSON(u.stdout, result)
				} else {
					err = report.CSV(u.stdout, result)
				}
				if err == nil && o.out != "" {
					err = o.writePage(u, result, run, o.out)
				}
			}
			one := analysis.Compare([]analysis.RunResult{{Dir: args[0], Run: run, Result: result}})
			if err == nil && !one.Complete() {
				return &exitError{status: statusDamaged}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "print the report as `text`, json or csv")
	o.addFlags(cmd.Flags())
	return cmd
}
