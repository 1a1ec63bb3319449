package plot

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
)

// fonts are embedded, so that pictures do not depend on those of the machine.
var fonts = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

// canvas draws in points from the lower left corner, in the colours of a theme.
type canvas struct {
	vg.Canvas
	*theme
	letters func(string) string // what is drawn of a text
}

func face(size float64, bold bool) font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return fonts().Lookup(f, vg.Length(size))
}

func textWidth(s string, size float64, bold bool) float64 {
	if s == "" {
		return 0
	}
	f := face(size, bold)
	return float64(f.Width(drawable(s)))
}

// wrap breaks s between words into lines of at most width points. A longer
// word has a line of its own, cut to the width.
func wrap(s string, size float64, bold bool, width float64) []string {
	var lines []string
	line := ""
	for _, word := range words(s) {
		if textWidth(word, size, bold) > width {
			word = cut(word, size, bold, width)
		}
		switch with := line + " " + word; {
		case line == "":
			line = word
		case textWidth(with, size, bold) <= width:
			line = with
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// words are what a line may break between: all but a number and its unit.
func words(s string) []string {
	const units = " B bytes kB MB GB TB PB EB ms s min h d days % UTC "
	var out []string
	for w := range strings.FieldsSeq(s) {
		n := len(out)
		if n > 0 && strings.IndexAny(strings.TrimLeft(out[n-1], "(<>+"), "0123456789") == 0 && strings.Contains(units, " "+strings.TrimRight(w, ".,:;)")+" ") {
			out[n-1] += " " + w
			continue
		}
		out = append(out, w)
	}
	return out
}

// cut shortens a word to width points.
func cut(word string, size float64, bold bool, width float64) string {
	fits := func(n int) bool { return textWidth(shorten(word, n), size, bold) <= width }
	low, high := 1, 1000 // no thousand characters fit
	for low < high {
		mid := (low + high + 1) / 2
		if fits(mid) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return shorten(word, low)
}

func (c *canvas) text(x, y float64, s string, size float64, bold bool, tone color.NRGBA) {
	if s == "" {
		return
	}
	c.SetColor(tone)
	c.FillString(face(size, bold), vg.Point{X: vg.Length(x), Y: vg.Length(y)}, c.letters(s))
}

// printable has a question mark for each character that cannot be printed: some
// turn the writing round, and some no SVG may hold.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// drawable is printable with a square for each character that the fonts do not
// have, instead of nothing.
func drawable(s string) string {
	const latin = 0x17f // they have all up to there
	var buf sfnt.Buffer
	return strings.Map(func(r rune) rune {
		if r == ' ' {
			return '\u00a0' // as wide, and not kerned: in whole pixels little is left of the gap before an A
		}
		if r > latin {
			if i, err := face(smallSize, false).Face.GlyphIndex(&buf, r); err != nil || i == 0 {
				return '□'
			}
		}
		return r
	}, printable(s))
}

func points(p [][2]float64) vg.Path {
	var path vg.Path
	for i, at := range p {
		v := vg.Point{X: vg.Length(at[0]), Y: vg.Length(at[1])}
		if i == 0 {
			path.Move(v)
		} else {
			path.Line(v)
		}
	}
	return path
}

func (c *canvas) path(tone color.NRGBA, width float64, p [][2]float64) {
	if len(p) < 2 {
		return
	}
	c.SetColor(tone)
	c.SetLineWidth(vg.Length(width))
	c.Stroke(points(p))
}

func (c *canvas) line(tone color.NRGBA, width, x1, y1, x2, y2 float64) {
	c.path(tone, width, [][2]float64{{x1, y1}, {x2, y2}})
}

func (c *canvas) polygon(tone color.NRGBA, p [][2]float64) {
	c.SetColor(tone)
	path := points(p)
	path.Close()
	c.Fill(path)
}

func (c *canvas) rect(left, bottom, right, top float64, tone color.NRGBA) {
	c.polygon(tone, [][2]float64{{left, bottom}, {right, bottom}, {right, top}, {left, top}})
}

func (c *canvas) dot(tone color.NRGBA, x, y, radius float64) {
	c.dots(tone, radius, [][2]float64{{x, y}})
}

func (c *canvas) dots(tone color.NRGBA, radius float64, centers [][2]float64) {
	shapes(c, tone, centers, func(path *vg.Path, p [2]float64) {
		at := vg.Point{X: vg.Length(p[0]), Y: vg.Length(p[1])}
		path.Move(vg.Point{X: at.X + vg.Length(radius), Y: at.Y})
		path.Arc(at, vg.Length(radius), 0, 2*math.Pi)
		path.Close()
	})
}

func (c *canvas) rects(tone color.NRGBA, all []field) {
	shapes(c, tone, all, func(path *vg.Path, r field) {
		*path = append(*path, points([][2]float64{{r.left, r.bottom}, {r.right, r.bottom}, {r.right, r.top}, {r.left, r.top}})...)
		path.Close()
	})
}

// shapes fills shapes that are alike. Some are drawn as one, which takes less
// room in an SVG; all as one would take long to draw.
func shapes[T any](c *canvas, tone color.NRGBA, all []T, add func(*vg.Path, T)) {
	c.SetColor(tone)
	for some := range slices.Chunk(all, 256) {
		var path vg.Path
		for _, s := range some {
			add(&path, s)
		}
		c.Fill(path)
	}
}
