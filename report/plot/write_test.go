package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		`format "gif", want png or svg`:                        {Format: "gif"},
		"a width of 319 pixels, want 320 to 4096":              {Width: 319},
		"a width of 4097 pixels, want 320 to 4096":             {Width: 4097},
		"a width of -1 pixels, want 320 to 4096":               {Width: -1},
		`theme "pink", want light or dark`:                     {Theme: "pink"},
		"plot x: " + `theme "pink", want light or dark` + "\n": {Theme: "pink"},
	} {
		err := o.Check()
		if strings.HasSuffix(want, "\n") { // and so says Write
			var b bytes.Buffer
			f := Figure{Name: "x"}
			err = f.Write(&b, o)
			want = strings.TrimSuffix(want, "\n")
			if b.Len() > 0 {
				t.Errorf("%v: %d bytes", o, b.Len())
			}
		}
		if err == nil || err.Error() != want {
			t.Errorf("%v: got %v, want %s", o, err, want)
		}
	}
	for _, o := range []Options{{}, {Format: SVG, Width: 320, Theme: Dark}, {Format: PNG, Width: 4096, Theme: Light}} {
		if err := o.Check(); err != nil {
			t.Errorf("%v: %v", o, err)
		}
	}
}

func TestWidths(t *testing.T) {
	t.Parallel()
	f := figure(t, full(), Tables)
	heights := map[int]int{}
	for _, width := range []int{320, 767, 768, 1001, 1600} {
		for _, theme := range []Theme{Light, Dark} {
			var a, b bytes.Buffer
			o := Options{Width: width, Theme: theme}
			if err := errors.Join(f.Write(&a, o), f.Write(&b, o)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%v: other bytes the second time", o)
			}
			img := decode(t, a.Bytes())
			if img.Bounds().Dx() != width {
				t.Errorf("%v: %d pixels wide", o, img.Bounds().Dx())
			}
			if c := color.NRGBAModel.Convert(img.At(0, 0)); c != themes[theme].background {
				t.Errorf("%v: the ground is %v", o, c)
			}
			heights[width] = img.Bounds().Dy()
		}
	}
	// The same picture, twice as large.
	if a, b := heights[768], heights[1600]; b < 2*a || b > 21*a/10 {
		t.Errorf("%d pixels high at a width of 768, and %d at 1600", a, b)
	}
}

// The labels of bars that lie stand behind them, however narrow the picture.
func TestLabelsBehind(t *testing.T) {
	var all []*Figure
	for _, r := range samples() {
		figures, _ := Figures(r)
		for i := range figures {
			all = append(all, &figures[i])
		}
	}
	for _, c := range comparisons(t) {
		figures, _ := Compare(c)
		for i := range figures {
			all = append(all, &figures[i])
		}
	}
	labels := 0
	for _, f := range all {
		for _, width := range []float64{usualWidth, MinWidth * 72 / 96} {
			l := f.layout(width)
			for _, p := range l.panels {
				for _, s := range p.Series {
					for _, b := range s.Bars {
						if s.Kind != Across || b.Label == "" {
							continue
						}
						labels++
						to, _ := p.x.place(b.To)
						if end := l.left + to*(l.right-l.left) + labelGap + labelWidth([]string{b.Label}); end > l.right+margin/2+1e-9 {
							t.Errorf("%s, %v points wide: %q ends at %v", f.Name, width, b.Label, end)
						}
					}
				}
			}
		}
	}
	if labels == 0 {
		t.Error("no labels")
	}
}

// The largest pictures that results make.
func TestPNGSize(t *testing.T) {
	t.Parallel()
	dense := commitOrder(60000)
	for i := range dense.Parents.Points {
		p := &dense.Parents.Points[i]
		p.Distance = 1 + int64(i)*7919%p.Index
		p.Proof = i%3 == 0
	}
	for name, f := range map[string]*Figure{
		"parents":     figure(t, dense, Parents),
		"timeline":    figure(t, busy(), Timeline),
		"heat":        figure(t, samples()["widest heat"], Heat),
		"noisy":       figure(t, noisy(), SyncLatency),
		"many groups": figure(t, samples()["many"], GroupSize),
		"tables":      figure(t, samples()["hostile names"], Tables),
	} {
		for _, theme := range []Theme{Light, Dark} {
			var b bytes.Buffer
			if err := f.Write(&b, Options{Theme: theme}); err != nil {
				t.Fatal(err)
			}
			if b.Len() >= 300_000 {
				t.Errorf("%s, %s: %d bytes, want less than 300,000", name, theme, b.Len())
			}
			if _, ok := decode(t, b.Bytes()).(*image.Paletted); !ok {
				t.Errorf("%s: has no palette", name)
			}
		}
	}
}

