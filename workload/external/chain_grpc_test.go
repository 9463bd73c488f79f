package external_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/routeguide/bind"
)

// guideText describes our route guide: what a list has is asked for by itself.
const guideText = `
service: guide
wires:
  grpc: {target: "grpc://%s", schema: route_guide.proto}
operations:
  list:
    calls: {grpc: {call: routeguide.RouteGuide/ListFeatures, message:
      {lo: {latitude: 400000000, longitude: -750000000}, hi: {latitude: 420000000, longitude: -730000000}}}}
  get: {calls: {grpc: {call: routeguide.RouteGuide/GetFeature, message: "{{.place}}"}}, expect: learnt}
  look:
    steps:
      - {call: list, save: {place: /%d/location}}
      - {call: get}
`

// serveGuide serves our route guide over gRPC until the test ends.
func serveGuide(t *testing.T) string {
	t.Helper()
	cells := bind.Workload().Erase().Cells
	i := slices.IndexFunc(cells, func(c wirelab.Cell) bool { return c.Protocol.Name == "grpc" })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cells[i].Serve(ctx, wirelab.Endpoint{Listener: listener}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// A chain goes over gRPC as it does over HTTP: a message that a stream brought is the next call's request.
func TestChainOverGRPC(t *testing.T) {
	address := serveGuide(t)
	p, err := prepared(t, fmt.Sprintf(guideText, address, 2))
	if err != nil {
		t.Fatal(err)
	}
	client := dialled(t, p, "grpc", address)
	took := make([]time.Duration, 2)
	call, err := client.StepCaller("look", "", 0, took)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if took[0] <= 0 || took[1] <= 0 {
		t.Errorf("took %v", took)
	}
	trial, err := p.Try(t.Context(), "grpc", wirelab.Dialing{Address: address, Foreign: true}, "look", false)
	if err != nil || !strings.Contains(string(trial.Text), `"name":"`) ||
		strings.Contains(string(trial.Text), `"latitude":4`) &&
			!strings.Contains(string(trial.Text), "(secret)") {
		t.Errorf("%v, %.300s", err, trial.Text)
	}
	if p, err = prepared(t, fmt.Sprintf(guideText, address, 1000)); err != nil {
		t.Fatal(err)
	}
	if call, err = dialled(t, p, "grpc", address).Caller("look", "", 0); err != nil {
		t.Fatal(err)
	}
	if err := call(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "step 1 (list): the reply has nothing at /1000/location") {
		t.Errorf("%v", err)
	}
}
