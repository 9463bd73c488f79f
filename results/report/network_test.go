package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

// The head says in a line what the path was, what of it is a model, and what
// the relay adds and uses itself; nothing where there was none.
func TestNetwork(t *testing.T) {
	t.Parallel()
	r := resulttest.Closed()
	if text := report.Network(r); text != "" {
		t.Errorf("without a network: %q", text)
	}
	r.Network = &result.Network{
		Spec: "rtt=1ms,loss=0.1%,bandwidth=1Gbit", Via: "relay", Notes: []string{"…"},
		Floors: []result.RelayFloor{
			{
				Transport: "TCP", Trips: 400, DirectP50: 20_000, DirectP99: 40_000, P50: 31_000, P99: 95_000,
				Asked: plan.Duration(time.Millisecond), BeyondP50: 60_000, BeyondP99: 140_000,
			},
			{Transport: "UDP", Trips: 400, P50: 25_000, P99: -2_000},
		},
	}
	r.Placement = result.Placement{ServerCPUs: []int{2, 3}, DriverCPUs: []int{0}, RelayCPUs: []int{1}}
	for i := range r.Rounds {
		for j := range r.Rounds[i].Trials {
			trial := &r.Rounds[i].Trials[j]
			trial.Relay = &result.Relayed{
				CPU:     plan.Duration(trial.Calls() * uint64(20_000+5_000*trial.Arm)),
				LateP50: 50_000, LateP99: int64(1000 * (i + 100)),
			}
		}
	}
	want := "rtt=1ms,loss=0.1%,bandwidth=1Gbit, by a relay on CPU 1; loss on TCP is a model: the delay that sending " +
		"again costs; its windows and handshakes are too; " +
		"it adds 31.0 µs to a TCP round trip by itself (p99 95.0 µs), and to one that is to take 1.00 ms, 60.0 µs " +
		"(p99 140 µs); " +
		"it adds 25.0 µs to a UDP round trip by itself (p99 −2.00 µs); it used 20.0 µs to "
	text := report.Network(r)
	if !strings.HasPrefix(text, want) ||
		!strings.HasSuffix(text,
			" of CPU a call, neither server's nor driver's, and in its worst slice passed packets on 50.0 µs late "+
				"(p99 129 µs)") {
		t.Errorf("the line is\n%s\nwant it to begin with\n%s", text, want)
	}
	if a := analyse.Result(r); !slices.ContainsFunc(report.Facts(r, &a),
		func(f report.Fact) bool { return f.Name == "network" && f.Text == text }) {
		t.Error("it is not in the head")
	}
	for spec, c := range map[string]struct {
		change    func(*result.Result)
		says, not string
	}{
		"rtt=40ms": {
			func(r *result.Result) { r.Network.Name = "wan" },
			"wan (rtt=40ms), by a relay on CPU 1; TCP's windows and handshakes are a model;", "loss",
		},
		"rtt=0s":          {func(*result.Result) {}, "rtt=0s, by a relay on CPU 1; it adds", "model"},
		"rtt=2ms,loss=1%": {func(r *result.Result) { datagrams(r) }, "by a relay on CPU 1; it adds", "model"},
		"rtt=3ms": {
			func(r *result.Result) { r.Placement.RelayCPUs = []int{0} },
			"by a relay on the driver's CPU;", "",
		},
		"rtt=4ms": {
			func(r *result.Result) { r.Placement = result.Placement{} }, "by a relay; ",
			" CPU 1",
		},
		"rtt=5ms,via=netem": {
			func(r *result.Result) { r.Network.Via, r.Network.Floors = "netem", nil },
			"by the kernel's netem", "relay",
		},
		"rtt=6ms,loss=1%,hello": {
			func(r *result.Result) { r.Arms, r.Rounds = nil, nil }, "loss on TCP is a model",
			"it used",
		},
	} {
		r := *r
		n := *r.Network
		r.Network, r.Arms = &n, slices.Clone(r.Arms)
		n.Spec = spec
		c.change(&r)
		if text := report.Network(&r); !strings.Contains(text, c.says) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %q; want %q and not %q", spec, text, c.says, c.not)
		}
	}
}

func datagrams(r *result.Result) {
	for i := range r.Arms {
		r.Arms[i].Datagrams = true
	}
}
