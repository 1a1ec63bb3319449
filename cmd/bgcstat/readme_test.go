package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bgcstat/parser/servertest"
)

// TestReadme runs every command of the README, in a directory where only the
// project's testdata is, beside a real server, which pidof and clients find. A
// block of "sh" must succeed; in a block of "console" the lines behind a command
// must be what it prints. The two that build and
// test the project itself are run by .ci/run.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	testdata, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir, bin := t.TempDir(), t.TempDir()
	if err := os.Symlink(testdata, filepath.Join(dir, "testdata")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "bgcstat"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := servertest.Start(t, servertest.MySQL97)
	pidof := fmt.Sprintf("#!/bin/sh\necho %d\n", server.PID) // others may run here
	if err := os.WriteFile(filepath.Join(bin, "pidof"), []byte(pidof), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, ".my.cnf"), []byte("[client]\nsocket="+server.Socket+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Exec(t, "CREATE DATABASE sb")
	if _, err := exec.LookPath("sysbench"); err != nil {
		need(t, "needs sysbench: %v", err)
	}
	exec := func(line string) string {
		line = strings.Replace(line, "go run ./cmd/bgcstat", "bgcstat", 1)
		cmd := exec.Command("bash", "-o", "pipefail", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TZ=UTC", "HOME="+bin,
			"c=--mysql-socket="+server.Socket+" --mysql-user=root --mysql-db=sb")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, &errs)
		}
		return string(out)
	}

	commands := 0
	blocks := strings.Split(string(readme), "```")
	for i := 1; i < len(blocks); i += 2 {
		kind, block, _ := strings.Cut(blocks[i], "\n")
		switch kind {
		case "sh":
			for line := range strings.Lines(block) {
				line = strings.TrimSpace(line)
				if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "go install ") || strings.HasPrefix(line, "go test ") {
					continue
				}
				commands++
				exec(line)
			}
		case "console":
			for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
				line, want, _ := strings.Cut(part, "\n")
				commands++
				if got := exec(line); strings.TrimSpace(got) != strings.TrimSpace(want) {
					t.Errorf("%s prints\n%s\nthe README shows\n%s", line, got, want)
				}
			}
		case "":
		default:
			t.Errorf("block of %q: want sh or console, which this test runs, or no name", kind)
		}
	}
	if commands < 8 {
		t.Errorf("%d commands run", commands)
	}
}
