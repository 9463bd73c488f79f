package stat_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"wirelab/lab/stat"
)

func TestPairedRatioByHand(t *testing.T) {
	t.Parallel()
	// ln ratios 1, 2, 3: mean 2, sd 1; t of 2 degrees at 97.5 % is 4.302653 in every table.
	a := []float64{1, 1, 2}
	b := []float64{math.E, math.Exp(2), 2 * math.Exp(3)}
	e, err := stat.PairedRatio(a, b, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	half := 4.302653 / math.Sqrt(3)
	within(t, "ratio", e.Ratio, math.Exp(2), 1e-12)
	within(t, "sd", e.LogSD, 1, 1e-12)
	within(t, "low", e.Low, math.Exp(2-half), 1e-6)
	within(t, "high", e.High, math.Exp(2+half), 1e-6)
	within(t, "p", e.P, 2.0/8, 1e-12) // of +++ … −−− only the first and the last are as far from 0
	if e.Rounds != 3 || e.Exact || e.Alpha != 0.05 {
		t.Errorf("%+v", e)
	}
}

// TestStudentTable compares with the published table of t.
func TestStudentTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rounds int
		alpha  float64
		t      float64
	}{
		{2, 0.05, 12.706},
		{3, 0.05, 4.303},
		{5, 0.05, 2.776},
		{6, 0.01, 4.032},
		{10, 0.05, 2.262},
		{10, 0.10, 1.833},
		{11, 0.05, 2.228},
		{21, 0.01, 2.845},
		{31, 0.05, 2.042},
		{121, 0.05, 1.980},
	} {
		e := stat.Effect{LogSD: 1, Rounds: c.rounds}
		got := e.HalfWidth(c.alpha) * math.Sqrt(float64(c.rounds))
		if math.Abs(got-c.t) > 0.0005 {
			t.Errorf("t of %d degrees at %v = %v, the table has %v", c.rounds-1, 1-c.alpha/2, got, c.t)
		}
	}
}

