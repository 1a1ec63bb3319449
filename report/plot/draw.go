package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// The figure is laid out in points, 1/72 inch. The width is fixed, the height
// follows from the words and the panels, so that no text has to be cut.
//
// It is drawn with gonum's canvas and not with its plot.Plot: that has no
// subtitles, no legend outside the data, logarithmic axes that panic at 0, and
// labels that overlap.
const (
	dpi       = 144
	width     = 8 * 72
	maxHeight = 30 * 72

	margin    = 16.0
	titleSize = 13.0
	textSize  = 9.0
	smallSize = 8.0
	leading   = 1.3 // line height, as a multiple of the size

	headHeight = 20.0 // of the line above a field: label of its axis, legend
	panelGap   = 12.0
	tickLength = 3.0
)

var (
	white = color.NRGBA{255, 255, 255, 255}
	ink   = color.NRGBA{0x22, 0x26, 0x2e, 255}
	muted = color.NRGBA{0x5a, 0x62, 0x70, 255}
	frame = color.NRGBA{0x9a, 0xa1, 0xad, 255}
	rule  = color.NRGBA{0xe4, 0xe7, 0xec, 255}
	empty = color.NRGBA{0xf4, 0xf5, 0xf7, 255}
)

// WritePNG draws the figure. It fails where an axis has no range or where the
// figure is too high; values that are no numbers and points beyond the axes
// are left out, bars are cut at their edges. Nothing is written on failure
// unless w fails.
func (f *Figure) WritePNG(w io.Writer) error { return f.write(w, dpi) }

func (f *Figure) write(w io.Writer, dpi int) error {
	png, err := f.png(dpi)
	if err != nil {
		return fmt.Errorf("plot %s: %w", f.Name, err)
	}
	_, err = w.Write(png)
	return err
}

