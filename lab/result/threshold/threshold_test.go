package threshold_test

import (
	"strings"
	"testing"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/threshold"
)

func TestParseThreshold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want threshold.Threshold // without Text and LimitText
	}{
		{"cpu/req > +3%", threshold.Threshold{Metric: plan.ServerCPU, Relative: true, Limit: 1.03}},
		{"server-cpu>+3 %", threshold.Threshold{Metric: plan.ServerCPU, Relative: true, Limit: 1.03}},
		{"server CPU/req > -5%", threshold.Threshold{Metric: plan.ServerCPU, Relative: true, Limit: 0.95}},
		{"cpu/req > +0%", threshold.Threshold{Metric: plan.ServerCPU, Relative: true, Limit: 1}},
		{"throughput < −2.5%", threshold.Threshold{Metric: plan.Throughput, Relative: true, Below: true, Limit: 0.975}},
		{"throughput < 5k/s", threshold.Threshold{Metric: plan.Throughput, Below: true, Limit: 5000}},
		{"p99 > 20ms", threshold.Threshold{Metric: plan.ResponseP99, Limit: 20e6}},
		{"P99.9 > 1.5 s", threshold.Threshold{Metric: plan.ResponseP999, Limit: 1.5e9}},
		{"service p50 > 50us", threshold.Threshold{Metric: plan.ServiceP50, Limit: 50e3}},
		{"mean > 1ms", threshold.Threshold{Metric: plan.ResponseMean, Limit: 1e6}},
		{"cpu/req > 50µs", threshold.Threshold{Metric: plan.ServerCPU, Limit: 50e3}},
		{"allocs/req > 40", threshold.Threshold{Metric: plan.ServerAllocations, Limit: 40}},
		{"sent > 1.2kB", threshold.Threshold{Metric: plan.WireSent, Limit: 1200}},
		{"errors > 0.1%", threshold.Threshold{Metric: threshold.ErrorShare, Limit: 0.001}},
		{"errors > 0%", threshold.Threshold{Metric: threshold.ErrorShare}},
		{"connections > 0", threshold.Threshold{Metric: metric.Connections}},
		{
			"grpc: p99 > 20ms @ 50 in flight",
			threshold.Threshold{Metric: plan.ResponseP99, Limit: 20e6, Arm: "grpc", Load: "50 in flight"},
		},
		{
			"grpc,target=127.0.0.1:50051 : mean > 20ms",
			threshold.Threshold{Metric: plan.ResponseMean, Limit: 20e6, Arm: "grpc,target=127.0.0.1:50051"},
		},
		{
			"a > b: client-cpu > +1%  @2k/s",
			threshold.Threshold{Metric: plan.ClientCPU, Relative: true, Limit: 1.01, Arm: "a > b", Load: "2k/s"},
		},
	} {
		got, err := threshold.ParseThreshold(c.text)
		c.want.Text, c.want.LimitText = got.Text, got.LimitText
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.text, got, err, c.want)
		}
	}
}

func TestRefusedThresholds(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                         "no > or <",
		"cpu/req +3%":              "no > or <",
		"speed > +3%":              `unknown metric "speed"; did you mean throughput or p50? wirelab help metrics lists all `,
		"cpu/req > 3%":             "write +3% or -3%",
		"cpu/req > +3":             "20ms or 50us",
		"cpu/req > 3":              "20ms or 50us",
		"cpu/req >= +3%":           "no limit",
		"cpu/req < -3%":            "less is better, so a threshold is written with >",
		"throughput > +3%":         "more is better, so a threshold is written with <",
		"throughput < 5ms":         "500/s or 5k/s",
		"throughput < -100%":       "fall by 100",
		"p99 > +20ms":              "limit with a sign",
		"p99 > 20":                 "20ms or 50us",
		"p99 > 0ms":                "always crossed",
		"p99 > 1e3ms":              "no limit",
		"p99 > NaN":                "no limit",
		"errors > +1%":             "share of all calls",
		"errors > 3":               "share of all calls",
		"errors > 100%":            "all calls",
		"connections > +3%":        "counted",
		": p99 > 20ms":             "no arm",
		"p99 > 20ms @":             "no load",
		strings.Repeat("x", 2000):  "longer than",
		"p99 > 9999999999999999ms": "no limit",
	} {
		got, err := threshold.ParseThreshold(text)
		if wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %+v, %v; want %q", text, got, err, says)
		}
	}
}

