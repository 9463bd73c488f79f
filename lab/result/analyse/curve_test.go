package analyse_test

import (
	"math"
	"testing"

	"wirelab/lab/kind/curve"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
)

// Curves of queues are compared with the closed form.
func TestCurveFindsWhatIsTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	r := resulttest.Curves()
	if flaws := consistency.Flaws(r); len(flaws) > 0 {
		t.Errorf("what was made up contradicts itself: %v", flaws)
	}
	a := analyse.Result(r)
	if len(a.Curves) != 1 || len(a.Curves[0].Levels) != 12 || len(a.Curves[0].Arms) != 3 {
		t.Fatalf("curves %+v", a.Curves)
	}
	c := &a.Curves[0]
	for i, want := range []struct {
		serves     float64 // calls per second
		kept, over float64 // the highest rate kept up with, the lowest not
		collapse   float64
	}{{2000, 1900, 2200, 0}, {1200, 1100, 1300, 0}, {1600, 1500, 1700, 1900}} {
		arm := &c.Arms[i]
		// The power λ(μ−λ) is flat around μ/2, so the knee has neighbours.
		if k := arm.Knee; !k.Known || k.Low > want.serves/2 || k.High < want.serves/2 || k.Rate < 0.35*want.serves ||
			k.Rate > 0.65*want.serves {
			t.Errorf("%s: knee %+v, want it near %v", arm.Name, k, want.serves/2)
		}
		if s := arm.Saturation; !s.Known || s.Low != want.kept || s.Rate != want.over {
			t.Errorf("%s: saturation %+v, want between %v and %v", arm.Name, s, want.kept, want.over)
		}
		if math.Abs(arm.Most.Value/want.serves-1) > 0.05 {
			t.Errorf("%s: answers at most %v, want about %v", arm.Name, arm.Most.Value, want.serves)
		}
		if arm.Collapse.Known != (want.collapse > 0) || arm.Collapse.Rate != want.collapse {
			t.Errorf("%s: collapse %+v, want at %v", arm.Name, arm.Collapse, want.collapse)
		}
		if by := arm.Collapse.By; want.collapse > 0 && (by.High > 0.6 || by.Low < 0.4) {
			t.Errorf("%s: collapses to %+v of the most, want half", arm.Name, by)
		}
		for l, p := range arm.Points {
			offered := c.Levels[l].Offered
			switch {
			case offered > want.serves && (!p.Overloaded || p.P50.Value < 20e6 || p.Achieved.Value > 1.02*want.serves):
				t.Errorf("%s at %v: %+v: overload is to be seen", arm.Name, offered, p)
			case offered < 0.9*want.serves && p.Overloaded:
				t.Errorf("%s at %v is no overload: %+v", arm.Name, offered, p.Share)
			case offered < 0.6*want.serves && math.Abs(p.P50.Value/(math.Ln2/(want.serves-offered)*1e9)-1) > 0.1:
				t.Errorf("%s at %v: median %v, the closed form is %v", arm.Name, offered, p.P50.Value,
					math.Ln2/(want.serves-offered)*1e9)
			}
		}
	}
}

// Waiting for calls in flight spoils nothing, but lateness while a worker was free spoils times.
func TestOverloadIsTheServicesAndTheGeneratorsLatenessIsNot(t *testing.T) {
	t.Parallel()
	servers := []resulttest.Server{{Name: "one", Protocol: "grpc", Rate: 1000}}
	rates := []float64{300, 600, 900, 2000}
	point := func(change func(*result.Trial)) (claim.Point, *claim.ArmState) {
		r := resulttest.Curve(servers, rates, 10)
		for n := range r.Rounds {
			change(&r.Rounds[n].Trials[3]) // at 2,000/s
		}
		a := analyse.Result(r)
		return a.Curves[0].Arms[0].Points[3], &a.Loads[3].Arms[0]
	}
	p, state := point(func(*result.Trial) {})
	if !p.Overloaded || p.Why != "" || !p.P99.Known || p.Waited < 0.3 {
		t.Errorf("twice what it serves: %+v", p)
	}
	if why := state.Why(kinds.MustMetric(plan.ResponseP99)); why != "" {
		t.Errorf("compared by itself it is refused: %s", why)
	}
	late := func(t *result.Trial) {
		n := t.Wake.Count()
		t.Wake.Reset()
		t.Wake.RecordN(int64(3e8), n)
	}
	if p, _ = point(late); p.P99.Known || p.P50.Known || p.Gate != result.OnTime50 {
		t.Errorf("late while callers were free: %+v", p)
	}
	failed := func(t *result.Trial) { // a tenth got no answer, and as many were never made
		n := t.OK / 10
		t.OK -= 2 * n
		t.Completed = min(t.Completed, t.OK)
		t.Sent -= n
		t.Unsent, t.Errors["deadline_exceeded"] = n, n
		t.Failed, t.Response, t.Service = stat.NewHistogram(), stat.NewHistogram(), stat.NewHistogram()
		t.Failed.RecordN(5e9, 2*n)
		t.Response.RecordN(1e8, t.OK)
		t.Service.RecordN(1e8, t.OK)
	}
	p, state = point(failed)
	if !p.AtLeast || math.Abs(p.Failed-0.2) > 0.01 || !p.P99.Known || math.Abs(p.P99.Value/5e9-1) > 0.01 ||
		p.Why != "" {
		t.Errorf("a fifth without an answer: %+v", p)
	}
	if why := state.Why(kinds.MustMetric(plan.ResponseP99)); why == "" {
		t.Error("compared by itself, times of a fifth are missing and nobody says so")
	}
	if p, _ = point(func(t *result.Trial) { t.Errors[result.WrongReply]++; t.Sent++ }); p.P99.Known ||
		p.Achieved.Known || p.Gate != result.Answers {
		t.Errorf("with a wrong reply: %+v", p)
	}
}

// Two rates are only a comparison, and loads of different kinds are not mixed.
func TestFewLevelsAreNoCurve(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for _, r := range []*result.Result{resulttest.Open(), resulttest.Closed(), {}} {
		if a := analyse.Result(r); len(a.Curves) != 0 {
			t.Errorf("%s: %d curves", r.ID, len(a.Curves))
		}
	}
	r := resulttest.Curves()
	for l := range r.Plan.Loads {
		r.Plan.Loads[l].Arrivals = []string{plan.Poisson, plan.Constant}[l%2]
	}
	if c := curve.Curves(r); len(c) != 2 || len(c[0].Levels) != 6 || c[0].Arrivals == c[1].Arrivals {
		t.Errorf("of two laws: %d curves", len(c))
	}
}
