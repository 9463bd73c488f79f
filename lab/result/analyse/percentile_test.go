package analyse_test

import (
	"testing"
	"time"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/result/threshold"
)

// Any percentile can be named in thresholds, in objectives and as the primary metric. One that every report has is
// the same, however it is written.
func TestAnyPercentile(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]struct {
		id string
		q  float64
	}{
		"p95": {"response-p95", 0.95}, "p12.5": {"response-p12.5", 0.125}, "p99.99": {"response-p99.99", 0.9999},
		"p99.90": {plan.ResponseP999, 0.999}, "p50": {plan.ResponseP50, 0.5}, "stored-p95": {"stored-p95", 0.95},
		"delivery-p99.99": {"delivery-p99.99", 0.9999},
	} {
		m, err := kinds.MetricNamed(word)
		if err != nil || m.ID != want.id || m.Quantile != want.q {
			t.Errorf("%s: %s of %v, %v", word, m.ID, m.Quantile, err)
		}
	}
	for _, word := range []string{"p0", "p100", "p-1", "p", "p99.99999", "response-p0", "throughput-p95", "p95x"} {
		if m, err := kinds.MetricNamed(word); err == nil {
			t.Errorf("%s is %s", word, m.ID)
		}
	}
	o, err := capacity.ParseObjective("p99.9<9ms,p95<5ms,mean<1ms,p12.50<1ms")
	if err != nil || o.String() != "p12.5<1ms,p95<5ms,p99.9<9ms,mean<1ms,errors<0.1%" || o.Times[1].Quantile != 0.95 ||
		o.Tail() != 0.999 {
		t.Errorf("objective %v, %v", o, err)
	}
	if _, err := capacity.ParseObjective("p95<1ms,p95.0<2ms"); err == nil {
		t.Error("one percentile is bounded twice")
	}
}

// A percentile that no report shows has figures like the others: between those of its neighbours, and judged by the
// same checks.
func TestPercentileDecides(t *testing.T) {
	t.Parallel()
	r := resulttest.Make(resulttest.Setting{
		Arms: resulttest.Arms()[:2], Rounds: 12, Seed: 5,
		Loads: []plan.Load{{Rate: 2000, Arrivals: plan.Poisson, InFlight: 256}},
	})
	r.Plan.Primary = "response-p95"
	a := analyse.Result(r)
	l := &a.Loads[0]
	p90, p95, p99 := cell(t, a, 0, plan.ResponseP90, 0), cell(t, a, 0, "response-p95", 0),
		cell(t, a, 0, plan.ResponseP99, 0)
	if l.Primary != "response-p95" || !p95.Estimate.Known || p95.Estimate.Value < p90.Estimate.Value ||
		p95.Estimate.Value > p99.Estimate.Value {
		t.Errorf("primary %s: p90 %v, p95 %+v, p99 %v", l.Primary, p90.Estimate.Value, p95.Estimate, p99.Estimate.Value)
	}
	if d := cell(t, a, 0, "response-p95", 1).Difference; d == nil || !d.Known || d.Verdict == "" {
		t.Errorf("the difference is not judged: %+v", d)
	}
	for text, want := range map[string]threshold.Outcome{
		"p97.5 > 10s": threshold.Passed,
		"p97.5 > 1us": threshold.Crossed, "p97.5 > +900%": threshold.Passed,
	} {
		th, err := threshold.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := th.Check(r.Plan); err != nil {
			t.Error(err)
		}
		if j := threshold.Judge(r, &a, []threshold.Threshold{th}); j.Outcome != want {
			t.Errorf("%s: %+v", text, j)
		}
	}
	each(r, func(_ int, t *result.Trial) { t.Lag = resulttest.Times(t.OK, 20*time.Microsecond) })
	if late := cell(t, analyse.Result(r), 0, "response-p95", 1); late.Estimate.Known {
		t.Error("p95 of a generator that is late for p99")
	}
}
