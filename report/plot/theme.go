package plot

import (
	"fmt"
	"image/color"
	"strconv"
	"strings"
)

// Theme is what a picture is drawn on.
type Theme string

// The themes.
const (
	Light Theme = "light" // on white, for screens and paper
	Dark  Theme = "dark"  // on near black
)

// Colours of series. They are those of the light theme, which figures name; the
// dark theme has others in their place.
//
// Any two differ in lightness by 10 of 100 at least, so that they can be told
// apart without colours, and stay apart for people who lack one kind of cones.
// All but amber, which is only used with an edge around it, have a contrast of 3
// to the ground.
const (
	blue       = "#0B5CAD"
	vermillion = "#C8500F"
	green      = "#26A37C"
	purple     = "#571463"
	black      = "#000000"
	amber      = "#F2A65A"
	grey       = "#DFE3E8" // of what is not known
)

// ramp are the colours of counts, few to many, of one hue.
var ramp = [...]string{"#CFDEF7", "#9DBBE6", "#6396D2", "#0074BD", "#005293", "#002F5D"}

// theme are the colours of a theme.
type theme struct {
	background color.NRGBA
	ink        color.NRGBA // of text that matters, and of edges
	muted      color.NRGBA // of other text
	frame      color.NRGBA // of axes
	rule       color.NRGBA // of grid lines
	empty      color.NRGBA // of the ground of what is shaded, or has a note
	series     map[string]string
}

var themes = map[Theme]*theme{
	Light: {
		background: color.NRGBA{255, 255, 255, 255},
		ink:        color.NRGBA{0x22, 0x26, 0x2e, 255},
		muted:      color.NRGBA{0x5a, 0x62, 0x70, 255},
		frame:      color.NRGBA{0x9a, 0xa1, 0xad, 255},
		rule:       color.NRGBA{0xe4, 0xe7, 0xec, 255},
		empty:      color.NRGBA{0xf4, 0xf5, 0xf7, 255},
	},
	Dark: {
		background: color.NRGBA{0x14, 0x18, 0x1e, 255},
		ink:        color.NRGBA{0xe8, 0xeb, 0xf0, 255},
		muted:      color.NRGBA{0xa9, 0xb1, 0xbd, 255},
		frame:      color.NRGBA{0x6b, 0x74, 0x80, 255},
		rule:       color.NRGBA{0x2a, 0x31, 0x3b, 255},
		empty:      color.NRGBA{0x1d, 0x23, 0x2b, 255},
		series: map[string]string{
			blue: "#3F97F5", vermillion: "#FF9A4D", green: "#45EDAE", purple: "#BE3FB0", black: "#F2F4F7",
			amber: "#FFD9A8", grey: "#39414C",
			ramp[0]: "#244A68", ramp[1]: "#1D6B9D", ramp[2]: "#328DCB", ramp[3]: "#75AEE1", ramp[4]: "#B1CFF1", ramp[5]: "#E9F2FC",
		},
	},
}

// tone is the colour that a series has in the theme. One that the theme does
// not know stays as it is.
func (t *theme) tone(s string) color.NRGBA {
	if other, ok := t.series[s]; ok {
		s = other
	}
	c, _ := parseColor(s) // checked before
	return c
}

func parseColor(s string) (color.NRGBA, error) {
	v, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 32)
	if err != nil || len(s) != 7 || s[0] != '#' {
		return color.NRGBA{}, fmt.Errorf("colour %q, want #rrggbb", s)
	}
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}, nil
}

// lightAlpha is how much a surface under a line covers.
const lightAlpha = 0x60

// over is what c looks like on a ground, where it covers alpha of 255 of it.
func over(c, ground color.NRGBA, alpha int) color.NRGBA {
	mix := func(a, b uint8) uint8 { return uint8((int(a)*alpha + int(b)*(255-alpha) + 127) / 255) }
	return color.NRGBA{mix(c.R, ground.R), mix(c.G, ground.G), mix(c.B, ground.B), 255}
}
