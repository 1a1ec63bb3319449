package plot

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
	"sync"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// fonts are embedded, so that pictures do not depend on those of the machine.
var fonts = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

// canvas draws in points from the lower left corner.
type canvas struct{ *vgimg.Canvas }

func parseColor(s string) (color.NRGBA, error) {
	v, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 32)
	if err != nil || len(s) != 7 || s[0] != '#' {
		return color.NRGBA{}, fmt.Errorf("colour %q, want #rrggbb", s)
	}
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}, nil
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
	return float64(f.Width(s))
}

// wrap breaks s between words into lines of at most width points. A longer
// word has a line of its own, cut to the width.
func wrap(s string, size float64, bold bool, width float64) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
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
	c.FillString(face(size, bold), vg.Point{X: vg.Length(x), Y: vg.Length(y)}, s)
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
	at := vg.Point{X: vg.Length(x), Y: vg.Length(y)}
	var path vg.Path
	path.Move(vg.Point{X: at.X + vg.Length(radius), Y: at.Y})
	path.Arc(at, vg.Length(radius), 0, 2*math.Pi)
	path.Close()
	c.SetColor(tone)
	c.Fill(path)
}
