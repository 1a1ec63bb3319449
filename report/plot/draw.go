package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
)

// The figure is laid out in points, 1/72 inch. The width is given, the height
// follows from the words and the panels, so that no text has to be cut.
//
// It is drawn with gonum's canvas and not with its plot.Plot: that has no
// subtitles, no legend outside the data, logarithmic axes that panic at 0, and
// labels that overlap.
const (
	usualWidth = 8 * 72
	maxHeight  = 30 * 72

	margin    = 16.0
	titleSize = 13.0
	textSize  = 9.0
	smallSize = 8.0
	leading   = 1.3 // line height, as a multiple of the size

	headHeight = 20.0 // of the line above a field: label of its axis, legend
	panelGap   = 12.0
	labelGap   = 4.0 // between a bar that lies and its label
	tickLength = 3.0
)

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
		if p.X != nil {
			axes = append(axes, *p.X)
		}
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
	width, height float64
	left, right   float64 // edges of the fields
	panels        []place
}

// place is where a panel is.
type place struct {
	*Panel
	x       *horizontal
	top     float64 // of its field
	ends    bool    // the axis is drawn below it
	stacked bool    // the legend has lines of its own
	legend  [][]Series
}

// horizontal is an axis and what its labels may be wide.
type horizontal struct {
	Axis
	used  bool    // a panel has something drawn along it
	bins  bool    // it has bins, not a scale
	slot  float64 // what a label may be wide, where it has bins
	lines int     // of the labels
}

func (f *Figure) layout(width float64) *layout {
	l := &layout{Figure: f, width: width, left: margin, right: width - margin - 6}
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
	l.left += min(widest, width/3) + tickLength + 4

	y := margin + float64(len(l.title))*titleSize*leading + 3
	for _, p := range l.subtitle {
		y += float64(len(p))*textSize*leading + 2
	}
	y += 6
	common := l.horizontal(f.X, func(p *Panel) bool { return p.X == nil })
	last := -1
	for i := range f.Panels {
		if f.Panels[i].X == nil {
			last = i
		}
	}
	for i := range f.Panels {
		p := place{Panel: &f.Panels[i], x: common, ends: i == last}
		if p.X != nil {
			p.x, p.ends = l.horizontal(*p.X, func(q *Panel) bool { return q == p.Panel }), true
		}
		p.ends = p.ends && p.x.used
		y += headHeight
		if named := textWidth(p.Y.title(), textSize, true); named > 0 && margin+named+12 > l.right-legendWidth(p.Series) && legendWidth(p.Series) > 0 {
			p.stacked = true
			y += textSize * leading
		}
		p.legend = legendLines(p.Series, l.right-margin)
		y += float64(max(0, len(p.legend)-1)) * textSize * leading
		p.top = y
		y += p.Height
		if p.ends {
			y += p.x.below()
		}
		y += panelGap
		l.panels = append(l.panels, p)
	}
	y -= panelGap
	if len(l.footer) > 0 {
		y += 6 + float64(len(l.footer))*smallSize*leading
	}
	l.height = y + margin*0.6 + panelGap
	return l
}

// horizontal measures the labels of an axis of the panels that are its.
func (l *layout) horizontal(a Axis, its func(*Panel) bool) *horizontal {
	h := &horizontal{Axis: a, slot: math.Inf(1), lines: 1}
	for i := range l.Panels {
		p := &l.Panels[i]
		h.used = h.used || its(p) && p.Note == ""
		h.bins = h.bins || its(p) && slices.ContainsFunc(p.Series, func(s Series) bool {
			return s.Kind == Filled || s.Kind == Outline || s.Kind == Interval
		})
	}
	if n := len(a.Ticks); n > 0 && h.bins {
		h.slot = (l.right-l.left)/float64(n) - 4
		for i := 1; i < n; i++ {
			from, ok1 := a.place(a.Ticks[i-1].At)
			to, ok2 := a.place(a.Ticks[i].At)
			if ok1 && ok2 && from < to {
				h.slot = min(h.slot, (to-from)*(l.right-l.left)-4)
			}
		}
	}
	// Bars that lie are so short that their labels have room behind them.
	for i := range l.Panels {
		if p := &l.Panels[i]; its(p) && !a.Log {
			h.Max = max(h.Max, l.behind(p, a))
		}
	}
	for _, t := range a.Ticks {
		h.lines = max(h.lines, 1+strings.Count(h.broken(t.Label), "\n"))
	}
	return h
}

