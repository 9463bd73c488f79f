package stat_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"wirelab/lab/stat"
)

// stretches draws series of given lengths around given means.
func stretches(r *rand.Rand, spread float64, parts ...[2]float64) []float64 {
	var x []float64
	for _, part := range parts {
		for range int(part[0]) {
			x = append(x, part[1]+spread*r.NormFloat64())
		}
	}
	return x
}

func places(changes []stat.Change) []int {
	all := []int{}
	for _, c := range changes {
		all = append(all, c.At)
	}
	return all
}

func TestChangePoints(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(91, 1))
	rule := stat.DefaultChangeRule()
	for name, c := range map[string]struct {
		x    []float64
		want []int
	}{
		"nothing":                   {nil, []int{}},
		"too short for two sides":   {[]float64{1, 1, 1, 9, 9, 9, 9}, []int{}},
		"a step of exact values":    {[]float64{1, 1, 1, 1, 9, 9, 9, 9}, []int{4}},
		"a step down":               {[]float64{9, 9, 9, 9, 1, 1, 1, 1, 1}, []int{4}},
		"no change of exact values": {[]float64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, []int{}},
		"one that is off":           {[]float64{1, 1.01, 0.99, 1, 1.02, 9, 1, 0.98, 1.01, 1, 0.99}, []int{}},
		"a step":                    {stretches(r, 0.02, [2]float64{30, 1}, [2]float64{12, 1.2}), []int{30}},
		"two steps": {
			stretches(r, 0.02, [2]float64{20, 1}, [2]float64{20, 1.2}, [2]float64{20, 1.5}),
			[]int{20, 40},
		},
		"there and back": {
			stretches(r, 0.02, [2]float64{30, 1}, [2]float64{8, 1.2}, [2]float64{30, 1}),
			[]int{30, 38},
		},
		"less than what matters":  {stretches(r, 0.0005, [2]float64{40, 1}, [2]float64{40, 1.005}), []int{}},
		"a little more than that": {stretches(r, 0.0005, [2]float64{40, 1}, [2]float64{40, 1.015}), []int{40}},
		"a spread that changes": {append(stretches(r, 0.01, [2]float64{40, 1}),
			stretches(r, 0.05, [2]float64{40, 1})...), []int{}},
		// Each side needs four values, so the border is one early.
		"three values of another kind": {stretches(r, 0.001, [2]float64{20, 1}, [2]float64{3, 2}), []int{19}},
		"the last is off":              {stretches(r, 0.001, [2]float64{20, 1}, [2]float64{1, 2}), []int{}},
	} {
		if got := places(stat.ChangePoints(c.x, rule)); !slices.Equal(got, c.want) {
			t.Errorf("%s: changes at %v, want %v", name, got, c.want)
		}
	}
}

// By hand: the means are 2.5 and 6.5, the pooled variance 5/3, t = 4/√(5/6) =
// 4.38178 with 6 degrees of freedom, for which p = 1 − s(1 + c²/2 + 3c⁴/8), s and c
// being sine and cosine of atan(t/√6): 0.004659.
func TestChangePointsByHand(t *testing.T) {
	t.Parallel()
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	got := stat.ChangePoints(x, stat.ChangeRule{Weak: 0.01, Strong: 0.01, Least: 4})
	if len(got) != 1 || got[0].At != 4 || got[0].Before != 2.5 || got[0].After != 6.5 {
		t.Fatalf("changes %+v", got)
	}
	within(t, "p", got[0].P, 0.004659, 1e-3)
	// The weighted energies of 0 0 4 6 4 6, by the definition: after 2 values 4/3·(2·5 − 0 − 4/3) = 11.6, after 3
	// values 3/2·(2·4 − 8/3 − 4/3) = 6, after 4 values 0.44.
	if got := places(stat.ChangePoints([]float64{0, 0, 4, 6, 4, 6},
		stat.ChangeRule{Weak: 1, Strong: 1, Least: 2})); !slices.Equal(got, []int{2}) {
		t.Errorf("changes at %v", got)
	}
}

// dumbChanges is the reference: it computes every distance from the definition of Matteson and James, without sums of
// sums.
func dumbChanges(x []float64, from, to int, rule stat.ChangeRule, p func(a, b []float64) float64) []int {
	mean := func(a, b []float64) float64 {
		sum := 0.0
		for _, v := range a {
			for _, w := range b {
				sum += math.Abs(v - w)
			}
		}
		return sum / float64(len(a)*len(b))
	}
	within := func(a []float64) float64 {
		sum, pairs := 0.0, 0.0
		for i, v := range a {
			for _, w := range a[:i] {
				sum += math.Abs(v - w)
				pairs++
			}
		}
		return sum / pairs
	}
	best, at := math.Inf(-1), -1
	for b := from + rule.Least; b+rule.Least <= to; b++ {
		left, right := x[from:b], x[b:to]
		m, n := float64(len(left)), float64(len(right))
		q := m * n / (m + n) * (2*mean(left, right) - within(left) - within(right))
		if at < 0 || q > best+1e-9*math.Abs(best) {
			best, at = q, b
		}
	}
	if at < 0 || p(x[from:at], x[at:to]) >= rule.Weak {
		return nil
	}
	return slices.Concat(dumbChanges(x, from, at, rule, p), []int{at}, dumbChanges(x, at, to, rule, p))
}

