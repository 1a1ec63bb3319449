package main

import (
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

// makeRunDir makes a directory for a new run: one that was not there, or is
// empty.
func makeRunDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("--out: %s is not empty: each run has a directory of its own", dir)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// writeRun writes run.json.
func writeRun(dir string, run *analysis.Run) error {
	b, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, runFile), append(b, '\n'), 0o666)
}

// writeResult writes report.json.
func writeResult(dir string, r *analysis.Result) error {
	f, err := os.Create(filepath.Join(dir, resultFile))
	if err != nil {
		return err
	}
	if err := report.JSON(f, r); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// readRunDir reads what record left.
func readRunDir(dir string) (*analysis.Run, *analysis.Result, error) {
	run, result := &analysis.Run{}, &analysis.Result{}
	for _, f := range []struct {
		name    string
		to      any
		version *int
	}{{runFile, run, &run.SchemaVersion}, {resultFile, result, &result.SchemaVersion}} {
		b, err := os.ReadFile(filepath.Join(dir, f.name))
		if err != nil {
			if _, statErr := os.Stat(dir); statErr == nil && errors.Is(err, fs.ErrNotExist) {
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
