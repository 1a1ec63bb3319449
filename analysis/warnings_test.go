package analysis

import "testing"

func TestNumbersInWarnings(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 12_345: "12,345", 123_456: "123,456", 1_234_567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for f, want := range map[float64]string{0.001: "0.001", 1.98: "2", 5.06: "5.1", 12.3: "12", 123.6: "124", 1600: "1,600"} {
		if got := times(f); got != want {
			t.Errorf("%v is %q, want %q", f, got, want)
		}
	}
}
