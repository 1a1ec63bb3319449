package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/report/html"
	"bgcstat/report/plot"
)

var look = flag.String("look", "", "write what the pages look like in a browser and on paper into this `directory`")

// pages writes the pages of all logs in testdata, of an empty result and of
// names that mean harm, and gives their files by what they are of.
func pages(t *testing.T) map[string]string {
	t.Helper()
	root, out := "../../testdata", t.TempDir()
	files := map[string]string{}
	var work errgroup.Group
	work.SetLimit(runtime.NumCPU())
	analyze := func(name string, args ...string) {
		dir := filepath.Join(out, name)
		files[name] = filepath.Join(dir, "report.html")
		args = append([]string{"analyze", "--out", dir}, args...)
		work.Go(func() error {
			var stdout, stderr bytes.Buffer
			if status := run(args, strings.NewReader(""), &stdout, &stderr); status != statusDone && status != statusDamaged {
				return fmt.Errorf("%s: status %d\n%s", strings.Join(args, " "), status, &stderr)
			}
			return nil
		})
	}
	kinds := []string{"groundtruth", "binlog", "trace"}
	if testing.Short() { // under the race detector drawing takes ten times as long
		kinds = kinds[2:]
	}
	for _, kind := range kinds {
		sets, err := filepath.Glob(filepath.Join(root, kind, "*", "meta.json"))
		if kind != "groundtruth" {
			sets, err = filepath.Glob(filepath.Join(root, kind, "*", "README.md"))
		}
		if kind == "trace" {
			sets, err = filepath.Glob(filepath.Join(root, kind, "*", "trace.ndjson"))
		}
		if err != nil || len(sets) < 2 {
			t.Fatalf("%s: %v, %v", kind, sets, err)
		}
		for _, set := range sets {
			dir := filepath.Dir(set)
			args := []string{dir}
			if kind == "trace" {
				args = append(args, "--trace", set)
			}
			analyze(kind+"-"+filepath.Base(dir), args...)
		}
	}
	if !testing.Short() {
		for name, log := range sharedLogs(t) {
			analyze(name, "--theme", "light", log)
		}
	}
	analyze("empty", "--table", "no.such", filepath.Join(root, "binlog/mysql-9.7-row"))
	analyze("stated", "--sync-binlog", "10", "--redact", filepath.Join(root, "binlog/mariadb-11.8"))
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}
	for name, c := range comparisons(t) {
		dir := filepath.Join(out, name)
		files[name] = filepath.Join(dir, "compare.html")
		o := &compareOptions{pageOptions: pageOptions{out: dir, plots: plot.CompareNames(), theme: "auto", plotFormat: "png", width: plot.DefaultWidth}}
		if err := o.writeComparison(quiet, c); err != nil {
			t.Fatal(err)
		}
	}
	files["hostile"] = filepath.Join(out, "hostile.html")
	r := hostile()
	figures, absent := plot.Figures(r)
	var images []html.Image
	for _, f := range figures {
		var png bytes.Buffer
		if err := f.WritePNG(&png); err != nil {
			t.Fatal(err)
		}
		images = append(images, html.Image{Name: f.Name, Title: f.Title, Alt: f.Alt, Reading: f.Reading, PNG: png.Bytes()})
	}
	var page bytes.Buffer
	without := []html.Absent{{Name: harm, Why: harm}}
	for _, a := range absent {
		without = append(without, html.Absent(a))
	}
	if err := html.Write(&page, r, images, without, html.Options{Version: harm}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files["hostile"], page.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return files
}

// sharedLogs gives logs that are not part of the project, by what to call their
// pages: of other people's servers, where they are readable and have times, and
// with their true groups.
func sharedLogs(t *testing.T) map[string]string {
	t.Helper()
	logs := map[string]string{}
	shared := "../../../shared"
	for _, pattern := range []string{"groundtruth/*/*-bin.000001", "corpus/*"} {
		found, err := filepath.Glob(filepath.Join(shared, pattern))
		if err != nil || len(found) == 0 {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s/%s: %v, %v", shared, pattern, found, err)
			}
			t.Logf("without the logs of %s/%s, which are not here", shared, pattern)
		}
		for _, log := range found {
			if inputs, err := parser.Find([]string{log}, nil); err == nil && len(inputs) == 1 && inputs[0].Head.Flavor != 0 {
				logs[strings.ReplaceAll(strings.TrimPrefix(log, shared+"/"), "/", "-")] = log
			}
		}
	}
	return logs
}

