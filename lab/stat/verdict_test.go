package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"wirelab/lab/stat"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	const n = 12
	effect := func(percent, sdPercent float64, rounds int) stat.Effect {
		// Half of the rounds are one sd above the mean and half below, so that mean and sd are exact.
		a, b := make([]float64, rounds), make([]float64, rounds)
		for i := range a {
			d := math.Log1p(percent/100) + sdPercent/100*float64(1-2*(i%2))
			a[i], b[i] = 1+float64(i), (1+float64(i))*math.Exp(d)
		}
		e, err := stat.PairedRatio(a, b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, c := range []struct {
		e    stat.Effect
		rule stat.Rule
		want stat.Verdict
		why  string
	}{
		{effect(10, 2, n), stat.Rule{}, stat.ABetter, "B's latency is 10 % higher"},
		{effect(-10, 2, n), stat.Rule{}, stat.BBetter, "B's latency is lower"},
		{effect(10, 2, n), stat.Rule{Direction: stat.HigherIsBetter}, stat.BBetter, "B's throughput is higher"},
		{effect(-10, 2, n), stat.Rule{Direction: stat.HigherIsBetter}, stat.ABetter, "B's throughput is lower"},
		{effect(0.5, 0.1, n), stat.Rule{}, stat.Equivalent, "proved, but too small to matter"},
		{effect(0.5, 0.1, n), stat.Rule{Practical: 0.001}, stat.ABetter, "unless one says it matters"},
		{
			effect(0.01, 0.001, n),
			stat.Rule{Practical: -1},
			stat.ABetter,
			"a negative threshold claims whatever is proved",
		},
		{effect(0, 1, n), stat.Rule{}, stat.Equivalent, "close to nothing, known well"},
		{effect(0, 1, n), stat.Rule{Epsilon: 0.002}, stat.Inconclusive, "not known that well"},
		{effect(5, 20, n), stat.Rule{}, stat.Inconclusive, "5 % in a spread of 20 %"},
		{effect(10, 0.1, 5), stat.Rule{}, stat.Inconclusive, "flipping the signs of 5 rounds cannot reach 0.05"},
		{effect(10, 0.1, 6), stat.Rule{}, stat.ABetter, "those of 6 can"},
		{effect(2, 0.5, n), stat.Rule{}, stat.ABetter, "a proved difference goes before equivalence"},
	} {
		f := c.rule.Judge(c.e)
		if f.Verdict != c.want {
			t.Errorf("%s: %q, want %q (%+v)", c.why, f.Verdict, c.want, c.e)
		}
	}
}

// One difference is found by the t-test but not by sign flips, and another the other way round.
func TestJudgeNeedsBothTests(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]stat.Effect{
		"only the t-test": {
			Ratio: 1.1, Low: 1.05, High: 1.15, LogMean: math.Log(1.1), LogSD: 0.06, Alpha: 0.05,
			Rounds: 10, P: 0.06,
		},
		"only the sign flips": {
			Ratio: 1.1, Low: 0.99, High: 1.22, LogMean: math.Log(1.1), LogSD: 0.15, Alpha: 0.05,
			Rounds: 10, P: 0.01,
		},
	} {
		if v := (stat.Rule{}).Judge(e).Verdict; v != stat.Inconclusive {
			t.Errorf("%s: %q", name, v)
		}
	}
}

