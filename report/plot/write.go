package plot

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Format is the kind of file that a picture is written as.
type Format string

// The formats.
const (
	PNG Format = "png"
	SVG Format = "svg"
)

// Widths of pictures, in pixels.
const (
	DefaultWidth = 1152
	MinWidth     = 320
	MaxWidth     = 4096
)

// Options are how a figure is drawn. The zero value gives a PNG of the default
// width in the light theme.
type Options struct {
	Format Format // "" for PNG
	// Width is that of the picture in pixels, 0 for DefaultWidth. The height
	// follows from it: from 768 on the picture is the same, larger or smaller,
	// and below that letters keep their size.
	Width int
	Theme Theme // "" for Light
}

// Check refuses options that no figure can be drawn with.
func (o Options) Check() error {
	o = o.withDefaults()
	switch {
	case o.Format != PNG && o.Format != SVG:
		return fmt.Errorf("format %q, want %s or %s", o.Format, PNG, SVG)
	case o.Width < MinWidth || o.Width > MaxWidth:
		return fmt.Errorf("a width of %d pixels, want %d to %d", o.Width, MinWidth, MaxWidth)
	case themes[o.Theme] == nil:
		return fmt.Errorf("theme %q, want %s or %s", o.Theme, Light, Dark)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Format == "" {
		o.Format = PNG
	}
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	if o.Theme == "" {
		o.Theme = Light
	}
	return o
}

// WritePNG writes the figure as a PNG of the default width in the light theme.
// See Write.
func (f *Figure) WritePNG(w io.Writer) error { return f.Write(w, Options{Format: PNG}) }

// WriteSVG writes the figure as an SVG of the default width in the light theme.
// See Write.
func (f *Figure) WriteSVG(w io.Writer) error { return f.Write(w, Options{Format: SVG}) }

// Write draws the figure. It fails where an axis has no range or where the
// figure is too high; values that are no numbers and points beyond the axes
// are left out, bars are cut at their edges. Nothing is written on failure
// unless w fails.
//
// Figures of the default width are PNGs of less than 300 kB. An SVG names fonts
// and does not hold them.
func (f *Figure) Write(w io.Writer, o Options) error {
	out, err := f.encode(o)
	if err != nil {
		return fmt.Errorf("plot %s: %w", f.Name, err)
	}
	_, err = w.Write(out)
	return err
}

func (f *Figure) encode(o Options) (out []byte, err error) {
	// gonum reports what it cannot draw by panics.
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("drawing: %v", p)
		}
	}()
	if err := o.Check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if err := f.check(); err != nil {
		return nil, err
	}
	// Pixels are as large as they can be while letters can be read: 96 an inch.
	dpi := max(96, o.Width*72/usualWidth)
	l := f.layout(float64(o.Width) * 72 / float64(dpi))
	if l.height > maxHeight {
		return nil, fmt.Errorf("%.0f points high, at most %d are drawn", l.height, maxHeight)
	}
	t := themes[o.Theme]
	if o.Format == SVG {
		return l.svg(o.Width, t)
	}
	return l.png(dpi, t)
}

func (l *layout) png(dpi int, t *theme) ([]byte, error) {
	img := vgimg.NewWith(vgimg.UseWH(vg.Length(l.width), vg.Length(l.height)), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(t.background))
	l.draw(&canvas{img, t, drawable})
	return encodePNG(img.Image(), l.colors(t))
}

// svg writes shapes and text. The canvas has no ground, and names a font that
// few machines have: others stand in for it, and are made as wide.
func (l *layout) svg(pixels int, t *theme) ([]byte, error) {
	c := vgsvg.NewWith(vgsvg.UseWH(vg.Length(l.width), vg.Length(l.height)))
	on := &canvas{c, t, printable}
	on.rect(0, 0, l.width, l.height, t.background)
	l.draw(on)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	_, body, ok := bytes.Cut(b.Bytes(), []byte(`xlink">`))
	if !ok {
		return nil, fmt.Errorf("no svg element in what was drawn")
	}
	body = bytes.ReplaceAll(body, []byte("font-family:Liberation Sans;font-variant:normal;"), []byte("font-family:Liberation Sans,Arimo,Arial,Helvetica,sans-serif;"))
	body = svgText.ReplaceAllFunc(body, fitted)
	var out bytes.Buffer
	// The height in pixels is rounded, and nothing is to be seen beside the ground.
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %.5g %.5g\" preserveAspectRatio=\"none\" role=\"img\">\n",
		pixels, math.Ceil(l.height*float64(pixels)/l.width), l.width, l.height)
	fmt.Fprintf(&out, "<title>%s</title>\n<desc>%s</desc>", html.EscapeString(printable(l.Title)), html.EscapeString(printable(l.Alt)))
	out.Write(body)
	return out.Bytes(), nil
}

// svgText is a text as the canvas writes it: its attributes, its style from the
// weight on, its size and what it says.
var svgText = regexp.MustCompile(`<text ([^>]*font-weight:(bold|normal)[^>]*font-size:([0-9.]+)px[^>]*)>([^<]*)</text>`)

// fitted makes a text as wide as the layout takes it to be.
func fitted(text []byte) []byte {
	m := svgText.FindSubmatch(text)
	size, err := strconv.ParseFloat(string(m[3]), 64)
	s := html.UnescapeString(string(m[4]))
	if err != nil || strings.TrimSpace(s) == "" {
		return text
	}
	return fmt.Appendf(nil, `<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, textWidth(s, size, string(m[2]) == "bold"), m[1], m[4])
}
