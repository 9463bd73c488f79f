package stat_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"wirelab/lab/stat"
)

func parts(t *testing.T, arms ...[]float64) []stat.Parts {
	t.Helper()
	all := make([]stat.Parts, len(arms))
	for i, x := range arms {
		var err error
		if all[i], err = stat.ValueParts(x); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Weights 1 and −1 of two arms must give the result of a paired comparison.
func TestContrastOfTwoIsThePair(t *testing.T) {
	t.Parallel()
	a, b := []float64{10, 11, 12.5, 9, 10.2, 10.9}, []float64{12, 13, 13.1, 11, 12.2, 12.1}
	want, err := stat.PairedRatio(a, b, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	got, err := stat.LogContrast(parts(t, a, b), []float64{-1, 1}, 0.05)
	if err != nil || math.Abs(got.Ratio-want.Ratio) > 1e-12 || math.Abs(got.Low-want.Low) > 1e-12 ||
		math.Abs(got.High-want.High) > 1e-12 || got.P != want.P {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	linear, err := stat.LinearContrast(parts(t, a, b), []float64{-1, 1}, 0, 0.05)
	if err != nil || math.Abs(linear.Ratio-want.Ratio) > 1e-12 ||
		math.Abs((linear.High-linear.Low)/2-want.Ratio*want.HalfWidth(0.05)) > 1e-12 {
		t.Errorf("%+v, %v, want %+v to first order", linear, err, want)
	}
	amount, err := stat.Amount(parts(t, a, b), []float64{-1, 1}, 0.05)
	if one, _ := stat.GeometricMean(a, 0.05); err != nil || math.Abs(amount.Value-one.Value*(want.Ratio-1)) > 1e-9 ||
		!(amount.Low < amount.Value && amount.Value < amount.High) {
		t.Errorf("%+v, %v", amount, err)
	}
	exact, err := stat.LogContrast(parts(t, []float64{97, 97, 97}, []float64{212, 212, 212}), []float64{-1, 1}, 0.05)
	if err != nil || !exact.Exact || math.Abs(exact.Ratio-212.0/97) > 1e-12 || exact.Low != exact.High {
		t.Errorf("%+v, %v", exact, err)
	}
	if e, err := stat.LinearContrast(parts(t, []float64{97, 97, 97}, []float64{212, 212, 212}), []float64{-1, 1}, 0,
		0.05); err != nil || !e.Exact || e.Low != e.High || math.Abs(e.Ratio-212.0/97) > 1e-12 {
		t.Errorf("%+v, %v", e, err)
	}
	none, err := stat.LogContrast(parts(t, []float64{97, 97}, []float64{212, 212}, []float64{97, 97},
		[]float64{212, 212}), []float64{-1, 1, 1, -1}, 0.05)
	if err != nil || !none.Exact || none.LogMean != 0 || none.JointP() != 1 {
		t.Errorf("an interaction of exact figures that is none: %+v, %v", none, err)
	}
}

func TestQuantilePartsAreTheJackknife(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	var a, b []*stat.Histogram
	for range 12 {
		x, y := stat.NewHistogram(), stat.NewHistogram()
		for range 4000 {
			x.Record(int64(50000 * math.Exp(0.3*r.NormFloat64())))
			y.Record(int64(60000 * math.Exp(0.3*r.NormFloat64())))
		}
		a, b = append(a, x), append(b, y)
	}
	want, err := stat.QuantileRatio(a, b, 0.5, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	var arms []stat.Parts
	for _, h := range [][]*stat.Histogram{a, b} {
		p, err := stat.QuantileParts(h, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		arms = append(arms, p)
	}
	got, err := stat.LogContrast(arms, []float64{-1, 1}, 0.05)
	if err != nil || math.Abs(got.Ratio-want.Ratio) > 1e-9 || math.Abs(got.Low-want.Low) > 1e-9 || got.P != want.P {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if e, err := stat.Amount(arms, []float64{-1, 1}, 0.05); err != nil || e.Low > 10000 || e.High < 10000 {
		t.Errorf("%+v, %v, want about 10 µs", e, err)
	}
}

func TestContrastsOfWhatIsNone(t *testing.T) {
	t.Parallel()
	two := parts(t, []float64{1, 2, 3}, []float64{2, 3, 5})
	for name, err := range map[string]error{
		"a weight too few": second(stat.LogContrast(two, []float64{1}, 0.05)),
		"other rounds": second(stat.LogContrast(append(slices.Clone(two), parts(t, []float64{1, 2})...),
			[]float64{1, 0, -1}, 0.05)),
		"one round": second(stat.LogContrast(parts(t, []float64{1}, []float64{2}), []float64{1, -1},
			0.05)),
		"alpha":                    second(stat.LogContrast(two, []float64{1, -1}, 0)),
		"no weights":               second(stat.LogContrast(two, []float64{0, 0}, 0.05)),
		"no rounds":                second(stat.ValueParts(nil)),
		"no logarithm":             second(stat.ValueParts([]float64{1, 0})),
		"not a number":             second(stat.ValueParts([]float64{math.NaN()})),
		"an empty histogram":       second(stat.QuantileParts([]*stat.Histogram{{}, {}}, 0.5)),
		"a base that is none":      second(stat.LinearContrast(two, []float64{1, -1}, 2, 0.05)),
		"linear, a weight too few": second(stat.LinearContrast(two, []float64{1}, 0, 0.05)),
		"linear, one round":        second(stat.LinearContrast(parts(t, []float64{1}), []float64{1}, 0, 0.05)),
		"linear, other rounds": second(stat.LinearContrast(append(slices.Clone(two), parts(t, []float64{1, 2})...),
			[]float64{1, 0, -1}, 0, 0.05)),
		"an amount of no arms": second(stat.Amount(nil, nil, 0.05)),
		"an amount, alpha":     second(stat.Amount(two, []float64{1, -1}, 2)),
		"beyond all bounds": second(stat.Amount(parts(t, []float64{1e308, 1e308}, []float64{1, 1}),
			[]float64{1e10, 1}, 0.05)),
	} {
		if !errors.Is(err, stat.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Shares add up to the whole: on logarithms, in shares of the first, in amounts.
func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for _, size := range []float64{0, 1e-9, 0.001, 0.3, -2, 3} {
		arms := make([][]float64, 4)
		for a := range arms {
			for range 10 {
				arms[a] = append(arms[a], math.Exp(size*float64(a)/3+0.02*r.NormFloat64()))
			}
		}
		p := parts(t, arms...)
		whole, err := stat.LogContrast(p, []float64{-1, 0, 0, 1}, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		shares, _ := stat.Orders(2, 4, func(uint) bool { return true }, func(set uint) int { return int(set) })
		product, points, amount := 1.0, 0.0, 0.0
		for _, share := range shares {
			e, err := stat.LogContrast(p, share, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			product *= e.Ratio
			if e, err = stat.LinearContrast(p, share, 0, 0.05); err != nil {
				t.Fatal(err)
			}
			points += e.LogMean
			a, err := stat.Amount(p, share, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			amount += a.Value
		}
		if got := math.Exp(p[3].All) - math.Exp(p[0].All); math.Abs(product-whole.Ratio) > 1e-12*product ||
			math.Abs(points-(whole.Ratio-1)) > 1e-12*product || math.Abs(amount-got) > 1e-11*product {
			t.Errorf("size %v: shares make %v, %v, %v of %+v", size, product, points, amount, whole)
		}
	}
}

// In experiments of 10 rounds with drift that all arms share, intervals cover the planted value in 95 of 100. This
// holds for a main effect, an interaction, a share in percentage points, and one in the unit of the values. Of
// effects that are zero, five in a hundred are taken for effects.
func TestFactorialIntervalsCover(t *testing.T) {
	t.Parallel()
	const experiments, rounds, noise = 2000, 10, 0.02
	levels := []int{3, 2, 2}
	cells := without(every(levels...), []int{2, 1, 1})
	mains := map[[2]int]float64{{0, 1}: 0.2, {0, 2}: 0.35, {1, 1}: -0.25}
	truth := planted(cells, mains, map[[4]int]float64{{0, 2, 1, 1}: 0.08})
	terms, err := stat.Design{Levels: levels, Cells: cells}.Terms()
	if err != nil {
		t.Fatal(err)
	}
	main, pair, nothing := find(t, terms, []int{1}, []int{1}), find(t, terms, []int{0, 1}, []int{2, 1}),
		find(t, terms, []int{0, 2}, []int{1, 1})
	at := func(levels ...int) int {
		return slices.IndexFunc(cells, func(c []int) bool { return slices.Equal(c, levels) })
	}
	corners := []int{at(0, 0, 0), at(2, 0, 0), at(0, 1, 0), at(2, 1, 0)}
	shares, _ := stat.Orders(2, len(cells), func(uint) bool { return true }, func(set uint) int { return corners[set] })
	share := stat.Term{Weights: shares[0]}
	amounts := make([]float64, len(truth))
	for i, v := range truth {
		amounts[i] = math.Exp(v)
	}
	r := rand.New(rand.NewPCG(2026, 7))
	covered := map[string]int{}
	for range experiments {
		x, still, drift := make([][]float64, len(cells)), make([][]float64, len(cells)), 0.0
		for range rounds {
			drift = 0.8*drift + 0.03*r.NormFloat64()
			for c := range cells {
				own := noise * r.NormFloat64()
				x[c] = append(x[c], math.Exp(truth[c]+drift+own))
				still[c] = append(still[c], math.Exp(truth[c]+own))
			}
		}
		logs := parts(t, x...)
		for name, c := range map[string]stat.Term{"main": main, "pair": pair, "nothing": nothing} {
			e, err := stat.LogContrast(logs, c.Weights, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if want := math.Exp(weigh(c, truth)); e.Low <= want && want <= e.High {
				covered[name]++
			}
			if e.JointP() >= 0.05 {
				covered["p of "+name]++
			}
		}
		if e, err := stat.LinearContrast(logs, share.Weights, corners[0], 0.05); err != nil {
			t.Fatal(err)
		} else if want := 1 + weigh(share, amounts)/amounts[corners[0]]; e.Low <= want && want <= e.High {
			covered["points"]++
		}
		// In the unit of the values, drift does not cancel: the true value itself moves.
		if e, err := stat.Amount(parts(t, still...), share.Weights, 0.05); err != nil {
			t.Fatal(err)
		} else if want := weigh(share, amounts); e.Low <= want && want <= e.High {
			covered["amount"]++
		}
	}
	deviation := math.Sqrt(experiments * 0.05 * 0.95)
	for _, name := range []string{"main", "pair", "nothing", "points", "amount", "p of nothing"} {
		if n := float64(covered[name]); n < 0.95*experiments-3.3*deviation || n > 0.95*experiments+4*deviation+30 {
			t.Errorf("%s: covered in %v of %d", name, n, experiments)
		}
	}
	for _, name := range []string{"p of main", "p of pair"} {
		if n := covered[name]; n > experiments/100 {
			t.Errorf("%s: a planted effect is missed in %d of %d", name, n, experiments)
		}
	}
	t.Log(covered)
}