func TestSwappingTheArmsGivesTheReciprocal(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, rounds := range []int{2, 10, 25} {
		a, b := rounded(r, rounds, 0.05, 0.02)
		ab, err := stat.PairedRatio(a, b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		ba, err := stat.PairedRatio(b, a, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		within(t, "ratio", ba.Ratio, 1/ab.Ratio, 1e-12)
		within(t, "low", ba.Low, 1/ab.High, 1e-12)
		within(t, "p", ba.P, ab.P, 1e-12)
		within(t, "equivalence", ba.Equivalence(0.03), ab.Equivalence(0.03), 1e-9)
		if v, w := (stat.Rule{}).Judge(ab).Verdict,
			(stat.Rule{}).Judge(ba).Verdict; (v == stat.ABetter) != (w == stat.BBetter) {
			t.Errorf("%d rounds: %v, swapped %v", rounds, v, w)
		}
	}
}

// rounded returns rounds of two arms that differ by effect (of the logarithm) with the spread sd. Both share a drift.
func rounded(r *rand.Rand, rounds int, effect, sd float64) (a, b []float64) {
	drift := 0.0
	for range rounds {
		drift += 0.1 * r.NormFloat64()
		x := 100 * math.Exp(drift)
		a = append(a, x*math.Exp(sd*r.NormFloat64()/math.Sqrt2))
		b = append(b, x*math.Exp(effect+sd*r.NormFloat64()/math.Sqrt2))
	}
	return a, b
}

// TestSignFlipIsTheDumbCount compares with counting every pattern by its bits.
func TestSignFlipIsTheDumbCount(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	for rounds := 2; rounds <= 14; rounds++ {
		d, a, b := make([]float64, rounds), make([]float64, rounds), make([]float64, rounds)
		seen := 0.0
		for i := range d {
			d[i] = math.Round(10*(r.NormFloat64()+0.4)) / 16 // coarse, so that sums tie
			a[i], b[i] = 1, math.Exp(d[i])
			seen += d[i]
		}
		extreme := 0
		for pattern := range 1 << rounds {
			sum := 0.0
			for i, v := range d {
				if pattern>>i&1 == 1 {
					v = -v
				}
				sum += v
			}
			if math.Abs(sum) >= math.Abs(seen)-1e-9 {
				extreme++
			}
		}
		e, err := stat.PairedRatio(a, b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if want := float64(extreme) / float64(int(1)<<rounds); e.P != want {
			t.Errorf("%d rounds: p = %v, counted %v", rounds, e.P, want)
		}
	}
}

func TestSignFlipOfManyRounds(t *testing.T) {
	t.Parallel()
	// If all differences are equal in size, p is known: 2/2^n if all agree, and twice the binomial tail if k of n
	// disagree.
	same := func(n, against int) float64 {
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = 1+float64(i), 2+2*float64(i)
			if i < against {
				a[i], b[i] = b[i], a[i]
			}
		}
		e, err := stat.PairedRatio(a, b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		return e.P
	}
	within(t, "20 of 20", same(20, 0), math.Exp2(-19), 1e-9)
	within(t, "16 of 20", same(20, 4), 2*6196/math.Exp2(20), 1e-9) // 1+20+190+1140+4845
	// Sampled: 5 of 21 against, p = 2·27896/2^21 = 0.0266; 100,000 flips know it to ±0.0005 (1 sd).
	within(t, "16 of 21", same(21, 5), 2*27896/math.Exp2(21), 0.08)
	within(t, "21 of 21", same(21, 0), 2e-5, 0.9) // at least 1/100,001, never 0
	if p, again := same(70, 25), same(70, 25); p != again {
		t.Errorf("the same rounds gave %v and %v", p, again)
	}
	within(t, "45 of 70", same(70, 25), 0.0222, 0.08) // exact binomial, doubled
}

func TestExactRatios(t *testing.T) {
	t.Parallel()
	e, err := stat.PairedRatio([]float64{300, 300, 300}, []float64{200, 200, 200}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if !e.Exact || e.Ratio != 200.0/300 || e.Low != e.Ratio || e.High != e.Ratio || e.LogSD != 0 {
		t.Errorf("%+v", e)
	}
	if v := (stat.Rule{}).Judge(e).Verdict; v != stat.BBetter {
		t.Errorf("fewer bytes are %q", v)
	}
	e, err = stat.PairedRatio([]float64{300, 300}, []float64{300, 300}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	f := stat.Rule{}.Judge(e)
	if f.Verdict != stat.Equivalent || e.Ratio != 1 || e.P != 1 || f.MDE != 0 || f.RoundsNeeded != 2 {
		t.Errorf("equal bytes are %+v, %+v", f, e)
	}
	// If the ratio is the same in every round while the arms vary, it is still estimated: two rounds prove nothing by
	// flipping signs.
	e, err = stat.PairedRatio([]float64{100, 200}, []float64{200, 400}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if v := (stat.Rule{}).Judge(e).Verdict; e.Exact || v != stat.Inconclusive {
		t.Errorf("two rounds gave %q, %+v", v, e)
	}
}

func TestInputThatIsRefused(t *testing.T) {
	t.Parallel()
	nan, inf, two := math.NaN(), math.Inf(1), []float64{1, 1}
	for name, c := range map[string]struct {
		a, b  []float64
		alpha float64
	}{
		"no rounds":                          {nil, nil, 0.05},
		"one round":                          {[]float64{1}, []float64{1}, 0.05},
		"unpaired":                           {two, []float64{1, 1, 1}, 0.05},
		"zero":                               {two, []float64{1, 0}, 0.05},
		"zeros on one side":                  {[]float64{0, 0}, two, 0.05},
		"negative":                           {[]float64{-1, 1}, two, 0.05},
		"not a number":                       {[]float64{nan, 1}, two, 0.05},
		"infinite":                           {two, []float64{inf, 1}, 0.05},
		"alpha 0":                            {two, two, 0},
		"alpha 1":                            {two, two, 1},
		"alpha NaN":                          {two, two, nan},
		"worlds apart":                       {[]float64{1e-300, 1e300}, []float64{1e300, 1e-300}, 0.05},
		"a constant ratio that is no number": {[]float64{1e300, 1e300}, []float64{1e-300, 1e-300}, 0.05},
	} {
		if e, err := stat.PairedRatio(c.a, c.b, c.alpha); !errors.Is(err, stat.ErrInput) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func FuzzPairedRatio(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.05)
	f.Add(1e-308, 1e308, 1.0, 1.0, 1.0, 1.0, 0.5)
	f.Add(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1e-300)
	f.Fuzz(func(t *testing.T, a0, a1, a2, b0, b1, b2, alpha float64) {
		e, err := stat.PairedRatio([]float64{a0, a1, a2}, []float64{b0, b1, b2}, alpha)
		if err != nil {
			if !errors.Is(err, stat.ErrInput) {
				t.Fatal(err)
			}
			return
		}
		found := stat.Rule{}.Judge(e)
		for _, v := range []float64{e.Ratio, e.Low, e.High, e.LogMean, e.LogSD, e.P, found.EquivalenceP} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%+v %+v", e, found)
			}
		}
		if !(e.Low <= e.Ratio && e.Ratio <= e.High && e.Low > 0 && e.P > 0 && e.P <= 1) || math.IsNaN(found.MDE) {
			t.Fatalf("%+v", e)
		}
	})
}

func TestPlanningFigures(t *testing.T) {
	t.Parallel()
	e := stat.Effect{LogSD: 0.05, Rounds: 10, Alpha: 0.05}
	// By hand: N=13 has 2.1788·0.05/√13 = 0.03021 > ln 1.03 = 0.02956; N=14 has 2.1604·0.05/√14 = 0.02887.
	if n := e.RoundsNeeded(0.03); n != 14 {
		t.Errorf("%d rounds needed, want 14", n)
	}
	// (2.2622+0.8834)·0.05/√10
	within(t, "MDE", math.Log1p(e.MDE()), 0.04974, 0.001)
	if n := (stat.Effect{LogSD: 50, Rounds: 3, Alpha: 0.05}).RoundsNeeded(0.001); n != 1_000_000 {
		t.Errorf("hopeless needs %d", n)
	}
	for sd := 0.01; sd < 0.3; sd *= 1.3 { // compared with trying every number
		e := stat.Effect{LogSD: sd, Rounds: 10, Alpha: 0.05}
		n := 2
		for ; ; n++ {
			e.Rounds = n
			if e.HalfWidth(0.05) <= math.Log(1.03) {
				break
			}
		}
		if got := e.RoundsNeeded(0.03); got != n {
			t.Errorf("sd %v: %d, want %d", sd, got, n)
		}
	}
}

func TestEquivalenceIsTheInterval(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	for range 500 {
		a, b := rounded(r, 3+r.IntN(15), 0.04*(r.Float64()-0.5), 0.03*r.Float64())
		e, err := stat.PairedRatio(a, b, 0.10)
		if err != nil {
			t.Fatal(err)
		}
		inside := e.Low > 1/1.03 && e.High < 1.03
		if p := e.Equivalence(0.03); (p < 0.05) != inside {
			t.Errorf("p %v, 90 %% interval %v to %v", p, e.Low, e.High)
		}
	}
}

// An interval that was widened for a disturbance claims only differences outside it.
func TestWiden(t *testing.T) {
	t.Parallel()
	clear := stat.Effect{
		Ratio: 0.9, Low: 0.89, High: 0.91, Alpha: 0.05, Rounds: 10, LogMean: math.Log(0.9),
		LogSD: 0.01, P: 0.002,
	}
	rule := stat.Rule{}
	if v := rule.Judge(clear).Verdict; v != stat.BBetter {
		t.Fatalf("%v", v)
	}
	if v := rule.Judge(clear.Widen(0, 0.05)).Verdict; v != stat.BBetter {
		t.Errorf("5 %% are less than the difference: %v", v)
	}
	if v := rule.Judge(clear.Widen(0, 0.1)).Verdict; v != stat.Inconclusive {
		t.Errorf("10 %% are not: %v", v)
	}
	same := stat.Effect{Ratio: 1, Low: 0.995, High: 1.005, Alpha: 0.05, Rounds: 10, LogSD: 0.005, P: 1}
	if v := rule.Judge(same).Verdict; v != stat.Equivalent {
		t.Fatalf("%v", v)
	}
	if v := rule.Judge(same.Widen(0.05, 0)).Verdict; v != stat.Inconclusive {
		t.Errorf("they may differ by 5 %%: %v", v)
	}
	if e := clear.Widen(0, 0); e != clear {
		t.Errorf("nothing was disturbed: %+v", e)
	}
}
