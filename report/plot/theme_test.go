package plot

import (
	"image/color"
	"math"
	"testing"
)

// lab is a colour as people see it (CIE 1976), as far apart as its numbers are.
type lab [3]float64

func (a lab) distance(b lab) float64 {
	return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2])
}

func linearRGB(c color.NRGBA) (out [3]float64) {
	for i, v := range []uint8{c.R, c.G, c.B} {
		if x := float64(v) / 255; x <= 0.04045 {
			out[i] = x / 12.92
		} else {
			out[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return out
}

func luminance(c color.NRGBA) float64 {
	l := linearRGB(c)
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

// contrast is that of WCAG 2.1.
func contrast(a, b color.NRGBA) float64 {
	high, low := luminance(a), luminance(b)
	if high < low {
		high, low = low, high
	}
	return (high + 0.05) / (low + 0.05)
}

func toLab(c [3]float64) lab {
	for i := range c {
		c[i] = min(1, max(0, c[i]))
	}
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := f((0.4124564*c[0] + 0.3575761*c[1] + 0.1804375*c[2]) / 0.95047)
	y := f(0.2126729*c[0] + 0.7151522*c[1] + 0.0721750*c[2])
	z := f((0.0193339*c[0] + 0.1191920*c[1] + 0.9503041*c[2]) / 1.08883)
	return lab{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// eyes are how people without one kind of cones see linear RGB (Machado,
// Oliveira and Fernandes 2009, severity 1).
var eyes = map[string][3][3]float64{
	"usual":        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func see(c color.NRGBA, eye [3][3]float64) lab {
	l := linearRGB(c)
	var out [3]float64
	for i, row := range eye {
		out[i] = row[0]*l[0] + row[1]*l[1] + row[2]*l[2]
	}
	return toLab(out)
}

func TestContrast(t *testing.T) {
	for name, th := range themes {
		for what, c := range map[string]color.NRGBA{"ink": th.ink, "muted": th.muted} {
			for on, ground := range map[string]color.NRGBA{"background": th.background, "empty": th.empty} {
				if got := contrast(c, ground); got < 4.5 {
					t.Errorf("%s: text in %s on %s has a contrast of %.2f, want 4.5", name, what, on, got)
				}
			}
		}
		// Lines and bars need 3 (WCAG 2.1, 1.4.11).
		for _, s := range []string{blue, vermillion, green, purple, black} {
			if got := contrast(th.tone(s), th.background); got < 3 {
				t.Errorf("%s: %s has a contrast of %.2f to the ground, want 3", name, s, got)
			}
		}
		if got := contrast(th.ink, th.tone(amber)); got < 3 && name == Light {
			t.Errorf("%s: the edge of amber has a contrast of %.2f to it, want 3", name, got)
		}
	}
}

// Any two series can be told apart without colours, and by people who see fewer.
func TestPalette(t *testing.T) {
	for name, th := range themes {
		all := []string{blue, vermillion, green, purple, black}
		tables := []string{blue, amber, purple}
		for _, set := range [][]string{all, tables, ramp[:]} {
			for i, a := range set {
				for _, b := range set[:i] {
					// 2 is what can be told apart side by side.
					apart := 20.0
					if set[0] == ramp[0] {
						apart = 10
					}
					for eye, m := range eyes {
						if d := see(th.tone(a), m).distance(see(th.tone(b), m)); d < apart {
							t.Errorf("%s: %s and %s are %.1f apart in Lab for %s sight, want %.0f", name, a, b, d, eye, apart)
						}
					}
					if d := math.Abs(see(th.tone(a), eyes["usual"])[0] - see(th.tone(b), eyes["usual"])[0]); d < 10 {
						t.Errorf("%s: %s and %s differ by %.1f in lightness, want 10", name, a, b, d)
					}
				}
			}
		}
		// Those of a stack touch: more.
		for i := range tables[1:] {
			if d := math.Abs(see(th.tone(tables[i]), eyes["usual"])[0] - see(th.tone(tables[i+1]), eyes["usual"])[0]); d < 25 {
				t.Errorf("%s: %s and %s differ by %.1f in lightness, want 25", name, tables[i], tables[i+1], d)
			}
		}
		// More is further from the ground.
		last := 1.0
		for _, s := range ramp {
			c := contrast(th.tone(s), th.background)
			if c <= last {
				t.Errorf("%s: the ramp does not rise at %s", name, s)
			}
			last = c
		}
	}
	// Each colour of the light theme has another in the dark one.
	for _, s := range append([]string{blue, vermillion, green, purple, black, amber, grey}, ramp[:]...) {
		if themes[Dark].series[s] == "" {
			t.Errorf("%s has no colour in the dark theme", s)
		}
		for _, th := range []*theme{themes[Light], themes[Dark]} {
			name := s
			if other := th.series[s]; other != "" {
				name = other
			}
			if _, err := parseColor(name); err != nil {
				t.Error(err)
			}
		}
	}
}
