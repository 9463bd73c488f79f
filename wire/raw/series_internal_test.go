package raw

import "testing"

// Calls that ask the same are one exchange, so that the reply it keeps is kept once.
func TestSameRequestsAreOneExchange(t *testing.T) {
	for _, over := range []Over{{Version: HTTP1}, {Version: HTTP2}} {
		b := newBench(t, over, "a", "b", "a", "a")
		if len(b.series) != 4 || b.series[0] != b.series[2] || b.series[0] != b.series[3] ||
			b.series[0] == b.series[1] {
			t.Errorf("HTTP/%d: %p, of which the first, third and fourth are to be the same", over.Version, b.series)
		}
	}
}
