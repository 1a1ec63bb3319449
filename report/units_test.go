package report

import "testing"

func TestPerSecond(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want string
	}{
		{8563.7, "8,564/s"},
		{100, "100/s"},
		{53.12, "53.1/s"},
		{2.85, "2.85/s"},
		{0.21, "0.21/s"},
		{0.02, "72/h"},
		{33.0 / 3000, "39.6/h"},
		{33.0 / 535680, "5.32/day"},
		{0, "0/s"},
		{1e300, "9,000,000,000,000,000,000/s"},
	} {
		if got := perSecond(c.rate); got != c.want {
			t.Errorf("%v: %q, want %q", c.rate, got, c.want)
		}
	}
}
