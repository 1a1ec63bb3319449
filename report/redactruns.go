package report

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"bgcstat/analysis"
)

// RedactRuns returns copies of runs without the names of the place that they
// are from, as Redact does of a result: the same name gets the same short one
// in all of them, so that what differs still does. Labels become label1 and so
// on, directories run1. Of a command what is no number and no usual word of a
// load generator becomes value1.
func RedactRuns(runs []analysis.RunResult) []analysis.RunResult {
	results := make([]*analysis.Result, len(runs))
	for i := range runs {
		results[i] = runs[i].Result
	}
	// Hosts are known also where there is no trace.
	var hosts []string
	for _, r := range runs {
		hosts = append(hosts, r.Run.Settings["hostname"])
		if r.Run.Host != nil {
			hosts = append(hosts, r.Run.Host.Name)
		}
	}
	d := newRedactor(hosts, results...)
	out := make([]analysis.RunResult, len(runs))
	for i, r := range runs {
		out[i] = analysis.RunResult{Dir: d.name("run", r.Dir), Run: d.run(r.Run), Result: d.result(r.Result)}
	}
	return out
}

func (d *redactor) run(r *analysis.Run) *analysis.Run {
	out := *r
	out.Label = d.name("label", r.Label)
	out.Command = slices.Clone(r.Command)
	for i, arg := range out.Command {
		out.Command[i] = d.argument(arg)
	}
	out.Exit.Error = d.text(r.Exit.Error)
	out.Server.Address = d.name("host", r.Server.Address)
	if r.Host != nil {
		host := *r.Host
		host.Name = d.name("host", host.Name)
		if !kernelDisk.MatchString(host.Device) {
			host.Device = d.name("disk", host.Device)
		}
		out.Host = &host
	}
	out.Settings, out.Changed = d.runSettings(r.Settings), d.runSettings(r.Changed)
	out.From.File = d.file(r.From.File)
	if r.To != nil {
		out.To = &analysis.Position{File: d.file(r.To.File), Position: r.To.Position}
	}
	out.Missing, out.Without = each(r.Missing, d.text), each(r.Without, d.text)
	return &out
}

// runSettings is setting for all of them, but other values stay different.
func (d *redactor) runSettings(settings map[string]string) map[string]string {
	if settings == nil {
		return nil
	}
	out := make(map[string]string, len(settings))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := settings[name]
		if out[name] = d.setting(name, value); out[name] == "redacted" {
			out[name] = d.name("value", value)
		}
	}
	return out
}

var (
	plainWord  = regexp.MustCompile(`^([0-9]+([.,][0-9]+)?[a-zA-Z%]?|on|off|true|false|yes|no|run|prepare|cleanup|mysql|mariadb|rand|uniform|gaussian|special|pareto|zipfian|oltp_[a-z_]+|group_commit|hot_row|\*\*\*)?$`)
	programs   = []string{"sysbench", "mysqlslap", "mariadb-slap", "mysql", "mariadb", "sh", "bash", "timeout", "nice", "env"}
	optionName = regexp.MustCompile(`^--?[a-zA-Z0-9_-]+$`)
)

// argument redacts a word of a command: the name of an option stays.
func (d *redactor) argument(arg string) string {
	name, value, ok := strings.Cut(arg, "=")
	switch {
	case plainWord.MatchString(strings.TrimSuffix(path.Base(arg), ".lua")) || slices.Contains(programs, path.Base(arg)):
		return path.Base(arg)
	case ok && optionName.MatchString(name):
		return name + "=" + d.argument(value)
	case strings.HasPrefix(arg, "--") && optionName.MatchString(arg), len(arg) == 2 && optionName.MatchString(arg):
		return arg
	default:
		return d.name("value", arg)
	}
}
