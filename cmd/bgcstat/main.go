// Command bgcstat tells how well a MySQL or MariaDB server groups its commits.
// See bgcstat --help.
package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit statuses.
const (
	statusDone    = 0 // an open log may end anywhere: a note, no damage
	statusNothing = 1 // nothing could be reported
	statusUsage   = 2
	statusDamaged = 3 // reported, but the input was damaged or incomplete
)

const statusHelp = `Exit status:
  0  done; a log that is still open may end anywhere
  1  nothing could be reported: no readable binlog
  2  wrong usage: unknown flag, the same log twice, logs of different servers
  3  reported, but the input was damaged or incomplete`

// run is the whole program. It returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ui := &ui{stdin: stdin, stdout: stdout, stderr: stderr}
	root := &cobra.Command{
		Use:   "bgcstat",
		Short: "The binlog group-commit analyzer for MySQL and MariaDB",
		Long: `bgcstat tells how well a MySQL or MariaDB server groups its commits: how many
transactions shared one binlog write and one fsync, how much I/O that saved, and
how far those figures can be trusted.

` + statusHelp,
		Example: `  bgcstat analyze --out report /var/lib/mysql/binlog.000042
  bgcstat analyze --format json binlog.index | jq .groups.sync
  bgcstat dump --format csv binlog.000042
  bgcstat watch -h db1.example.com -u monitor -p
  bgcstat record -u root --out run-16 -- sysbench oltp_update_index --threads=16 run
  bgcstat compare run-8 run-16`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("unknown command %q", args[0]).hint("the commands are analyze, dump, sample, watch, record, report and compare; see bgcstat --help")
			}
			return usageError("no command").hint("see bgcstat --help")
		},
	}
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	// Not -h: that is the host, in every command that connects.
	root.PersistentFlags().Bool("help", false, "print help")
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if errors.Is(err, pflag.ErrHelp) { // pflag's word for -h
			err = errors.New("unknown shorthand flag: 'h'")
		}
		return usageError("%v", err).hint("see " + cmd.CommandPath() + " --help")
	})
	root.AddCommand(analyzeCommand(ui), dumpCommand(ui), sampleCommand(ui), watchCommand(ui), recordCommand(ui), reportCommand(ui), compareCommand(ui))

	root.SetUsageTemplate(flagsTemplate.Replace(root.UsageTemplate()))
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = func(_ *cobra.Command, args []string) error {
			if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
				return usageError("no help on %q", strings.Join(args, " ")).hint("see bgcstat --help")
			}
			return nil
		}
	}
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args = cobra.ArbitraryArgs
		completion.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("no completion for %q", strings.Join(args, " ")).hint("see bgcstat completion --help")
			}
			return cmd.Help()
		}
		for _, shell := range completion.Commands() {
			shell.Args = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return usageError("%s takes no arguments, %d given", cmd.CommandPath(), len(args)).hint("see " + cmd.CommandPath() + " --help")
				}
				return nil
			}
		}
	}

	root.SetArgs(gluedPassword(root, args))
	err := root.Execute()
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return statusDone // who reads no more wants no word of it
	}
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{status: statusNothing, err: err}
	}
	if e.err != nil {
		ui.errorf("%v", e.err)
	}
	for _, h := range e.hints {
		ui.hintf("%s", h)
	}
	return e.status
}