// As many points as an analysis gives.
func TestSVGSize(t *testing.T) {
	t.Parallel()
	r := commitOrder(2048)
	for i := range r.Parents.Points {
		p := &r.Parents.Points[i]
		p.Distance = 1 + int64(i)*7919%p.Index
	}
	r.IO, r.Groups.SizeOverTime = full().IO, full().Groups.SizeOverTime
	r.Rates = busy().Rates
	figures, _ := Figures(r)
	for _, f := range figures {
		var b bytes.Buffer
		if err := f.WriteSVG(&b); err != nil || b.Len() >= 300_000 {
			t.Errorf("%s: %d bytes (%v), want less than 300,000", f.Name, b.Len(), err)
		}
	}
}

// A palette of its own colours changes no pixel by more than an eye sees.
func TestPaletteError(t *testing.T) {
	t.Parallel()
	own := []color.NRGBA{{255, 255, 255, 255}, {0x22, 0x26, 0x2e, 255}, {0x0B, 0x5C, 0xAD, 255}, {0xf4, 0xf5, 0xf7, 255}}
	img := image.NewRGBA(image.Rect(0, 0, 256, 2))
	for x := range 256 {
		img.Set(x, 0, over(own[1], own[0], x))
		img.Set(x, 1, over(own[2], own[0], x))
	}
	raw, err := encodePNG(img, own)
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, raw)
	for y := range 2 {
		for x := range 256 {
			p, q := img.RGBAAt(x, y), color.NRGBAModel.Convert(got.At(x, y)).(color.NRGBA)
			if d := max(distance(p.R, q.R), distance(p.G, q.G), distance(p.B, q.B)); d > 2 || x == 255 && d != 0 || x == 0 && d != 0 {
				t.Errorf("%d of 255 over the ground: %v became %v", x, p, q)
			}
		}
	}
	// More colours than a palette has.
	for i := range 400 {
		own = append(own, color.NRGBA{uint8(i), uint8(i >> 1), 0, 255})
	}
	if raw, err = encodePNG(img, own); err != nil || decode(t, raw).Bounds() != img.Bounds() {
		t.Errorf("%d colours: %v", len(own), err)
	}
}

func TestSVG(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"full", "hostile names", "writeset", "busy", "one", "huge"} {
		figures, _ := Figures(samples()[name])
		for _, f := range figures {
			for _, o := range []Options{{Format: SVG}, {Format: SVG, Width: 360, Theme: Dark}} {
				var a, b bytes.Buffer
				if err := errors.Join(f.Write(&a, o), f.Write(&b, o)); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if !bytes.Equal(a.Bytes(), b.Bytes()) {
					t.Errorf("%s: %s: other bytes the second time", name, f.Name)
				}
				if all, sized := strings.Count(a.String(), "<text "), strings.Count(a.String(), "<text textLength="); all == 0 || all != sized {
					t.Errorf("%s: %s: %d of %d texts say how wide they are", name, f.Name, sized, all)
				}
				texts, err := readSVG(a.Bytes())
				if err != nil {
					t.Errorf("%s: %s: %v", name, f.Name, err)
				}
				has(t, name+" "+f.Name, strings.Join(texts, "\n"), strings.Fields(f.Title)[0], f.Alt)
				has(t, name+" "+f.Name, a.String(), fmt.Sprintf(` width="%d" `, o.withDefaults().Width), `fill:#`+strings.ToUpper(fmt.Sprintf("%02x%02x%02x", themes[o.withDefaults().Theme].background.R, themes[o.withDefaults().Theme].background.G, themes[o.withDefaults().Theme].background.B)))
			}
		}
	}
}

// readSVG returns the texts of a document, and an error where it is not sound
// or has anything that runs or loads.
func readSVG(raw []byte) (texts []string, err error) {
	d := xml.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts, nil
		}
		if err != nil {
			return nil, err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			switch tok.Name.Local {
			case "svg", "title", "desc", "g", "path", "text":
			default:
				return nil, fmt.Errorf("an element %q", tok.Name.Local)
			}
			for _, a := range tok.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					return nil, fmt.Errorf("an attribute %q", a.Name.Local)
				}
			}
		case xml.CharData:
			texts = append(texts, string(tok))
		}
	}
}

// Characters that the fonts do not have are seen, too.
func TestDrawable(t *testing.T) {
	for in, want := range map[string]string{
		"binlog.000001":  "binlog.000001",
		"日本 é ж א":       "□□\u00a0é\u00a0ж\u00a0א",
		"a\x00\nb\u202e": "a??b?",
		"🎉":              "□",
		"\xff":           "\ufffd",
		"…–−":            "…–−",
	} {
		if got := drawable(in); got != want && in != "\xff" {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if w := textWidth("🎉🎉", smallSize, false); w <= 0 {
		t.Errorf("a width of %g", w)
	}
}
