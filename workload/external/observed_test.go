package external_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/external"
	routeguide "wirelab/workload/routeguide/bind"
)

// A service that is described by what its client was seen to send is sent the same.
func TestObserve(t *testing.T) {
	t.Parallel()
	work := routeguide.Workload().Erase()
	from, _ := cellOf(work, "http1-json")
	calls := record(t, from, "GetFeature", 12)
	var seen []external.Observed
	for _, c := range calls {
		c.header.Del("Accept-Encoding")
		seen = append(seen, external.Observed{
			Method: c.method, URL: "http://127.0.0.1:1" + c.path, Header: c.header, Body: c.body,
		})
	}
	service, err := external.Observe("routeguide", "http1-json", map[string][]external.Observed{"GetFeature": seen})
	if err != nil {
		t.Fatal(err)
	}
	cell, err := service.Cell("http1-json")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), rigTime)
	defer cancel()
	server := serve(t, from)
	to := wirelab.Dialing{Address: server.address, Connections: 1, Deadline: rigTime}
	lines, err := cell.DialRaw(ctx, to, 1, "GetFeature", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	for i := range 2 * len(calls) { // the second time replies are compared
		lines.Begin(0)
		for over := false; !over; {
			err := lines.Turn(10*time.Millisecond, func(_ int, err error) {
				if over = true; err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := external.Observe("x", "y", map[string][]external.Observed{"GetFeature": nil}); err == nil ||
		!strings.Contains(err.Error(), "HTTP without TLS") {
		t.Errorf("nothing seen: %v", err)
	}
}