func TestChangePointsAgainstDefinition(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(92, 1))
	always := func(_, _ []float64) float64 { return 0 }
	for range 300 {
		x := stretches(r, 1, [2]float64{float64(2 + r.IntN(12)), 0},
			[2]float64{float64(2 + r.IntN(12)), 5 * r.Float64()})
		if r.IntN(3) == 0 { // ties
			for i := range x {
				x[i] = math.Round(x[i])
			}
		}
		rule := stat.ChangeRule{Weak: 2, Strong: 2, Least: 2 + r.IntN(4)} // every split is accepted
		if got, want := places(stat.ChangePoints(x, rule)),
			dumbChanges(x, 0, len(x), rule, always); !slices.Equal(got, append([]int{}, want...)) {
			t.Fatalf("%v with at least %d: %v, the reference finds %v", x, rule.Least, got, want)
		}
	}
}

// The rates that the rule promises: false alarms, and changes found.
func TestChangeRule(t *testing.T) {
	t.Parallel()
	const repeats = 500
	r := rand.New(rand.NewPCG(93, 1))
	rule := stat.DefaultChangeRule()
	rule.Magnitude = 0
	share := func(draw func() []float64, found func([]stat.Change) bool) float64 {
		n := 0
		for range repeats {
			if found(stat.ChangePoints(draw(), rule)) {
				n++
			}
		}
		return float64(n) / repeats
	}
	some := func(c []stat.Change) bool { return len(c) > 0 }
	for _, n := range []float64{10, 20, 50, 100} {
		if alarms := share(func() []float64 { return stretches(r, 1, [2]float64{n, 0}) }, some); alarms > 0.035 {
			t.Errorf("%v values without a change: one is found in %v", n, alarms)
		}
	}
	heavy := func() []float64 {
		x := stretches(r, 1, [2]float64{50, 0})
		for i := range x {
			x[i] /= 0.3 + r.Float64()
		}
		return x
	}
	if alarms := share(heavy, some); alarms > 0.05 {
		t.Errorf("heavy tails: a change is found in %v", alarms)
	}
	for _, c := range []struct{ behind, step, least float64 }{{4, 4, 0.93}, {4, 2, 0.5}, {15, 2, 0.8}} {
		near := func(changes []stat.Change) bool {
			return slices.ContainsFunc(changes, func(x stat.Change) bool { return math.Abs(float64(x.At)-50) <= 1 })
		}
		if power := share(func() []float64 { return stretches(r, 1, [2]float64{50, 0}, [2]float64{c.behind, c.step}) },
			near); power < c.least {
			t.Errorf("a step of %v with %v values behind it is found in %v", c.step, c.behind, power)
		}
	}
}

func TestShift(t *testing.T) {
	t.Parallel()
	effect := func(a, b []float64) stat.Effect {
		t.Helper()
		e, err := stat.PairedRatio(a, b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	// Logs of the ratios are 0.1, 0.2, 0.3 and 0.3, 0.5, 0.7, 0.9. By hand: d =
	// 0.4, se² = 0.01/3 + 0.0666…/4 = 0.02, ν = 0.0004/(0.01²/9/2 + 0.01666…²/3) =
	// 4.0677, so 4 degrees of freedom, t = 2.77645, half-width 0.392649.
	from := effect([]float64{1, 1, 1}, []float64{math.Exp(0.1), math.Exp(0.2), math.Exp(0.3)})
	to := effect([]float64{1, 1, 1, 1}, []float64{math.Exp(0.3), math.Exp(0.5), math.Exp(0.7), math.Exp(0.9)})
	got, err := stat.Shift(from, to, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	within(t, "ratio", got.Ratio, math.Exp(0.4), 1e-9)
	within(t, "low", got.Low, math.Exp(0.4-0.392649), 1e-5)
	within(t, "high", got.High, math.Exp(0.4+0.392649), 1e-5)
	within(t, "p", got.P, 0.0474, 0.005) // t = 2.82843, 4 degrees of freedom
	if got.Rounds != 5 {
		t.Errorf("rounds %d", got.Rounds)
	}
	back, err := stat.Shift(to, from, 0.05)
	if err != nil || math.Abs(back.Ratio*got.Ratio-1) > 1e-12 {
		t.Errorf("the other way round %v, %v", back.Ratio, err)
	}
	exact := effect([]float64{10, 10}, []float64{12, 12})
	if e, err := stat.Shift(exact, exact, 0.05); err != nil || !e.Exact || e.Ratio != 1 || e.P != 1 {
		t.Errorf("two exact ones: %+v, %v", e, err)
	}
	if _, err := stat.Shift(stat.Effect{}, to, 0.05); err == nil {
		t.Error("an effect of no rounds is taken")
	}
}

// Two experiments compare an arm with itself, with a drift between them that both arms share. Differences are claimed
// as rarely as promised, and intervals cover as promised.
func TestShiftIsCalibrated(t *testing.T) {
	t.Parallel()
	const repeats = 2000
	r := rand.New(rand.NewPCG(94, 1))
	run := func(drift float64) stat.Effect {
		a, b := make([]float64, 10), make([]float64, 10)
		for i := range a {
			round := drift * math.Exp(0.1*r.NormFloat64())
			a[i], b[i] = round*math.Exp(0.03*r.NormFloat64()), 1.3*round*math.Exp(0.03*r.NormFloat64())
		}
		e, err := stat.PairedRatio(a, b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	missed := 0.0
	for range repeats {
		e, err := stat.Shift(run(1), run(1.5), 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if e.Low > 1 || e.High < 1 {
			missed += 1.0 / repeats
		}
	}
	if missed > 0.06 || missed < 0.03 {
		t.Errorf("intervals miss in %v, they may in 0.05", missed)
	}
}
