package plot

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/vg"
)

// check refuses what would take long to draw.
func (s *Stroke) check() error {
	if s == nil {
		return nil
	}
	if !(s.Width > 0 && s.Width <= 20) {
		return fmt.Errorf("a line %g points wide", s.Width)
	}
	if len(s.Dash) > 8 {
		return fmt.Errorf("%d dashes and gaps, at most 8 are drawn", len(s.Dash))
	}
	for _, d := range s.Dash {
		if !(d >= 0.2 && d <= 100) {
			return fmt.Errorf("a dash %g points long", d)
		}
	}
	return nil
}

// stroke is the stroke of the series, or the usual one of its kind.
func (s *Series) stroke() Stroke {
	switch {
	case s.Stroke != nil:
		return *s.Stroke
	case s.Kind == Dots:
		return Stroke{Width: 2.4}
	default:
		return Stroke{Width: 1.6}
	}
}

// stroke draws a path, with dashes where it has any.
func (c *canvas) stroke(tone color.NRGBA, s Stroke, p [][2]float64) {
	dash := make([]vg.Length, len(s.Dash))
	for i, d := range s.Dash {
		dash[i] = vg.Length(d)
	}
	c.SetLineDash(dash, 0)
	c.path(tone, s.Width, p)
	c.SetLineDash(nil, 0)
}

// levels draws the upper edges of bars, those that touch as one line.
func (c *canvas) levels(s Stroke, tone color.NRGBA, edges []edge) {
	for len(edges) > 0 {
		n := touching(edges)
		var path [][2]float64
		for _, e := range edges[:n] {
			path = append(path, [2]float64{e.left, e.top}, [2]float64{e.right, e.top})
		}
		c.stroke(tone, s, path)
		edges = edges[n:]
	}
}

// touching is how many of the bars touch from the first on, at least 1.
func touching(edges []edge) int {
	n := 1
	for n < len(edges) && edges[n].left-edges[n-1].right < 0.01 {
		n++
	}
	return n
}

// intervals draws a bracket for each bar of the series.
func (p *place) intervals(c *canvas, s Series, tone color.NRGBA, r field) {
	for _, b := range s.Bars {
		from, ok1 := p.x.place(b.From)
		to, ok2 := p.x.place(b.To)
		low, ok3 := p.Y.place(b.Low)
		high, ok4 := p.Y.place(b.Value)
		if !ok1 || !ok2 || !ok3 || !ok4 || !within(from) || !within(to) {
			continue
		}
		x := r.left + (from+to)/2*(r.right-r.left)
		c.bracket(tone, x, r.bottom+clamp(low)*(r.top-r.bottom), r.bottom+clamp(high)*(r.top-r.bottom), 6)
	}
}

// blocks draws the rectangles of Across and Cells. Those of a heat map reach a
// little under the next ones, so that no seams are seen between them.
func (p *place) blocks(c *canvas, s Series, tone color.NRGBA, r field) {
	var cells []field
	for _, b := range s.Bars {
		from, ok1 := p.x.place(b.From)
		to, ok2 := p.x.place(b.To)
		low, ok3 := p.Y.place(b.Low)
		high, ok4 := p.Y.place(b.Value)
		from, to, low, high = clamp(from), clamp(to), clamp(low), clamp(high)
		if !ok1 || !ok2 || !ok3 || !ok4 || from >= to || low >= high {
			continue
		}
		left, right := r.left+from*(r.right-r.left), r.left+to*(r.right-r.left)
		bottom, top := r.bottom+low*(r.top-r.bottom), r.bottom+high*(r.top-r.bottom)
		if s.Kind == Cells {
			const seam = 0.3
			// What is there is seen, be it ever so narrow.
			cells = append(cells, field{left, bottom, min(r.right, max(right+seam, left+0.8)), min(r.top, top+seam)})
			continue
		}
		right = max(right, left+0.8)
		c.rect(left, bottom, right, top, tone)
		c.edge(left, bottom, right, top)
	}
	c.rects(tone, cells)
}

// edge draws the thin edge of a rectangle that lies beside others.
func (c *canvas) edge(left, bottom, right, top float64) {
	path := points([][2]float64{{left, bottom}, {right, bottom}, {right, top}, {left, top}})
	path.Close()
	c.SetColor(c.ink)
	c.SetLineWidth(0.5)
	c.Stroke(path)
}

// acrossLabel writes the label of a bar of Across at its end.
func (p *place) acrossLabel(c *canvas, b Bar, r field) {
	to, ok1 := p.x.place(b.To)
	low, ok2 := p.Y.place(b.Low)
	high, ok3 := p.Y.place(b.Value)
	if b.Label == "" || !ok1 || !ok2 || !ok3 {
		return
	}
	w := textWidth(b.Label, smallSize, false)
	x, y := min(r.left+clamp(to)*(r.right-r.left)+labelGap, r.right+margin/2-w), r.bottom+clamp((low+high)/2)*(r.top-r.bottom)
	c.rect(x-1, y-smallSize*0.5, x+w+1, y+smallSize*0.5, c.background)
	c.text(x, y-smallSize*0.35, b.Label, smallSize, false, c.ink)
}

// bracket draws an upright line between two short ones.
func (c *canvas) bracket(tone color.NRGBA, x, low, high, half float64) {
	c.line(tone, 1.2, x, low, x, high)
	c.line(tone, 1.2, x-half, low, x+half, low)
	c.line(tone, 1.2, x-half, high, x+half, high)
}