// With identical arms a difference is claimed in at most 5 % of experiments, with or without drift. A real difference
// is found.
func TestFalseClaims(t *testing.T) {
	t.Parallel()
	const repeats = 1000
	claimed := func(effect float64, rounds int, heavy bool) float64 {
		r := rand.New(rand.NewPCG(11, uint64(rounds)))
		n := 0
		for range repeats {
			a, b := rounded(r, rounds, effect, 0.03)
			if heavy { // an occasional outlier round
				for i := range a {
					if r.IntN(8) == 0 {
						a[i] *= math.Exp(0.2 * r.NormFloat64())
					}
				}
			}
			e, err := stat.PairedRatio(a, b, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if v := (stat.Rule{Practical: -1}).Judge(e).Verdict; v == stat.ABetter || v == stat.BBetter {
				n++
			}
		}
		return float64(n) / repeats
	}
	// 5 % plus three standard deviations of a share of 1,000: 7.1 %.
	for _, rounds := range []int{6, 10, 15} {
		for _, heavy := range []bool{false, true} {
			if share := claimed(0, rounds, heavy); share > 0.071 {
				t.Errorf("%d rounds, heavy tails %v: %v of identical pairs differ", rounds, heavy, share)
			}
		}
	}
	// In the simulation of the method it was 83 to 84 % for +3 % with a spread of 2.8 %.
	if share := claimed(0.03, 10, false); share < 0.70 || share > 0.90 {
		t.Errorf("found 3 %% in %v of experiments", share)
	}
}

func TestIntervalsCover(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(12, 12))
	const repeats = 4000
	covered := 0
	for range repeats {
		a, b := rounded(r, 10, 0.07, 0.05)
		e, err := stat.PairedRatio(a, b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if e.Low <= math.Exp(0.07) && math.Exp(0.07) <= e.High {
			covered++
		}
	}
	if share := float64(covered) / repeats; share < 0.94 || share > 0.96 {
		t.Errorf("95 %% intervals cover in %v", share)
	}
}

// Checking after every round and stopping when the interval is narrow keeps the error rate. Stopping when it is
// significant would not.
func TestStoppingOnWidth(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(13, 13))
	const repeats, most = 600, 20
	wrong, greedy := 0, 0
	for range repeats {
		a, b := rounded(r, most, 0, 0.04)
		stopped, caught := false, false
		for n := 3; n <= most; n++ {
			e, err := stat.PairedRatio(a[:n], b[:n], stat.SequentialAlpha)
			if err != nil {
				t.Fatal(err)
			}
			significant := e.Low > 1 || e.High < 1
			caught = caught || significant
			if !stopped && (stat.StopOnWidth([]stat.Effect{e}, 0.03).Enough || n == most) {
				stopped = true
				if n < stat.SequentialRounds {
					t.Fatalf("stopped after %d rounds", n)
				}
				if significant {
					wrong++
				}
			}
		}
		if caught {
			greedy++
		}
	}
	if share := float64(wrong) / repeats; share > 0.05+3*math.Sqrt(0.05*0.95/repeats) {
		t.Errorf("false claims in %v", share)
	}
	if share := float64(greedy) / repeats; share < 0.10 {
		t.Errorf("stopping on significance claims %v only: this test would not see the error", share)
	}
}

func TestStopOnWidthTakesTheWidest(t *testing.T) {
	t.Parallel()
	narrow := stat.Effect{LogSD: 0.01, Rounds: 12, Alpha: 0.5}
	wide := stat.Effect{LogSD: 0.10, Rounds: 12, Alpha: 0.5}
	few := stat.Effect{LogSD: 0, Rounds: 9}
	for _, c := range []struct {
		effects []stat.Effect
		enough  bool
		widest  int
		why     string
	}{
		{nil, false, -1, "nothing was measured"},
		{[]stat.Effect{narrow}, true, 0, "narrow, and its own alpha does not matter"},
		{[]stat.Effect{narrow, wide, narrow}, false, 1, "one is wide"},
		{[]stat.Effect{few}, false, 0, "9 rounds, however narrow"},
	} {
		s := stat.StopOnWidth(c.effects, 0.03)
		if s.Enough != c.enough || s.Widest != c.widest || s.RoundsNeeded < 10 {
			t.Errorf("%s: %+v", c.why, s)
		}
	}
	if s := stat.StopOnWidth([]stat.Effect{wide}, 0.03); s.RoundsNeeded < 45 || s.RoundsNeeded > 60 {
		t.Errorf("10 %% spread needs %d rounds for ±3 %%", s.RoundsNeeded) // (2.1·0.10/0.0296)² ≈ 51
	}
}