func (f *Figure) png(dpi int) (png []byte, err error) {
	// gonum reports what it cannot draw by panics.
	defer func() {
		if p := recover(); p != nil {
			png, err = nil, fmt.Errorf("drawing: %v", p)
		}
	}()
	if err := f.check(); err != nil {
		return nil, err
	}
	l := f.layout()
	if l.height > maxHeight {
		return nil, fmt.Errorf("%.0f points high, at most %d are drawn", l.height, maxHeight)
	}
	img := vgimg.NewWith(vgimg.UseWH(width, vg.Length(l.height)), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(white))
	l.draw(&canvas{img})
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// check refuses what cannot be drawn as it stands.
func (f *Figure) check() error {
	if len(f.Panels) == 0 {
		return fmt.Errorf("no panels")
	}
	axes := []Axis{f.X}
	for _, p := range f.Panels {
		if !(p.Height > 0) { // nor NaN
			return fmt.Errorf("a panel %g points high", p.Height)
		}
		axes = append(axes, p.Y)
		for _, s := range p.Series {
			if _, err := parseColor(s.Color); err != nil {
				return err
			}
			if err := s.Stroke.check(); err != nil {
				return err
			}
		}
	}
	for _, a := range axes {
		if !finite(a.Max-a.Min) || a.Min >= a.Max || a.Log && a.Min <= 0 {
			return fmt.Errorf("axis %q from %g to %g", a.Label, a.Min, a.Max)
		}
	}
	return nil
}

// place is where v lies on the axis: 0 at its beginning, 1 at its end. It is
// false where v is no number.
func (a Axis) place(v float64) (float64, bool) {
	at := (v - a.Min) / (a.Max - a.Min)
	if a.Log {
		if v <= 0 {
			return 0, false
		}
		at = math.Log(v/a.Min) / math.Log(a.Max/a.Min)
	}
	return at, finite(at)
}

func (a Axis) title() string {
	if a.Unit == "" {
		return a.Label
	}
	return a.Label + " (" + a.Unit + ")"
}

// layout is the figure with its words broken into lines and its fields placed.
// Unlike the canvas it counts from the top.
type layout struct {
	*Figure
	title, footer []string
	subtitle      [][]string
	left, right   float64   // edges of the fields
	tops          []float64 // of the fields
	slot          float64   // what a label of the horizontal axis may be wide, where it has bins
	lines         int       // of those labels
	height        float64
}

func (f *Figure) layout() *layout {
	l := &layout{Figure: f, left: margin, right: width - margin - 6}
	l.title = wrap(f.Title, titleSize, true, width-2*margin)
	for _, p := range f.Subtitle {
		l.subtitle = append(l.subtitle, wrap(p, textSize, false, width-2*margin))
	}
	l.footer = wrap(f.Footer, smallSize, false, width-2*margin)

	widest := 0.0
	for _, p := range f.Panels {
		for _, t := range p.Y.Ticks {
			widest = max(widest, textWidth(t.Label, smallSize, false))
		}
	}
	l.left += widest + tickLength + 4

	y := margin + float64(len(l.title))*titleSize*leading + 3
	for _, p := range l.subtitle {
		y += float64(len(p))*textSize*leading + 2
	}
	y += 6
	for _, p := range f.Panels {
		y += headHeight
		l.tops = append(l.tops, y)
		y += p.Height + panelGap
	}
	l.slot, l.lines = math.Inf(1), 1
	if n := len(f.X.Ticks); n > 0 && l.bars() {
		l.slot = (l.right-l.left)/float64(n) - 4
	}
	for _, t := range f.X.Ticks {
		if strings.Contains(l.broken(t.Label), "\n") {
			l.lines = 2
		}
	}
	y += tickLength + float64(l.lines)*smallSize*leading + textSize*leading
	if len(l.footer) > 0 {
		y += 6 + float64(len(l.footer))*smallSize*leading
	}
	l.height = y + margin*0.6
	return l
}

func (l *layout) draw(c *canvas) {
	y := l.height - margin
	for _, s := range l.title {
		c.text(margin, y-titleSize, s, titleSize, true, ink)
		y -= titleSize * leading
	}
	y -= 3
	for i, p := range l.subtitle {
		for _, s := range p {
			tone := ink
			if i == 0 {
				tone = muted
			}
			c.text(margin, y-textSize, s, textSize, false, tone)
			y -= textSize * leading
		}
		y -= 2
	}
	for i := range l.Panels {
		top := l.height - l.tops[i]
		l.panel(c, &l.Panels[i], field{l.left, top - l.Panels[i].Height, l.right, top})
	}
	last := len(l.Panels) - 1
	l.xAxis(c, l.height-l.tops[last]-l.Panels[last].Height)

	y = margin * 0.6
	for _, s := range slices.Backward(l.footer) {
		c.text(margin, y, s, smallSize, false, muted)
		y += smallSize * leading
	}
}

// field is the rectangle that a panel's data is drawn in.
type field struct{ left, bottom, right, top float64 }

func (l *layout) panel(c *canvas, p *Panel, r field) {
	head := r.top + 7
	c.text(margin, head, p.Y.title(), textSize, true, ink)
	legend(c, p.Series, r.right, head)

	if p.Note != "" {
		c.rect(r.left, r.bottom, r.right, r.top, empty)
		lines := wrap(p.Note, textSize, false, r.right-r.left-24)
		y := (r.top+r.bottom)/2 + float64(len(lines))*textSize*leading/2
		for _, s := range lines {
			c.text((r.left+r.right-textWidth(s, textSize, false))/2, y-textSize, s, textSize, false, muted)
			y -= textSize * leading
		}
		return
	}

	x := func(v float64) (float64, bool) {
		at, ok := l.X.place(v)
		return r.left + at*(r.right-r.left), ok && within(at)
	}
	y := func(v float64) (float64, bool) {
		at, ok := p.Y.place(v)
		return r.bottom + at*(r.top-r.bottom), ok && within(at)
	}
	if s := l.X.Shaded; s != 0 {
		if at, ok := x(s); ok {
			c.rect(at, r.bottom, r.right, r.top, empty)
		}
	}
	// Grid lines only where they help to read: not between the bars of sizes.
	if !l.bars() {
		for _, t := range l.X.Ticks {
			if at, ok := x(t.At); ok && t.Label != "" {
				c.line(rule, 0.5, at, r.bottom, at, r.top)
			}
		}
	}
	for _, t := range p.Y.Ticks {
		at, ok := y(t.At)
		if !ok {
			continue
		}
		length := tickLength
		if t.Label == "" {
			length /= 2
		} else {
			c.line(rule, 0.5, r.left, at, r.right, at)
			c.text(r.left-tickLength-3-textWidth(t.Label, smallSize, false), at-smallSize*0.35, t.Label, smallSize, false, muted)
		}
		c.line(frame, 0.5, r.left-length, at, r.left, at)
	}
	for _, s := range p.Series {
		l.series(c, &p.Y, s, r, x, y)
	}
	for _, s := range p.Series {
		above := 3.0
		if s.Kind == Interval {
			above = 5 // clear of the bracket
		}
		for _, b := range s.Bars {
			l.barLabel(c, p, b, r, above)
		}
	}
	c.line(frame, 0.75, r.left, r.bottom, r.right, r.bottom)
}

// bars says whether the horizontal axis has bins, not a scale.
func (l *layout) bars() bool {
	for _, p := range l.Panels {
		for _, s := range p.Series {
			if s.Kind == Filled || s.Kind == Outline || s.Kind == Interval {
				return true
			}
		}
	}
	return false
}

// edge is a bar in points.
type edge struct{ left, right, top float64 }

func (l *layout) series(c *canvas, yAxis *Axis, s Series, r field, x, y func(float64) (float64, bool)) {
	tone, _ := parseColor(s.Color) // checked before
	var edges []edge
	for _, b := range s.Bars {
		from, ok1 := l.X.place(b.From)
		to, ok2 := l.X.place(b.To)
		v, ok3 := yAxis.place(b.Value)
		if s.Kind == Unknown {
			v, ok3 = 1, true
		}
		from, to, v = clamp(from), clamp(to), clamp(v)
		if !ok1 || !ok2 || !ok3 || from >= to {
			continue
		}
		// What is there is seen, be it ever so low.
		e := edge{r.left + from*(r.right-r.left), r.left + to*(r.right-r.left), r.bottom + max(v*(r.top-r.bottom), 0.8)}
		if s.Kind == Filled || s.Kind == Outline {
			inset := 0.12 * (e.right - e.left)
			if s.Kind == Outline {
				inset = 0.05 * (e.right - e.left)
			}
			e.left, e.right = e.left+inset, e.right-inset
		}
		edges = append(edges, e)
	}
	switch s.Kind {
	case Filled, Unknown:
		for _, e := range edges {
			c.rect(e.left, r.bottom, e.right, e.top, tone)
		}
	case Outline:
		for _, e := range edges {
			c.path(tone, 1.4, [][2]float64{{e.left, r.bottom}, {e.left, e.top}, {e.right, e.top}, {e.right, r.bottom}})
		}
	case Interval:
		l.intervals(c, yAxis, s, tone, r)
	case Area, Steps:
		c.steps(s.Kind, tone, edges, r.bottom)
	case Levels:
		c.levels(s.stroke(), tone, edges)
	case Dots:
		for _, p := range s.Points {
			px, ok1 := x(p.X)
			py, ok2 := y(p.Y)
			if ok1 && ok2 {
				c.dot(tone, px, py, s.stroke().Width/2)
			}
		}
	case Line:
		var path [][2]float64
		for _, p := range s.Points {
			px, ok1 := x(p.X)
			py, ok2 := y(p.Y)
			if ok1 && ok2 {
				path = append(path, [2]float64{px, py})
			}
		}
		c.stroke(tone, s.stroke(), path)
	}
}

// barLabel writes a bar's label so many points above it, on a ground that keeps lines behind
// from striking it out. One that is wider than the bar and has no room above
// those beside it is left out.
func (l *layout) barLabel(c *canvas, p *Panel, b Bar, r field, above float64) {
	from, ok1 := l.X.place(b.From)
	to, ok2 := l.X.place(b.To)
	v, ok3 := p.Y.place(b.Value)
	if b.Label == "" || !ok1 || !ok2 || !ok3 {
		return
	}
	lines := strings.Split(b.Label, "\n")
	w := 0.0
	for _, s := range lines {
		w = max(w, textWidth(s, smallSize, false))
	}
	center := r.left + (from+to)/2*(r.right-r.left)
	y := r.bottom + clamp(v)*(r.top-r.bottom) + above
	if w > (to-from)*(r.right-r.left)+2 && y < p.besides(b, r)+above+1.5*smallSize {
		return
	}
	ground := white
	if l.X.Shaded != 0 && b.From >= l.X.Shaded {
		ground = empty
	}
	c.rect(center-w/2-1, y-1, center+w/2+1, y+smallSize*(leading*float64(len(lines)-1)+0.8), ground)
	for _, s := range slices.Backward(lines) {
		c.text(center-textWidth(s, smallSize, false)/2, y, s, smallSize, false, ink)
		y += smallSize * leading
	}
}

// besides is the top of the highest of the bars on both sides of b.
func (p *Panel) besides(b Bar, r field) float64 {
	top := r.bottom
	for _, s := range p.Series {
		for _, o := range s.Bars {
			if v, ok := p.Y.place(o.Value); ok && (o.To == b.From || o.From == b.To) {
				top = max(top, r.bottom+clamp(v)*(r.top-r.bottom))
			}
		}
	}
	return top
}

func clamp(v float64) float64 { return min(1, max(0, v)) }

// steps draws bars that touch as one surface or line, and falls to the bottom
// between those that do not.
func (c *canvas) steps(k Kind, tone color.NRGBA, edges []edge, bottom float64) {
	line := 1.0
	if len(edges) > 150 {
		line = 0.6
	}
	for len(edges) > 0 {
		n := touching(edges)
		path := [][2]float64{{edges[0].left, bottom}}
		for _, e := range edges[:n] {
			path = append(path, [2]float64{e.left, e.top}, [2]float64{e.right, e.top})
		}
		path = append(path, [2]float64{edges[n-1].right, bottom})
		edges = edges[n:]
		if k == Steps {
			c.path(tone, 0.7, path)
			continue
		}
		light := tone
		light.A = 0x60
		c.polygon(light, path)
		c.path(tone, line, path)
	}
}

// legend draws the entries from the right edge to the left.
func legend(c *canvas, series []Series, right, y float64) {
	for _, s := range slices.Backward(series) {
		if s.Label == "" {
			continue
		}
		tone, _ := parseColor(s.Color)
		right -= textWidth(s.Label, smallSize, false)
		c.text(right, y, s.Label, smallSize, false, ink)
		long := 10.0
		if s.Stroke != nil && len(s.Stroke.Dash) > 0 {
			long = 18 // or the dashes would not be seen
		}
		right -= long + 4
		switch mid := y + 2.8; s.Kind {
		case Dots:
			c.dot(tone, right+5, mid, 2)
		case Steps:
			c.line(tone, 1.6, right, mid, right+10, mid)
		case Line, Levels:
			c.stroke(tone, s.stroke(), [][2]float64{{right, mid}, {right + long, mid}})
		case Interval:
			c.bracket(tone, right+5, mid-4, mid+4, 3)
		case Outline:
			c.path(tone, 1.4, [][2]float64{{right + 1, mid - 3}, {right + 1, mid + 3}, {right + 9, mid + 3}, {right + 9, mid - 3}})
		case Area:
			light := tone
			light.A = 0x60
			c.rect(right, mid-3, right+10, mid+3, light)
			c.line(tone, 1, right, mid+3, right+10, mid+3)
		case Filled, Unknown:
			c.rect(right, mid-3, right+10, mid+3, tone)
		}
		right -= 12
	}
}

// broken breaks a label that is too wide for its bin at its dash.
func (l *layout) broken(label string) string {
	if textWidth(label, smallSize, false) > l.slot {
		return strings.Replace(label, "–", "–\n", 1)
	}
	return label
}

// placed is a label of the horizontal axis, from left to right.
type placed struct {
	lines       []string
	left, right float64
}

// xLabels places the labels that do not touch the one before them.
func (l *layout) xLabels() []placed {
	var labels []placed
	free := math.Inf(-1)
	for _, t := range l.X.Ticks {
		x, ok := l.xTick(t)
		if !ok || t.Label == "" {
			continue
		}
		p := placed{lines: strings.Split(l.broken(t.Label), "\n")}
		w := 0.0
		for _, s := range p.lines {
			w = max(w, textWidth(s, smallSize, false))
		}
		center := min(max(x, margin/2+w/2), width-margin/2-w/2)
		p.left, p.right = center-w/2, center+w/2
		if p.left < free {
			continue
		}
		free = p.right + 4
		labels = append(labels, p)
	}
	return labels
}

// xTick is where a tick of the horizontal axis is, if it is on the axis.
func (l *layout) xTick(t Tick) (float64, bool) {
	at, ok := l.X.place(t.At)
	return l.left + at*(l.right-l.left), ok && within(at)
}

// within says whether a place is on its axis, but for rounding.
func within(at float64) bool { return at >= -1e-9 && at <= 1+1e-9 }

// xAxis draws ticks, labels and title below the lowest field.
func (l *layout) xAxis(c *canvas, bottom float64) {
	for _, t := range l.X.Ticks {
		x, ok := l.xTick(t)
		if !ok || l.bars() {
			continue
		}
		length := tickLength
		if t.Label == "" {
			length /= 2
		}
		c.line(frame, 0.5, x, bottom, x, bottom-length)
	}
	for _, p := range l.xLabels() {
		for i, s := range p.lines {
			x := (p.left + p.right - textWidth(s, smallSize, false)) / 2
			c.text(x, bottom-tickLength-smallSize*leading*float64(i+1), s, smallSize, false, muted)
		}
	}
	title := l.X.title()
	y := bottom - tickLength - smallSize*leading*float64(l.lines) - textSize*leading - 1
	c.text((l.left+l.right-textWidth(title, textSize, true))/2, y, title, textSize, true, ink)
}