// behind is where the axis must end at the least, for the labels of the panel's
// bars that lie to have room behind them.
func (l *layout) behind(p *Panel, a Axis) float64 {
	end, long := a.Min, l.right-l.left
	for _, s := range p.Series {
		for _, b := range s.Bars {
			if s.Kind == Across && b.Label != "" {
				room := long - labelGap - textWidth(b.Label, smallSize, false) + margin/2
				end = max(end, a.Min+(b.To-a.Min)*long/max(room, long/4))
			}
		}
	}
	return end
}

// below is the height of what is written below the fields.
func (h *horizontal) below() float64 {
	return tickLength + float64(h.lines)*smallSize*leading + textSize*leading
}

func (l *layout) draw(c *canvas) {
	y := l.height - margin
	for _, s := range l.title {
		c.text(margin, y-titleSize, s, titleSize, true, c.ink)
		y -= titleSize * leading
	}
	y -= 3
	for i, p := range l.subtitle {
		for _, s := range p {
			tone := c.ink
			if i == 0 {
				tone = c.muted
			}
			c.text(margin, y-textSize, s, textSize, false, tone)
			y -= textSize * leading
		}
		y -= 2
	}
	for i := range l.panels {
		p := &l.panels[i]
		top := l.height - p.top
		l.panel(c, p, field{l.left, top - p.Height, l.right, top})
		if p.ends {
			l.xAxis(c, p.x, top-p.Height)
		}
	}

	y = margin * 0.6
	for _, s := range slices.Backward(l.footer) {
		c.text(margin, y, s, smallSize, false, c.muted)
		y += smallSize * leading
	}
}

// field is the rectangle that a panel's data is drawn in.
type field struct{ left, bottom, right, top float64 }

func (l *layout) panel(c *canvas, p *place, r field) {
	head := r.top + 7
	for i, line := range slices.Backward(p.legend) {
		legend(c, line, r.right, head)
		if i > 0 || p.stacked {
			head += textSize * leading
		}
	}
	title := p.Y.title()
	if textWidth(title, textSize, true) > l.width-2*margin {
		title = cut(title, textSize, true, l.width-2*margin)
	}
	c.text(margin, head, title, textSize, true, c.ink)

	if p.Note != "" {
		c.rect(r.left, r.bottom, r.right, r.top, c.empty)
		lines := wrap(p.Note, textSize, false, r.right-r.left-24)
		y := (r.top+r.bottom)/2 + float64(len(lines))*textSize*leading/2
		for _, s := range lines {
			c.text((r.left+r.right-textWidth(s, textSize, false))/2, y-textSize, s, textSize, false, c.muted)
			y -= textSize * leading
		}
		return
	}

	x := func(v float64) (float64, bool) {
		at, ok := p.x.place(v)
		return r.left + at*(r.right-r.left), ok && within(at)
	}
	y := func(v float64) (float64, bool) {
		at, ok := p.Y.place(v)
		return r.bottom + at*(r.top-r.bottom), ok && within(at)
	}
	if s := p.x.Shaded; s != 0 {
		if at, ok := x(s); ok {
			c.rect(at, r.bottom, r.right, r.top, c.empty)
		}
	}
	// Grid lines only where they help to read: not between bars.
	if !p.x.bins {
		for _, t := range p.x.Ticks {
			if at, ok := x(t.At); ok && t.Label != "" {
				c.line(c.rule, 0.5, at, r.bottom, at, r.top)
			}
		}
	}
	across := slices.ContainsFunc(p.Series, func(s Series) bool { return s.Kind == Across })
	for _, t := range p.Y.Ticks {
		at, ok := y(t.At)
		if !ok {
			continue
		}
		length := tickLength
		if t.Label == "" {
			length /= 2
		} else {
			if !across {
				c.line(c.rule, 0.5, r.left, at, r.right, at)
			}
			label := t.Label
			if room := r.left - tickLength - 3 - margin/2; textWidth(label, smallSize, false) > room {
				label = cut(label, smallSize, false, room)
			}
			c.text(r.left-tickLength-3-textWidth(label, smallSize, false), at-smallSize*0.35, label, smallSize, false, c.muted)
		}
		c.line(c.frame, 0.5, r.left-length, at, r.left, at)
	}
	for _, s := range p.Series {
		l.series(c, p, s, r, x, y)
	}
	for _, s := range p.Series {
		above := 3.0
		if s.Kind == Interval {
			above = 5 // clear of the bracket
		}
		for _, b := range s.Bars {
			if s.Kind == Across {
				p.acrossLabel(c, b, r)
			} else {
				p.barLabel(c, b, r, above)
			}
		}
	}
	c.line(c.frame, 0.75, r.left, r.bottom, r.right, r.bottom)
}