func TestCheckThreshold(t *testing.T) {
	t.Parallel()
	closed := plan.Plan{
		Workload: "w", Operation: "o",
		Arms: []plan.Arm{
			{Protocol: "grpc"},
			{Protocol: "http1", Connections: 4},
			{Protocol: "far", Target: "127.0.0.1:1"},
		},
		Loads: []plan.Load{{InFlight: 1}, {InFlight: 50}}, Primary: plan.Throughput,
	}
	open := plan.Plan{
		Workload: "w", Operation: "o", Arms: closed.Arms[:2],
		Loads: []plan.Load{{Rate: 2000, Arrivals: plan.Poisson}, {Rate: 500, Arrivals: plan.Constant}},
	}
	one := plan.Plan{Workload: "w", Operation: "o", Arms: closed.Arms[:1]}
	for _, c := range []struct {
		plan plan.Plan
		text string
		says string // "" is no error
	}{
		{closed, "p99 > 20ms", ""},
		{closed, "http1,connections=4: p99 > +20%", ""},
		{
			closed, "http1: p99 > 20ms",
			`unknown arm "http1"; did you mean http1,connections=4? Known: far,target=127.0.0.1:1; grpc; http1,connections=4`,
		},
		{closed, "grpc: p99 > 20ms @ 50", ""},
		{closed, "p99 > 20ms @ 1 in flight", ""},
		{closed, "p99 > 20ms @ 50 Calls in Flight", ""},
		{closed, "p99 > 20ms @ 5", `unknown load "5"; known: 1 in flight, 50 in flight`},
		{closed, "p99 > 20ms @ 50/s", "unknown load"},
		{closed, "grpc: p99 > +20%", "is the first arm"},
		{closed, "http1,connections=4: cpu/req > +3%", ""},
		{closed, "cpu/req > +3%", "is not ours"},
		{closed, "far,target=127.0.0.1:1: allocs/req > 9", "is not ours"},
		{open, "p99 > 20ms @ 2k/s", ""},
		{open, "p99 > 20ms @ 2000/s poisson", ""},
		{open, "p99 > 20ms @ 2k constant", "unknown load"},
		{open, "throughput < 5k/s", "open loop"},
		{open, "errors > 0.1%", ""},
		{one, "cpu/req > +3%", "no second arm"},
		{one, "cpu/req > 30us", ""},
	} {
		p, err := c.plan.Complete()
		if err != nil {
			t.Fatal(err)
		}
		threshold, err := threshold.ParseThreshold(c.text)
		if err != nil {
			t.Fatal(err)
		}
		err = threshold.Check(p)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
	}
}

// The parser never panics, and accepts the text of every threshold that it accepted.
func FuzzParseThreshold(f *testing.F) {
	for _, text := range []string{
		"cpu/req > +3%", "grpc: p99 > 20ms @ 50 in flight", "throughput < −2.5 %",
		"errors > 0%", "a:b: c < 1@@", "x>%s<%d",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := threshold.ParseThreshold(text)
		if err != nil {
			if wirelab.CodeOf(err) != wirelab.InvalidArgument {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if !(got.Limit >= 0) || got.Relative && got.Limit == 0 {
			t.Errorf("%q: limit %v", text, got.Limit)
		}
		again, err := threshold.ParseThreshold(got.Text)
		if err != nil || again != got {
			t.Errorf("%q: %+v, read again %+v, %v", text, got, again, err)
		}
	})
}
