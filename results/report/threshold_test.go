package report_test

import (
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/result/threshold"
	"wirelab/results/report"
)

func TestFigure(t *testing.T) {
	t.Parallel()
	relative := func(limit, value, low, high float64) threshold.Finding {
		return threshold.Finding{
			Metric: plan.ServerCPU, Relative: true, Limit: limit, Known: true, Bounded: true,
			Value: value, Low: low, High: high,
		}
	}
	of := func(metric string, limit, value, low, high float64) threshold.Finding {
		f := relative(limit, value, low, high)
		f.Metric, f.Relative = metric, false
		return f
	}
	for _, c := range []struct {
		name            string
		f               threshold.Finding
		value, interval string
	}{
		{"a ratio", relative(1.03, 1.324, 1.316, 1.332), "+32.4 %", "[+31.6, +33.2]"},
		{"a wide one", relative(1.03, 1.3, 1.1, 1.5), "+30 %", "[+10, +50]"},
		{
			"a bound that would read like the limit", relative(1.03, 1.035, 1.03001, 1.04), "+3.500 %",
			"[+3.001, +4.000]",
		},
		{"known for sure", relative(1.03, 1.05, 1.05, 1.05), "+5.0 %", "exact"},
		{"a time", of(plan.ResponseP99, 20e6, 3.67e6, 3.59e6, 3.76e6), "3.67 ms", "[3.59, 3.76]"},
		{
			"a time whose bound is close to its limit", of(plan.ResponseP99, 3.6e6, 3.67e6, 3.60004e6, 3.76e6),
			"3.67000 ms", "[3.60004, 3.76000]",
		},
		{"a rate", of(plan.Throughput, 5e4, 15900, 15500, 16300), "15,900/s", "[15,500, 16,300]"},
		{"failures", of(threshold.ErrorShare, 0.001, 0.0000412, 0, 0.00013), "0.0041 %", "[0, 0.013]"},
		{"a count", of(metric.Connections, 0, 3, 3, 3), "3", "exact"},
		{"nothing", threshold.Finding{Metric: plan.ServerCPU}, report.Absent, ""},
	} {
		if value, interval := report.Figure(&c.f); value != c.value || interval != c.interval {
			t.Errorf("%s: %q %q, want %q %q", c.name, value, interval, c.value, c.interval)
		}
	}
}

func TestJudged(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct {
		r     *result.Result
		texts []string
		want  []string
	}{
		{
			resulttest.Closed(),
			[]string{"connect: cpu/req > +3% @ 1"},
			[]string{"Pass: server CPU per request of connect, with 1 call in flight: 0.0 % (95 % CI −0.8 to +0.9), " +
				"within the limit of +3%."},
		},
		{resulttest.Closed(), []string{"connect: cpu/req > +3%"}, []string{"Pass: all 2 comparisons"}},
		{
			resulttest.Closed(),
			[]string{"cpu/req > +3%"},
			[]string{"Fail (2 of 4): server CPU per request of grpc", "over the limit of +3%; and 1 more."},
		},
		{
			resulttest.Closed(),
			[]string{"http1-proto: throughput < 50k/s @ 1"},
			[]string{"15,900/s (95 % CI 15,500 to 16,300), under the limit of 50k/s."},
		},
		{resulttest.Closed(), []string{"p99.9 > +1%"}, []string{"Fail"}},
		{
			resulttest.Closed(),
			[]string{"connect: p99.9 > +2% @ 50"},
			[]string{"Inconclusive: ", "the interval holds the limit; +", " rounds would probably decide"},
		},
		{
			resulttest.Troubled(),
			[]string{"cpu/req > +3%"},
			[]string{"Invalid (3 of 5): ", "nothing to compare with the limit of +3%: 3 of"},
		},
		{resulttest.Short(3), []string{"cpu/req > +3%"}, []string{"Invalid: interrupted after 3 rounds"}},
	} {
		var all []threshold.Threshold
		for _, text := range c.texts {
			one, err := threshold.ParseThreshold(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
		a := analyse.Result(c.r)
		j := threshold.Judge(c.r, &a, all)
		got := report.Judged(c.r.Plan, &j)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%q: %s; lacks %q", c.texts, got, want)
			}
		}
	}
}
