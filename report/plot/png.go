package plot

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
)

// encodePNG writes a picture with a palette of 256 colours, which takes a third
// of the bytes. They are its own colours, first its ground, and even steps from
// each to the ground, as the edges of shapes and letters have them. A pixel of
// another colour, as where two shapes meet, gets the nearest.
func encodePNG(img image.Image, own []color.NRGBA) ([]byte, error) {
	const most = 256
	own = own[:min(len(own), most)]
	ground := own[0]
	steps := (most - len(own)) / max(1, len(own)-1)
	palette := make(color.Palette, 0, most)
	for _, c := range own {
		palette = append(palette, c)
	}
	for _, c := range own[1:] {
		for i := range steps {
			palette = append(palette, over(c, ground, 255*(i+1)/(steps+1)))
		}
	}

	from := opaque(img)
	to := image.NewPaletted(img.Bounds(), palette)
	nearest := make(map[[3]uint8]uint8, 4*most)
	for i := range to.Pix {
		p := [3]uint8(from.Pix[4*i : 4*i+3])
		if i > 0 && p == [3]uint8(from.Pix[4*i-4:4*i-1]) {
			to.Pix[i] = to.Pix[i-1]
			continue
		}
		at, seen := nearest[p]
		if !seen {
			at = index(palette, p)
			nearest[p] = at
		}
		to.Pix[i] = at
	}
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, to)
	return b.Bytes(), err
}

// opaque gives the pixels of a picture, row by row without space between.
func opaque(img image.Image) *image.RGBA {
	if rgba, ok := img.(*image.RGBA); ok && rgba.Stride == 4*rgba.Rect.Dx() {
		return rgba
	}
	b := img.Bounds()
	out := image.NewRGBA(b)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.Set(x, y, img.At(x, y))
		}
	}
	return out
}

// index is the place of the nearest colour, the first of several.
func index(palette color.Palette, p [3]uint8) uint8 {
	best, at := math.MaxInt, 0
	for i, c := range palette {
		q := c.(color.NRGBA)
		r, g, b := int(p[0])-int(q.R), int(p[1])-int(q.G), int(p[2])-int(q.B)
		if d := r*r + g*g + b*b; d < best {
			best, at = d, i
		}
	}
	return uint8(at)
}

// colors are those that the figure is drawn in, the ground first.
func (l *layout) colors(t *theme) []color.NRGBA {
	out := []color.NRGBA{t.background, t.ink, t.muted, t.frame, t.rule, t.empty}
	seen := map[color.NRGBA]bool{}
	add := func(c color.NRGBA) {
		if !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	for _, p := range l.Panels {
		for _, s := range p.Series {
			add(t.tone(s.Color))
			if s.Kind == Area {
				add(over(t.tone(s.Color), t.background, lightAlpha))
			}
		}
	}
	return out
}
