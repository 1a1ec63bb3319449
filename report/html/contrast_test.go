package html

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

var variable = regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6});`)

// luminance is the relative luminance of WCAG 2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	v, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	channel := func(c uint64) float64 {
		s := float64(c&0xff) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(v>>16) + 0.7152*channel(v>>8) + 0.0722*channel(v)
}

// Text stands out from what it may stand on by 4.5 or more in both themes.
func TestContrast(t *testing.T) {
	for theme, css := range map[string]string{"light": lightText, "dark": darkText} {
		colors := map[string]string{}
		for _, m := range variable.FindAllStringSubmatch(css, -1) {
			colors[m[1]] = m[2]
		}
		for _, text := range []string{"ink", "muted", "link", "grave", "doubt"} {
			if colors[text] == "" || colors["page"] == "" {
				t.Fatalf("%s: no colour %s", theme, text)
			}
			a, b := luminance(t, colors[text]), luminance(t, colors["page"])
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
				t.Errorf("%s: %s on page has a contrast of %.2f, want 4.5", theme, text, ratio)
			}
		}
	}
	used := regexp.MustCompile(`var\(--([a-z]+)\)`)
	for _, m := range used.FindAllStringSubmatch(styleText, -1) {
		for _, css := range []string{lightText, darkText} {
			if !regexp.MustCompile(`--` + m[1] + `: #`).MatchString(css) {
				t.Errorf("--%s is used and not in both themes", m[1])
			}
		}
	}
	if regexp.MustCompile(`[^-]color: #`).MatchString(styleText) {
		t.Error("text of a colour that is no variable")
	}
}
