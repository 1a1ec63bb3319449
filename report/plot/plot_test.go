package plot

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
)

var update = flag.Bool("update", false, "write the golden files anew")

// samples are results of all shapes, by name.
func samples() map[string]*analysis.Result {
	few := exact()
	few.Groups.Sync.Histogram = hist(1, 3)
	few.Rates.Series = few.Rates.Series[:1]

	many := exact()
	many.Groups.Sync.Histogram = nil
	for size := int64(1); size <= 240; size++ {
		many.Groups.Sync.Histogram = append(many.Groups.Sync.Histogram, analysis.HistogramBin{Size: size, Groups: 1 + 3_000_000/(size*size)})
	}

	both := writeset(2000)
	both.Groups.Sync = exact().Groups.Sync
	both.Groups.Sync.Low, both.Groups.Sync.High = 1700, 1999
	both.Groups.Sync.Basis, both.Groups.Sync.Method = analysis.Estimated, "commit_timestamps"

	partly := exact()
	for i := range partly.Rates.Series[15:] {
		partly.Rates.Series[15+i].SyncGroups = nil
	}

	names := writeset(5000)
	for i := range names.Sources {
		names.Sources[i].File = "/logs/" + strings.Repeat("very-long-", 30) + "name.000017"
		names.Sources[i].ServerVersion = "8.4.6-" + strings.Repeat("commercial-", 20) + "log"
	}
	for c := 'a'; c < 'm'; c++ {
		names.Warnings = append(names.Warnings, analysis.Warning{Code: strings.Repeat(string(c), 40)})
	}

	one := &analysis.Result{
		Sources:      []analysis.Source{{File: "-", Flavor: "mysql", ServerVersion: "9.7.4"}},
		Window:       &analysis.Window{Start: at("2026-08-01T00:00:00Z"), End: at("2026-08-01T00:00:00Z"), Clock: analysis.ClockCommit},
		Transactions: 1,
		Groups: analysis.Groups{
			Bound:         &analysis.Bound{Lower: 1, Upper: 1},
			LastCommitted: &analysis.LastCommittedGroups{Runs: 1, Basis: analysis.Legacy, Method: analysis.LastCommitted, Histogram: hist(1, 1)},
		},
		Rates:   &analysis.Rates{BucketSeconds: 0.001, Series: []analysis.Bucket{{Start: at("2026-08-01T00:00:00Z"), Transactions: 1, Bytes: 300}}},
		Parents: &analysis.Parents{Every: 1, Points: []analysis.Parent{{Index: 1, Distance: 1}}},
	}

	huge := writeset(300)
	huge.Transactions = math.MaxInt64
	huge.Groups.Sync = exact().Groups.Sync
	huge.Groups.Sync.Histogram = hist(1, 1e18, 50, 2e17, 1e18, 1e18, math.MaxInt64, math.MaxInt64)
	huge.Rates.Series[3].Transactions, huge.Rates.Series[3].Bytes = math.MaxInt64, math.MaxInt64
	huge.Parents.Points = append(huge.Parents.Points, analysis.Parent{Index: 1e18, Distance: 1e18})

	all := detailedSamples()
	maps.Copy(all, map[string]*analysis.Result{
		"exact": exact(), "writeset": writeset(400), "commit order": commitOrder(2000),
		"traced": traced(), "flushes only": flushesOnly(), "busy": busy(), "noisy": noisy(),
		"few": few, "many": many, "both": both, "partly": partly, "names": names, "one": one, "huge": huge,
		"half a second":          long("2026-08-01T23:59:59.7Z", 10*time.Millisecond, 50),
		"ten minutes":            long("2026-08-01T23:55:00Z", time.Second, 600),
		"a day":                  long("2026-08-01T13:00:00Z", time.Minute, 1440),
		"30 days":                long("2026-07-20T05:10:00Z", time.Hour, 720),
		"30 days, short buckets": long("2026-07-20T05:10:00Z", 10*time.Second, 30*8640),
		"a year":                 long("2025-08-01T23:55:00Z", 24*time.Hour, 400),
		"a century":              long("1970-01-01T00:00:00Z", 30*24*time.Hour, 1200),
	})
	return all
}

