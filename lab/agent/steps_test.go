package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/workload/external"
)

// threeSteps describes a chain over a server whose steps are all alike.
const threeSteps = `
service: silence
wires: {none: {target: "http://%s"}}
operations:
  enter: {calls: {none: {path: /enter}}}
  look: {calls: {none: {path: "/look?{{.id}}"}}}
  take: {calls: {none: {path: "/take?{{.id}}"}}}
  Hush:
    steps:
      - {call: enter, save: {id: /id}}
      - {call: look}
      - {call: take}
`

// chained is a driver's cell over a server that makes additional calls before it answers one of its paths. That step is
// then the slowest, however fast the machine is.
func chained(t *testing.T, slow string) (wirelab.Cell, string) {
	t.Helper()
	const more = 25
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range more {
			if r.URL.Path != slow {
				break
			}
			resp, err := server.Client().Get(server.URL + "/inner")
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_ = resp.Body.Close() // it is short, and has come
		}
		fmt.Fprint(w, `{"id": 17}`)
	}))
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	d, err := external.Parse("steps.yaml", fmt.Appendf(nil, threeSteps, address))
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := external.Prepare(t.Context(), d, external.Sources{
		Getenv: func(string) string { return "" },
		Read:   func(context.Context, string) ([]byte, error) { return nil, context.Canceled },
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Cell("none")
	if err != nil {
		t.Fatal(err)
	}
	return c, address
}

// A slow step shows in its own times and in no other step's. Each step has one time for each call that was answered
// correctly.
func TestDriverTimesSteps(t *testing.T) {
	t.Parallel()
	for at, slow := range []string{"/enter", "/look", "/take"} {
		c, address := chained(t, slow)
		order := dial(control.Load{InFlight: 2, Connections: 2})
		order.Dial.Address = address
		slice := control.Order{Slice: &control.Slice{For: plan.Duration(150 * time.Millisecond)}}
		replies := drive(t, c, order, control.Order{Warm: &control.Warm{Least: plan.Duration(20 * time.Millisecond)}},
			slice, slice)
		for _, r := range replies {
			if r.Error != "" {
				t.Fatal(r.Error)
			}
		}
		for _, r := range replies[3:] {
			steps := r.Slice.Steps
			if len(steps) != 3 || steps[0].Name != "enter" || steps[1].Name != "look" || steps[2].Name != "take" {
				t.Fatalf("steps %+v", steps)
			}
			for i, s := range steps {
				if s.Times.Count() != r.Slice.Recording.OK || s.Times.Count() == 0 {
					t.Errorf("%s: %s has %d times of %d calls", slow, s.Name, s.Times.Count(), r.Slice.Recording.OK)
				}
				if i != at && s.Times.Quantile(0.5) >= steps[at].Times.Quantile(0.5) {
					t.Errorf("%s is slow, and %s takes as long: %v", slow, s.Name, time.Duration(s.Times.Quantile(0.5)))
				}
			}
		}
	}
}