// comparisons are those that the reports are tested with, and one whose names
// mean harm.
func comparisons(t *testing.T) map[string]*analysis.Comparison {
	t.Helper()
	all := map[string]*analysis.Comparison{}
	for name, file := range map[string]string{"compare": "compare", "compare-repeats": "compare-repeats", "compare-several": "compare-several", "compare-hostile": "compare-several"} {
		b, err := os.ReadFile("../../report/testdata/" + file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		c := &analysis.Comparison{}
		if err := json.Unmarshal(b, c); err != nil {
			t.Fatal(err)
		}
		all[name] = c
	}
	c := all["compare-hostile"]
	for i := range c.Runs {
		r := &c.Runs[i]
		r.Name, r.Command, r.Version, r.Exit.Signal, r.Codes = harm, []string{harm}, harm, harm, []string{harm}
		c.Columns[i].Name = harm
	}
	c.Settings[0].Name, c.Settings[0].Values[0], c.Warnings[0].Message = harm, new(harm), harm
	c.Figures[len(c.Figures)-1].Name = harm
	return all
}

// harm is what a name may be at its worst.
var harm = `</script></style><script>document.title="harmed"</script><img src=x onerror="document.title='harmed'">` +
	"\u202eגנב\u2066 \u05e9\u05dc\u05d5\u05dd\r\n\x00\x1b[2J\ufeff" + strings.Repeat("😀", 64) + strings.Repeat("long", 1000)

// hostile is a result all of whose names mean harm.
func hostile() *analysis.Result {
	at := analysis.Position{File: harm, Position: 4}
	r := &analysis.Result{
		Sources:      []analysis.Source{{File: harm, ServerVersion: harm, Flavor: harm, Kind: harm, Error: harm}, {File: strings.Repeat("👨‍👩‍👧", 64), Flavor: "mysql", ServerVersion: "9.7"}},
		Transactions: 3,
		Groups: analysis.Groups{
			Sync:          &analysis.GroupStats{Count: new(int64(2)), Low: 1, High: 3, Basis: analysis.Basis(harm), Method: analysis.Method(harm)},
			LastCommitted: &analysis.LastCommittedGroups{Basis: analysis.Legacy, Histogram: []analysis.HistogramBin{{Size: 1, Groups: 3}}},
		},
		DependencyTracking: analysis.DependencyTracking{ServerMode: harm, From: harm, Stretches: []analysis.Stretch{{
			Start: at, End: at, Observed: analysis.Observed(harm), Certainty: analysis.Certainty(harm), Reason: harm,
			Evidence: []analysis.Evidence{{Rule: harm, Count: 1, Earlier: at, Later: at, Why: harm}},
		}}},
		IO: &analysis.IO{
			Source: harm, Detail: harm, Syncs: map[string]analysis.Syncs{harm: {Count: 1, Exactness: harm}},
			DeviceFlushes: []analysis.DeviceFlushes{{Device: harm, Count: 3}}, Refused: []analysis.Refused{{Source: harm, Why: harm}},
			Settings: map[string]string{harm: harm},
		},
		Saved: &analysis.Saved{
			Assumes: analysis.Assumes{SyncBinlog: 1, From: harm},
			Binlog:  &analysis.SavedSync{Alone: 3, Basis: analysis.Basis(harm), Method: analysis.Method(harm), SavedByGroupingMax: 2, ShareMax: 0.6},
		},
		Clock:    analysis.Clock{Verdict: analysis.Verdict(harm)},
		Sizes:    &analysis.Sizes{Largest: []analysis.Large{{Position: at, Bytes: 9, GTID: harm, Tables: slices.Repeat([]string{harm}, 16)}}},
		Tables:   []analysis.TableStats{{Table: harm, Transactions: 3}},
		Filters:  &analysis.Filters{StartDatetime: harm, IncludeGTIDs: harm, Databases: []string{harm, harm}, Tables: []string{harm}},
		Warnings: []analysis.Warning{{Code: harm, Message: harm, Count: 9, At: &at}},
	}
	return r
}

// Every page opens without a complaint, asks for nothing, does not scroll
// sideways and is small enough to send.
func TestPagesInBrowser(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	files := pages(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := files[name]
		if info, err := os.Stat(file); err != nil || info.Size() > 2_000_000 {
			t.Errorf("%s: %d bytes, %v", name, info.Size(), err)
		}
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.open(t, file)
		for _, width := range []int{360, 800, 1600} {
			for _, scheme := range []string{"light", "dark"} {
				b.show(t, width, scheme)
				var got struct {
					Width, Inner, Images int
					Title, Background    string
					Broken               []string
				}
				b.evaluate(t, `({
					width: document.documentElement.scrollWidth, inner: innerWidth,
					images: [...document.images].filter(i => i.complete && i.naturalWidth > 0 && i.alt).length,
					title: document.title, background: getComputedStyle(document.body).backgroundColor,
					broken: [...document.querySelectorAll("body *")]
						.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".table, .picture"))
						.map(e => e.outerHTML.slice(0, 200))})`, &got)
				if got.Width > width || got.Inner != width || len(got.Broken) > 0 {
					t.Errorf("%s, %d px, %s: %d px wide in a window of %d: %.3q", name, width, scheme, got.Width, got.Inner, got.Broken)
				}
				if dark := got.Background != "rgb(255, 255, 255)"; dark != (scheme == "dark" && bytes.Contains(page, []byte("prefers-color-scheme"))) {
					t.Errorf("%s, %s: on %s", name, scheme, got.Background)
				}
				if !strings.HasPrefix(got.Title, "Group commit: ") {
					t.Errorf("%s: title %q", name, got.Title)
				}
				if want := bytes.Count(page, []byte("<img src=\"data:")); got.Images != want {
					t.Errorf("%s: %d images with words for them, want %d", name, got.Images, want)
				}
				if *look != "" {
					b.shoot(t, filepath.Join(*look, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)))
				}
			}
		}
		if *look != "" {
			b.paper(t, filepath.Join(*look, name+".pdf"))
		}
		for _, c := range b.complaints {
			t.Errorf("%s: %s", name, c)
		}
	}
}
