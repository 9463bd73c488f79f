package tool

import (
	"slices"
	"testing"
	"time"
)

// wrk divides connections by threads and drops the remainder, so fewer calls than planned would be in flight.
func TestThreadsShareConnectionsEvenly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ connections, most, want int }{{1, 8, 1}, {3, 2, 1}, {4, 3, 2}, {50, 4, 2}, {50, 0, 1}} {
		l := Load{InFlight: c.connections, Connections: c.connections, Threads: c.most, For: time.Second}
		if got := threads(l); got != c.want {
			t.Errorf("%d connections, at most %d threads: %d, want %d", c.connections, c.most, got, c.want)
		}
	}
	args := wrk().args(Request{URL: "http://x/"}, Load{InFlight: 50, Connections: 50, Threads: 3, For: 2 * time.Second},
		func(name string) string { return "/f/" + name })
	if want := []string{"-t2", "-c50", "-d2s", "-s", "/f/request.lua", "http://x/"}; !slices.Equal(args, want) {
		t.Errorf("wrk %q, want %q", args, want)
	}
}