// edge is a bar in points.
type edge struct{ left, right, top float64 }

func (l *layout) series(c *canvas, p *place, s Series, r field, x, y func(float64) (float64, bool)) {
	tone := c.tone(s.Color)
	if s.Kind == Across || s.Kind == Cells {
		p.blocks(c, s, tone, r)
		return
	}
	var edges []edge
	for _, b := range s.Bars {
		from, ok1 := p.x.place(b.From)
		to, ok2 := p.x.place(b.To)
		v, ok3 := p.Y.place(b.Value)
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
	case Across, Cells: // drawn before
	case Filled, Unknown:
		for _, e := range edges {
			c.rect(e.left, r.bottom, e.right, e.top, tone)
		}
	case Outline:
		for _, e := range edges {
			c.path(tone, 1.4, [][2]float64{{e.left, r.bottom}, {e.left, e.top}, {e.right, e.top}, {e.right, r.bottom}})
		}
	case Interval:
		p.intervals(c, s, tone, r)
	case Area, Steps:
		c.steps(s.Kind, tone, edges, r.bottom)
	case Levels:
		c.levels(s.stroke(), tone, edges)
	case Dots:
		var at [][2]float64
		for _, p := range s.Points {
			px, ok1 := x(p.X)
			py, ok2 := y(p.Y)
			if ok1 && ok2 {
				at = append(at, [2]float64{px, py})
			}
		}
		c.dots(tone, s.stroke().Width/2, at)
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
// from striking it out.
func (p *place) barLabel(c *canvas, b Bar, r field, above float64) {
	from, ok1 := p.x.place(b.From)
	to, ok2 := p.x.place(b.To)
	v, ok3 := p.Y.place(b.Value)
	if b.Label == "" || !ok1 || !ok2 || !ok3 {
		return
	}
	center := r.left + (from+to)/2*(r.right-r.left)
	y := r.bottom + clamp(v)*(r.top-r.bottom) + above
	lines := p.labelLines(b, r, (to-from)*(r.right-r.left)-1, y-above)
	if len(lines) == 0 {
		return
	}
	w := labelWidth(lines)
	ground := c.background
	if p.x.Shaded != 0 && b.From >= p.x.Shaded {
		ground = c.empty
	}
	c.rect(center-w/2-1, y-1, center+w/2+1, y+smallSize*(leading*float64(len(lines)-1)+0.8), ground)
	for _, s := range slices.Backward(lines) {
		c.text(center-textWidth(s, smallSize, false)/2, y, s, smallSize, false, c.ink)
		y += smallSize * leading
	}
}

// labelLines are the lines of a bar's label that have room: all of them where
// they are as narrow as the bar or the bar is higher than those beside it with
// their labels, else those that are as narrow as the bar.
func (p *place) labelLines(b Bar, r field, width, top float64) []string {
	lines := strings.Split(b.Label, "\n")
	if labelWidth(lines) > width && top < p.besides(b, r)+1.5*smallSize {
		lines = slices.DeleteFunc(lines, func(s string) bool { return textWidth(s, smallSize, false) > width })
	}
	return lines
}

// labelWidth is the width of the widest line of a label.
func labelWidth(lines []string) float64 {
	w := 0.0
	for _, s := range lines {
		w = max(w, textWidth(s, smallSize, false))
	}
	return w
}

// besides is the top of the highest of the bars on both sides of b, or of the
// second line of its label.
func (p *Panel) besides(b Bar, r field) float64 {
	top := r.bottom
	for _, s := range p.Series {
		for _, o := range s.Bars {
			if v, ok := p.Y.place(o.Value); ok && (o.To == b.From || o.From == b.To) {
				top = max(top, r.bottom+clamp(v)*(r.top-r.bottom)+smallSize*leading*float64(strings.Count(o.Label, "\n")))
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
		light.A = lightAlpha
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
		tone := c.tone(s.Color)
		right -= textWidth(s.Label, smallSize, false)
		c.text(right, y, s.Label, smallSize, false, c.ink)
		long := s.sample()
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
			light.A = lightAlpha
			c.rect(right, mid-3, right+10, mid+3, light)
			c.line(tone, 1, right, mid+3, right+10, mid+3)
		case Filled, Unknown, Cells:
			c.rect(right, mid-3, right+10, mid+3, tone)
		case Across:
			c.rect(right, mid-3, right+10, mid+3, tone)
			c.edge(right, mid-3, right+10, mid+3)
		}
		right -= 12
	}
}

// sample is the length of the sample of a series in a legend.
func (s *Series) sample() float64 {
	if s.Stroke != nil && len(s.Stroke.Dash) > 0 {
		return 18 // or the dashes would not be seen
	}
	return 10
}

// legendWidth is how much room the entries of a legend take, 0 for none.
func legendWidth(series []Series) float64 {
	w := 0.0
	for i := range series {
		if s := &series[i]; s.Label != "" {
			w += textWidth(s.Label, smallSize, false) + s.sample() + 4 + 12
		}
	}
	return w
}

// legendLines parts the entries of a legend into lines, as many as they need,
// and shortens one that has no room in a line by itself.
func legendLines(series []Series, room float64) [][]Series {
	var lines [][]Series
	left := 0.0
	for _, s := range series {
		if s.Label == "" {
			continue
		}
		if alone := room - s.sample() - 4; textWidth(s.Label, smallSize, false) > alone {
			s.Label = cut(s.Label, smallSize, false, alone)
		}
		w := legendWidth([]Series{s})
		if len(lines) == 0 || w > left {
			lines, left = append(lines, nil), room+12 // but for the gap before the first
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], s)
		left -= w
	}
	return lines
}

// broken breaks a label that is too wide for its bin at its dash, or else
// between its words.
func (h *horizontal) broken(label string) string {
	wide := func(s string) bool {
		return slices.ContainsFunc(strings.Split(s, "\n"), func(line string) bool { return textWidth(line, smallSize, false) > h.slot })
	}
	if wide(label) {
		label = strings.Replace(label, "–", "–\n", 1)
	}
	if wide(label) {
		label = strings.ReplaceAll(label, " ", "\n")
	}
	return label
}

// placed is a label of the horizontal axis, from left to right.
type placed struct {
	lines       []string
	left, right float64
}

// xLabels places the labels of the axis: all of them, or as many, evenly, as do
// not touch.
func (l *layout) xLabels(h *horizontal) []placed {
	for every := 1; ; every++ {
		if labels, ok := l.everyLabel(h, every); ok || every >= len(h.Ticks) {
			return labels
		}
	}
}

// everyLabel places one in so many labels, and tells whether none touches the
// one before it; those that do are left out.
func (l *layout) everyLabel(h *horizontal, every int) (labels []placed, ok bool) {
	free, n, ok := math.Inf(-1), 0, true
	for _, t := range h.Ticks {
		x, on := l.xTick(h, t)
		if !on || t.Label == "" {
			continue
		}
		if n++; (n-1)%every != 0 {
			continue
		}
		p := placed{lines: strings.Split(h.broken(t.Label), "\n")}
		w := labelWidth(p.lines)
		center := min(max(x, margin/2+w/2), l.width-margin/2-w/2)
		p.left, p.right = center-w/2, center+w/2
		if p.left < free {
			ok = false
			continue
		}
		free = p.right + 4
		labels = append(labels, p)
	}
	return labels, ok
}

// xTick is where a tick of the horizontal axis is, if it is on the axis.
func (l *layout) xTick(h *horizontal, t Tick) (float64, bool) {
	at, ok := h.place(t.At)
	return l.left + at*(l.right-l.left), ok && within(at)
}

// within says whether a place is on its axis, but for rounding.
func within(at float64) bool { return at >= -1e-9 && at <= 1+1e-9 }

// xAxis draws ticks, labels and title below a field.
func (l *layout) xAxis(c *canvas, h *horizontal, bottom float64) {
	for _, t := range h.Ticks {
		x, ok := l.xTick(h, t)
		if !ok || h.bins {
			continue
		}
		length := tickLength
		if t.Label == "" {
			length /= 2
		}
		c.line(c.frame, 0.5, x, bottom, x, bottom-length)
	}
	for _, p := range l.xLabels(h) {
		for i, s := range p.lines {
			x := (p.left + p.right - textWidth(s, smallSize, false)) / 2
			c.text(x, bottom-tickLength-smallSize*leading*float64(i+1), s, smallSize, false, c.muted)
		}
	}
	title := h.title()
	if textWidth(title, textSize, true) > l.width-2*margin {
		title = cut(title, textSize, true, l.width-2*margin)
	}
	w := textWidth(title, textSize, true)
	x := min(max((l.left+l.right-w)/2, margin), l.width-margin-w)
	c.text(x, bottom-tickLength-smallSize*leading*float64(h.lines)-textSize*leading-1, title, textSize, true, c.ink)
}
