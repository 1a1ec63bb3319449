package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bgcstat/analysis"
	"bgcstat/report"
)

// Files of a run directory. Beside them it has report.html and the plots, and
// with --keep-log the logs' bytes in log/.
const (
	runFile          = "run.json"
	resultFile       = "report.json"
	traceName        = "trace.ndjson"
	outputFile       = "output.txt"
	transactionsFile = "transactions.csv.zst"
	logDir           = "log"
)

// unfinished is what is missing of a run that is under way.
const unfinished = "the recording did not come to its end"

// checkRunDir holds that a directory for a new run is not there, or empty.
func checkRunDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	case len(entries) > 0:
		return notEmpty(dir)
	}
	return nil
}

// makeRunDir makes a directory for a new run: of several at once for one.
func makeRunDir(dir string) error {
	if err := checkRunDir(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, runFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		return notEmpty(dir)
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	}
	return f.Close()
}

func notEmpty(dir string) error {
	return usageError("--out: %s is not empty: each run has a directory of its own", dir)
}

// writeRun writes run.json.
func writeRun(dir string, run *analysis.Run) error {
	b, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, runFile), append(b, '\n'))
}

// emptyResult is that of a run of whose log nothing is known.
func emptyResult() *analysis.Result {
	return analysis.New(analysis.Filter{}, analysis.Settings{}).Result(nil)
}

// writeResult writes report.json.
func writeResult(dir string, r *analysis.Result) error {
	var buf bytes.Buffer
	if err := report.JSON(&buf, r); err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, resultFile), buf.Bytes())
}

// replaceFile writes a file as a whole or leaves what was there: on a full disk,
// too, a run can be read.
func replaceFile(path string, b []byte) error {
	part := path + ".part"
	err := os.WriteFile(part, b, 0o666)
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		_ = os.Remove(part)
	}
	return err
}

// removeRun removes a run that has not begun, and nothing of others: its directory
// only where it was made for the run.
func removeRun(dir string, made bool) {
	for _, name := range []string{runFile, resultFile, traceName, outputFile} {
		_ = os.Remove(filepath.Join(dir, name))
	}
	if made {
		_ = os.Remove(dir)
	}
}

// readRunDir reads what record left.
func readRunDir(dir string) (*analysis.Run, *analysis.Result, error) {
	switch info, err := os.Stat(dir); {
	case err != nil:
		return nil, nil, err
	case !info.IsDir():
		return nil, nil, fmt.Errorf("%s: no run of bgcstat record: it is not a directory", dir)
	}
	run, result := &analysis.Run{}, &analysis.Result{}
	for _, f := range []struct {
		name    string
		to      any
		version *int
	}{{runFile, run, &run.SchemaVersion}, {resultFile, result, &result.SchemaVersion}} {
		b, err := os.ReadFile(filepath.Join(dir, f.name))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil, fmt.Errorf("%s: no run of bgcstat record: it has no %s", dir, f.name)
			}
			return nil, nil, err
		}
		err = json.Unmarshal(b, f.to)
		if *f.version > analysis.SchemaVersion { // of which anything may be of another type
			return nil, nil, fmt.Errorf("%s: schema version is %d, want %d: it is of a later version of bgcstat", filepath.Join(dir, f.name), *f.version, analysis.SchemaVersion)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, f.name), err)
		}
		if *f.version != analysis.SchemaVersion {
			return nil, nil, fmt.Errorf("%s: schema version is %d, want %d: it is no file of bgcstat record", filepath.Join(dir, f.name), *f.version, analysis.SchemaVersion)
		}
	}
	return run, result, nil
}
