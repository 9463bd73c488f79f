package selftest

import (
	"strings"
	"testing"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
)

// A number is counted by what it is and by what was done with it.
func TestNumbersAreClassified(t *testing.T) {
	t.Parallel()
	known := func(d time.Duration) claim.Estimate { return claim.Estimate{Known: true, Value: float64(d)} }
	refused := func(d time.Duration) claim.Estimate {
		return claim.Estimate{Why: "busy", Refused: &claim.Refused{Value: float64(d), Why: "busy"}}
	}
	const want = 10 * time.Millisecond
	var v verdicts
	for _, e := range []claim.Estimate{
		known(want), known(want + 600*time.Microsecond), refused(want - 600*time.Microsecond), // within 5 % and 0.1 ms
		known(want + 601*time.Microsecond), refused(2 * want), refused(want / 2), {Why: "too few calls"},
	} {
		v.judge("a number", e, want)
	}
	if v.truePublished != 2 || v.trueRefused != 1 || v.falsePublished != 1 || v.falseRefused != 2 {
		t.Errorf("%+v", v)
	}
	if len(v.wrong) != 1 || len(v.strict) != 1 || !strings.Contains(v.strict[0], "(busy)") {
		t.Errorf("%q, %q", v.wrong, v.strict)
	}
	many := verdicts{trueRuns: 1000, trueRunsRefused: 100, falseRuns: 1000, falseRunsPublished: 40}
	if strict, wrong := many.figures()[0], many.figures()[1]; strict.Found != 10 || wrong.Found != 4 {
		t.Errorf("%+v, %+v", strict, wrong)
	}
	for _, f := range many.figures() {
		if f.OK() {
			t.Errorf("passes: %+v", f)
		}
	}
}

// A run is judged by all its numbers.
func TestRunsAreClassified(t *testing.T) {
	t.Parallel()
	var all verdicts
	for _, one := range []verdicts{
		{truePublished: 3},
		{truePublished: 2, trueRefused: 1}, // true; one refused
		// false; one published
		{falseRefused: 1, truePublished: 1, trueRefused: 1},
		{falseRefused: 2, falsePublished: 1},
		{}, // nothing was measured
	} {
		one.run()
		all.add(one)
	}
	if all.trueRuns != 2 || all.trueRunsRefused != 1 || all.falseRuns != 2 || all.falseRunsPublished != 1 {
		t.Errorf("%+v", all)
	}
}

// Every pace has a law, whose quantiles lie where no small share of its calls moves them.
func TestPacesHaveLaws(t *testing.T) {
	t.Parallel()
	for _, p := range paces("") {
		truth, err := p.law()
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		for _, q := range []float64{0.5, 0.9, 0.99} {
			if low, high := truth.Quantile(q-0.009), truth.Quantile(min(q+0.009, 1)); high > low+low/50 {
				t.Errorf("%s: p%g is between %v and %v", p, 100*q, low, high)
			}
		}
		if _, err := p.plan(p.inject).Complete(); err != nil && !strings.Contains(err.Error(), "workload") {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// A wire that a neighbour slowed down in a round is known from the others.
func TestWireIsThatOfTheCalmestRound(t *testing.T) {
	t.Parallel()
	r := &result.Result{}
	for _, took := range []int64{68e6, 1e5, 2e5} {
		h := &stat.Histogram{}
		h.RecordN(took, 300)
		r.Rounds = append(r.Rounds, result.Round{Trials: []result.Trial{{Response: h}}})
	}
	if h, err := calmest(r); err != nil || h.Max() > 101e3 {
		t.Errorf("%v, %v", h.Max(), err)
	}
	if _, err := calmest(&result.Result{Rounds: []result.Round{{Trials: []result.Trial{{}}}}}); err == nil {
		t.Error("nothing was answered")
	}
}

// Runs are chosen by words of their names; a word that chooses none is an error.
func TestGatesAreChosen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e           Env
		loads, with int
		says        string
	}{
		{Env{}, 11, 3, ""},
		{Env{Loads: []string{"bimodal", "2s"}, Busy: []string{"driver", "none"}, Driver: "raw"}, 3, 2, ""},
		{Env{Loads: []string{"bimodel"}}, 0, 0, "no load of the gates has bimodel"},
		{Env{Busy: []string{"client"}}, 0, 0, "unknown core"},
		{Env{Driver: "fast"}, 0, 0, "unknown driver"},
	} {
		loads, with, err := c.e.gates()
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v: %v, want %q", c.e, err, c.says)
			}
			continue
		}
		if err != nil || len(loads) != c.loads || len(with) != c.with || loads[0].driver != c.e.Driver {
			t.Errorf("%+v: %d loads, %d companies, %v", c.e, len(loads), len(with), err)
		}
	}
}