func figure(t *testing.T, r *analysis.Result, name string) *Figure {
	t.Helper()
	figures, absent := Figures(r)
	for i := range figures {
		if figures[i].Name == name {
			return &figures[i]
		}
	}
	t.Fatalf("no %s, but %v", name, absent)
	return nil
}

// number is a fraction on a line of its own.
var number = regexp.MustCompile(`(?m)-?[0-9]+\.[0-9]+(e[-+][0-9]+)?,?$`)

// rounded leaves out the digits in which kinds of CPU may differ.
func rounded(s []byte) []byte {
	digits, comma := bytes.CutSuffix(s, []byte(","))
	v, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		return s
	}
	out := strconv.AppendFloat(nil, v, 'g', 13, 64)
	if comma {
		out = append(out, ',')
	}
	return out
}

func TestFigureGolden(t *testing.T) {
	small := writeset(24)
	small.Rates.Series = small.Rates.Series[:12]
	for name, r := range map[string]*analysis.Result{"exact": exact(), "writeset": small, "traced": traced(), "flushes-only": flushesOnly(), "detailed": smallDetailed()} {
		figures, absent := Figures(r)
		if name == "detailed" { // the others are in traced
			figures = slices.DeleteFunc(figures, func(f Figure) bool {
				return !slices.Contains([]string{Heat, FlushGroups, Transactions, Tables}, f.Name)
			})
		}
		got, err := json.MarshalIndent(struct {
			Figures []Figure `json:"figures"`
			Absent  []Absent `json:"absent,omitempty"`
		}{figures, absent}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		goldenJSON(t, name, got)
	}
}

// goldenJSON compares figures with what is written of them.
func goldenJSON(t *testing.T, name string, got []byte) {
	t.Helper()
	got = append(number.ReplaceAllFunc(got, rounded), '\n')
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		out := filepath.Join(t.ArtifactDir(), name+".json")
		if err := os.WriteFile(out, got, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s: differs, see %s (keep it with -artifacts)", file, out)
	}
}

// One picture of each kind, at half the resolution; what is in them is tested
// as data.
func TestPNGGolden(t *testing.T) {
	t.Parallel()
	goldenPNG(t, "exact-timeline.png", Light, figure(t, exact(), Timeline))
	goldenPNG(t, "writeset-group-size.png", Light, figure(t, writeset(400), GroupSize))
	goldenPNG(t, "writeset-parents.png", Light, figure(t, writeset(400), Parents))
	goldenPNG(t, "traced-timeline.png", Light, figure(t, traced(), Timeline))
	goldenPNG(t, "traced-fsyncs.png", Light, figure(t, traced(), Fsyncs))
	goldenPNG(t, "traced-sync-latency.png", Light, figure(t, traced(), SyncLatency))
	goldenPNG(t, "busy-sync-latency.png", Light, figure(t, busy(), SyncLatency)) // logarithmic
	goldenPNG(t, "detailed-heat.png", Light, figure(t, full(), Heat))
	goldenPNG(t, "detailed-heat-dark.png", Dark, figure(t, full(), Heat))
	goldenPNG(t, "detailed-flush-groups.png", Light, figure(t, full(), FlushGroups))
	goldenPNG(t, "detailed-transactions.png", Light, figure(t, full(), Transactions))
	goldenPNG(t, "hostile-tables.png", Light, figure(t, samples()["hostile names"], Tables))
	goldenPNG(t, "traced-fsyncs-dark.png", Dark, figure(t, traced(), Fsyncs))
}

func goldenPNG(t *testing.T, name string, theme Theme, f *Figure) {
	t.Helper()
	got, err := f.layout(usualWidth).png(72, themes[theme])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if why := different(decode(t, got), decode(t, want)); why != "" {
		out := filepath.Join(t.ArtifactDir(), name)
		if err := os.WriteFile(out, got, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s: %s, see %s (keep it with -artifacts)", file, why, out)
	}
}

func decode(t *testing.T, raw []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// different says how two pictures differ beyond what another kind of CPU may
// do to the edges of shapes: less than a hundredth of the pixels, and each by
// less than a quarter of the range.
func different(a, b image.Image) string {
	if a.Bounds() != b.Bounds() {
		return "size " + a.Bounds().String() + ", want " + b.Bounds().String()
	}
	changed, worst := 0, 0
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			p := color.NRGBAModel.Convert(a.At(x, y)).(color.NRGBA)
			q := color.NRGBAModel.Convert(b.At(x, y)).(color.NRGBA)
			d := max(distance(p.R, q.R), distance(p.G, q.G), distance(p.B, q.B), distance(p.A, q.A))
			if d > 2 {
				changed++
			}
			worst = max(worst, d)
		}
	}
	switch size := a.Bounds().Size(); {
	case changed*100 > size.X*size.Y:
		return "more than 1% of the pixels differ"
	case worst > 64:
		return "a pixel differs by more than a quarter"
	}
	return ""
}

func distance(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }

func TestDifferent(t *testing.T) {
	plain := func(w, h int) *image.NRGBA {
		img := image.NewNRGBA(image.Rect(0, 0, w, h))
		for i := range img.Pix {
			img.Pix[i] = 255
		}
		return img
	}
	if different(plain(20, 10), plain(10, 20)) == "" {
		t.Error("pictures of different shape pass")
	}
	spot := plain(20, 10)
	spot.Pix[0] = 0
	if different(plain(20, 10), spot) == "" {
		t.Error("a wrong pixel passes")
	}
	spot.Pix[0] = 240
	if why := different(plain(20, 10), spot); why != "" {
		t.Errorf("an edge that moved a little: %s", why)
	}
}

func TestPNG(t *testing.T) {
	t.Parallel()
	detailed := detailedSamples()
	for name, r := range samples() {
		figures, absent := Figures(r)
		if len(figures)+len(absent) != len(Names()) {
			t.Errorf("%s: %d figures and %d absent, want %d in all", name, len(figures), len(absent), len(Names()))
		}
		for _, f := range figures {
			if _, err := json.Marshal(f); err != nil {
				t.Errorf("%s: %s: %v", name, f.Name, err)
			}
			// At a quarter of the resolution, for speed; and what only differs in its
			// details without the rest.
			if _, same := detailed[name]; same && !slices.Contains([]string{Heat, FlushGroups, Transactions, Tables}, f.Name) {
				continue
			}
			if _, err := f.layout(usualWidth).png(36, themes[Light]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, name := range Names() {
		var a, b bytes.Buffer
		f := figure(t, full(), name)
		if err := f.WritePNG(&a); err != nil {
			t.Fatal(err)
		}
		img := decode(t, a.Bytes())
		if w := img.Bounds().Dx(); w != 1152 {
			t.Errorf("%s is %d pixels wide, want 1152", name, w)
		}
		if c := color.NRGBAModel.Convert(img.At(0, 0)); c != themes[Light].background {
			t.Errorf("%s: the background is %v, want white", name, c)
		}
		if err := figure(t, full(), name).WritePNG(&b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: other bytes the second time (%v)", name, err)
		}
	}
}

// What a figure must have, whatever the result.
func TestInvariants(t *testing.T) {
	t.Parallel()
	for name, r := range samples() {
		figures, _ := Figures(r)
		for _, f := range figures {
			if err := f.check(); err != nil {
				t.Errorf("%s: %s: %v", name, f.Name, err)
			}
			if !strings.Contains(strings.Join(f.Subtitle, " "), "basis ") && f.Name != Parents {
				t.Errorf("%s: %s: no basis in the subtitle %q", name, f.Name, f.Subtitle)
			}
			if f.Reading == "" || !strings.HasSuffix(f.Reading, ".") || f.Alt == "" || !strings.HasSuffix(f.Alt, ".") || len(f.Alt) > 900 {
				t.Errorf("%s: %s: reading %q and alt %q", name, f.Name, f.Reading, f.Alt)
			}
			axes := []Axis{f.X}
			for _, p := range f.Panels {
				axes = append(axes, p.Y)
				x := f.X
				if p.X != nil {
					x = *p.X
					axes = append(axes, x)
				}
				if (p.Note == "") != (len(p.Series) > 0) {
					t.Errorf("%s: %s: a panel with %d series and the note %q", name, f.Name, len(p.Series), p.Note)
				}
				for _, s := range p.Series {
					if n := 2 * len(s.Bars); n > 1000 && s.Kind != Cells {
						t.Errorf("%s: %s: %d points in a line", name, f.Name, n)
					}
					for _, b := range s.Bars {
						if b.Value > p.Y.Max || b.Value < b.Low || b.Low < 0 || b.From >= b.To || b.From < x.Min || b.To > x.Max {
							t.Errorf("%s: %s: bar %v is beyond the axes", name, f.Name, b)
						}
					}
					for _, at := range s.Points {
						if at.X < x.Min || at.X > x.Max || at.Y < p.Y.Min || at.Y > p.Y.Max {
							t.Errorf("%s: %s: point %v is beyond the axes", name, f.Name, at)
						}
					}
				}
			}
			for _, a := range axes {
				if a.Label == "" || a.Unit == "" {
					t.Errorf("%s: %s: axis %q has the unit %q", name, f.Name, a.Label, a.Unit)
				}
			}
			bins := []string{GroupSize, SyncLatency, FlushGroups, Transactions}
			for _, width := range []float64{usualWidth, MinWidth * 72 / 96} {
				l := f.layout(width)
				for _, p := range l.panels {
					if !p.x.used {
						continue
					}
					labels := l.xLabels(p.x)
					for i := 1; i < len(labels); i++ {
						if labels[i].left <= labels[i-1].right {
							t.Errorf("%s: %s: labels %q and %q overlap", name, f.Name, labels[i-1].lines, labels[i].lines)
						}
					}
					for _, label := range labels {
						if label.left < 0 || label.right > width {
							t.Errorf("%s: %s: label %q is cut", name, f.Name, label.lines)
						}
					}
					want := 0
					for _, tick := range p.x.Ticks {
						if tick.Label != "" {
							want++
						}
					}
					if width == usualWidth && (len(labels) != want || want < 2 && !slices.Contains(bins, f.Name)) {
						t.Errorf("%s: %s: %d labels of %d have room on the horizontal axis", name, f.Name, len(labels), want)
					}
					title, legend := margin+textWidth(p.Y.title(), textSize, true), legendWidth(p.Series)
					if legend > 0 && !p.stacked && title > l.right-legend || len(p.legend) > 1 && width == usualWidth {
						t.Errorf("%s: %s: the legend of %q has no room", name, f.Name, p.Y.title())
					}
					for _, line := range p.legend {
						if legendWidth(line)-12 > l.right-margin {
							t.Errorf("%s: %s: an entry of the legend of %q is cut at %v", name, f.Name, p.Y.title(), width)
						}
					}
				}
			}
		}
	}
}

func TestAbsent(t *testing.T) {
	now := at("2026-08-01T00:00:00Z")
	noTimes := &analysis.Rates{BucketSeconds: math.NaN(), Series: []analysis.Bucket{{Start: now, Transactions: 1}}}
	for _, tt := range []struct {
		name string
		r    analysis.Result
		want map[string]string // parts of the reasons
	}{
		{"empty", analysis.Result{}, map[string]string{
			GroupSize: "no transactions", Timeline: "has a time", Parents: "no transaction has last_committed",
			Fsyncs: "no transactions", SyncLatency: "no trace",
			Heat: "no transactions", FlushGroups: "no transactions", Transactions: "neither sizes nor durations", Tables: "no transactions",
		}},
		{"no clock", analysis.Result{Transactions: 5}, map[string]string{GroupSize: "not known", Timeline: "", Parents: "", Fsyncs: "number of sync groups is not known", Heat: "neither how long", FlushGroups: "commit timestamps", Tables: "no row events"}},
		{"no sizes", analysis.Result{
			Transactions: 5,
			Groups:       analysis.Groups{LastCommitted: &analysis.LastCommittedGroups{Histogram: hist(-1, 5, 0, 3, 7, 0)}},
			Rates:        noTimes,
			Parents:      &analysis.Parents{Points: []analysis.Parent{{Index: 1}, {Index: 2, Distance: -5}}},
		}, map[string]string{GroupSize: "not known", Timeline: "NaN", Parents: "all of 2 parent distances"}},
	} {
		figures, absent := Figures(&tt.r)
		if len(figures) != 0 || len(absent) != len(Names()) {
			t.Errorf("%s: %d figures, %v", tt.name, len(figures), absent)
		}
		for _, a := range absent {
			if !strings.Contains(a.Why, tt.want[a.Name]) || a.Why == "" {
				t.Errorf("%s: %s: %q, want %q in it", tt.name, a.Name, a.Why, tt.want[a.Name])
			}
		}
	}
	for _, bucket := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 5e-324} {
		f, why := timeline(&analysis.Result{Rates: &analysis.Rates{BucketSeconds: bucket, Series: noTimes.Series}})
		if f != nil || why == "" {
			t.Errorf("buckets of %g s: a figure", bucket)
		}
	}
}

// WritePNG takes any figure, also one that Figures would not make.
func TestWritePNGAnyFigure(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	values := []float64{nan, inf, -inf, 0, -1, 1, 1e18, -1e300, 5e-324}
	var bars []Bar
	var points []Point
	for _, v := range values {
		for _, w := range values {
			bars = append(bars, Bar{v, w, v, w, "label"}, Bar{0, 1, w, v, "a\n\nb"})
			points = append(points, Point{v, w})
		}
	}
	axis := Axis{Label: "a", Unit: "u", Max: 1, Ticks: []Tick{{nan, "x"}, {inf, "y"}, {0, "z"}, {0, "z"}, {0.5, ""}}}
	logAxis := Axis{Label: "a", Unit: "u", Min: 1, Max: 1e18, Log: true, Ticks: axis.Ticks}
	dashed := &Stroke{Width: 20, Dash: []float64{0.2, 100, 3}}
	for _, kind := range []Kind{Filled, Outline, Interval, Area, Steps, Levels, Unknown, Across, Cells, Dots, Line, "other"} {
		for _, y := range []Axis{axis, logAxis} {
			series := []Series{{Kind: kind, Color: blue, Label: "some", Bars: bars, Points: points}, {Kind: kind, Color: blue}}
			if kind == Levels || kind == Line {
				series[0].Stroke = dashed
			}
			f := Figure{X: axis, Panels: []Panel{{Y: y, Height: 50, Series: series}, {X: &logAxis, Y: y, Height: 50, Series: series}}}
			if err := f.WritePNG(new(bytes.Buffer)); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			var b bytes.Buffer
			if err := f.WriteSVG(&b); err != nil || bytes.Contains(b.Bytes(), []byte("NaN")) || bytes.Contains(b.Bytes(), []byte("Inf")) {
				t.Errorf("%s: %v, or no numbers in the SVG", kind, err)
			}
		}
	}

	fine := Panel{Y: axis, Height: 50}
	stroked := func(width float64, dash ...float64) Figure {
		return Figure{X: axis, Panels: []Panel{{Y: axis, Height: 50, Series: []Series{{Kind: Line, Color: blue, Stroke: &Stroke{width, dash}}}}}}
	}
	for name, f := range map[string]Figure{
		"no panels":         {X: axis},
		"no range":          {X: Axis{Min: 1, Max: 1}, Panels: []Panel{fine}},
		"reversed":          {X: Axis{Min: 1}, Panels: []Panel{fine}},
		"no number":         {X: Axis{Max: nan}, Panels: []Panel{fine}},
		"infinite":          {X: Axis{Max: inf}, Panels: []Panel{fine}},
		"overflow":          {X: Axis{Min: -1.7e308, Max: 1.7e308}, Panels: []Panel{fine}},
		"bad own axis":      {X: axis, Panels: []Panel{{X: &Axis{Max: nan}, Y: axis, Height: 50}}},
		"logarithm of 0":    {X: axis, Panels: []Panel{{Y: Axis{Max: 1, Log: true}, Height: 50}}},
		"no height":         {X: axis, Panels: []Panel{{Y: axis}}},
		"height no number":  {X: axis, Panels: []Panel{{Y: axis, Height: nan}}},
		"too high":          {X: axis, Panels: []Panel{{Y: axis, Height: 1e18}}},
		"endless subtitles": {X: axis, Panels: []Panel{fine}, Subtitle: []string{strings.Repeat("word ", 1e4)}},
		"bad colour":        {X: axis, Panels: []Panel{{Y: axis, Height: 50, Series: []Series{{Kind: Line, Color: "blue"}}}}},
		"no width":          stroked(0),
		"width no number":   stroked(nan),
		"wide":              stroked(1e6),
		"endless dashes":    stroked(1, 1, 0),
		"dash no number":    stroked(1, nan),
		"infinite dash":     stroked(1, inf),
		"many dashes":       stroked(1, make([]float64, 9)...),
	} {
		var b bytes.Buffer
		if err := f.WritePNG(&b); err == nil || b.Len() > 0 {
			t.Errorf("%s: error %v and %d bytes, want an error alone", name, err, b.Len())
		}
		if err := f.WriteSVG(&b); err == nil || b.Len() > 0 {
			t.Errorf("%s, SVG: error %v and %d bytes, want an error alone", name, err, b.Len())
		}
	}
	for name, f := range map[string]Figure{
		"one long word": {X: axis, Panels: []Panel{fine}, Title: strings.Repeat("word", 1e5)},
		"odd letters":   {X: axis, Panels: []Panel{fine}, Title: "\x00\xff\u202e日本語 🎉\n\t"},
	} {
		if err := f.WritePNG(new(bytes.Buffer)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	want := errors.New("disk full")
	f := Figure{X: axis, Panels: []Panel{fine}}
	if err := f.WritePNG(failing{want}); !errors.Is(err, want) {
		t.Errorf("got the error %v, want %v", err, want)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// No figure takes more than a second, however large the log: its values are
// bounded.
func BenchmarkWrite(b *testing.B) {
	largest := samples()["widest heat"]
	largest.Parents = commitOrder(60000).Parents
	largest.Rates = long("2026-07-20T05:10:00Z", time.Hour, 720).Rates
	figures, _ := Figures(largest)
	for _, f := range figures {
		for _, o := range []Options{{}, {Format: SVG}} {
			b.Run(f.Name+"-"+string(o.withDefaults().Format), func(b *testing.B) {
				var size int
				for b.Loop() {
					var out bytes.Buffer
					if err := f.Write(&out, o); err != nil {
						b.Fatal(err)
					}
					size = out.Len()
				}
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}

func BenchmarkFigures(b *testing.B) {
	largest := samples()["widest heat"]
	largest.Parents = commitOrder(60000).Parents
	for b.Loop() {
		Figures(largest)
	}
}
