package main

import (
	"context"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// A relay must be the same call again, or it is no hop of the wire: entries
// arrive, and what the logger refuses is refused in its words (R1).
func TestRelayIsTheCallAgain(t *testing.T) {
	t.Parallel()
	for _, b := range bind.Bindings() {
		protocol := b.Protocol.Name
		if _, wanted := gatewayPaths()[protocol]; !wanted {
			continue
		}
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			store := logging.New()
			behind := listen(t)
			attend(t, func(ctx context.Context) error {
				return b.Servers[0].Serve(ctx, wirelab.Endpoint{Listener: behind, Drain: time.Second}, store)
			})
			before := listen(t)
			serve, closing, err := relaying(t.Context(), protocol, behind.Addr().String(), before)
			if err != nil {
				t.Fatal(err)
			}
			attend(t, serve)
			t.Cleanup(func() { shut(t, closing) })
			client, connection, err := b.Clients[0].Dial(t.Context(), wirelab.Dialing{Address: before.Addr().String()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { shut(t, connection) })
			if _, err := client.WriteLog(t.Context(), logging.Entry{ID: "one", Name: "event", Data: "first"}); err != nil {
				t.Fatal(err)
			}
			if _, err := store.GetEntry(t.Context(), logging.EntryID{ID: "one"}); err != nil {
				t.Errorf("what was written over the relay: %v", err)
			}
			_, err = client.WriteLog(t.Context(), logging.Entry{ID: "one", Name: "event", Data: "other"})
			if wirelab.CodeOf(err) != wirelab.Conflict || !strings.Contains(err.Error(), "another content") {
				t.Errorf("the same id with other data: %v, want the logger's own conflict", err)
			}
		})
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// attend runs a server until the test is over, and waits for it.
func attend(t *testing.T, serve func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func shut(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestRatio(t *testing.T) {
	t.Parallel()
	// Fieller's ends of these four rounds, from the quadratic
	// (mean a − f·mean b)² = t²·var(a − f·b)/4 with t = 3.18245, solved apart.
	const low, high = 1.3966, 2.2140
	for _, test := range []struct {
		name      string
		a, b      []float64
		value     float64
		low, high float64 // NaN: none
	}{
		{"a ratio that is the same in each round has no width", []float64{20, 22, 24}, []float64{10, 11, 12}, 2, 2, 2},
		{"rounds that differ", []float64{10, 12, 11, 13}, []float64{6, 7, 7, 6}, 46.0 / 26, low, high},
		{"a hop that costs less than nothing is a mistake of the measurement", []float64{10, 11, 12}, []float64{-10, -11, -12}, -1, math.NaN(), math.NaN()},
		{"a divisor that cannot be told from 0 bounds nothing", []float64{1, 2, 3}, []float64{-1, 1, 3}, 2, math.NaN(), math.NaN()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := ratio(test.a, test.b)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "value", &got.Value, test.value)
			near(t, "low", got.Low, test.low)
			near(t, "high", got.High, test.high)
		})
	}
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.IsNaN(want) {
		if got != nil || !math.IsNaN(want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
		return
	}
	if math.Abs(*got-want) > 1e-3 {
		t.Errorf("%s: got %v, want %v", what, *got, want)
	}
}

// What is taken from what is the whole of the answer, so it is tried on figures
// whose answer is known: an overhead of 30 over a hop of 20.
func TestReport(t *testing.T) {
	t.Parallel()
	var b bench
	b.Wires, b.Limit, b.Rounds = []string{"netrpc"}, 1.6, 2
	b.chains = chains(b.Wires)
	b.found = map[string][]figures{}
	for name, cpu := range map[string]float64{
		"client -http1-json-> logger": 50, "client -http1-json-> gateway -netrpc-> logger": 80,
		"client -netrpc-> logger": 10, "client -netrpc-> relay -netrpc-> logger": 30,
	} {
		for _, drift := range []float64{0, 1} {
			b.found[name] = append(b.found[name], figures{CPU: cpu + drift, P50: cpu + drift, Mean: cpu + drift, Rate: 1e6 / (cpu + drift)})
		}
	}
	r, err := b.report()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Costs {
		near(t, c.Measure+": overhead", &c.Overhead.Value, 30)
		near(t, c.Measure+": hop", &c.Hop.Value, 20)
		near(t, c.Measure+": ratio", &c.Ratio.Value, 1.5)
		near(t, c.Measure+": less direct over the inner wire", &c.Inner.Value, 70)
		near(t, c.Measure+": that as a ratio", &c.InnerRatio.Value, 3.5)
		if !c.Within || c.Misses {
			t.Errorf("%s: 1.5 is not within 1.6", c.Measure)
		}
	}
	var printed strings.Builder
	if err := r.print(&printed); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(printed.String(), "within 1.6") {
		t.Errorf("the table does not tell the verdict:\n%s", printed.String())
	}
}

// The help must be there, and what cannot be measured be told before anything starts.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ arguments, says string }{
		{"-wires raw-tcp", "the gateway has"},
		{"-rounds 1", "2 rounds"},
		{"-database oracle", "memory or postgres"},
		{"-requests all", "published or again"},
		{"-wirelab x rest", "no arguments"},
		{"-help", "help requested"},
	} {
		var help strings.Builder
		_, err := parse(strings.Fields(test.arguments), &help)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want something with %q", test.arguments, err, test.says)
		}
	}
}
