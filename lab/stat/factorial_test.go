package stat_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"wirelab/lab/stat"
)

// every returns all cells of a full factorial.
func every(levels ...int) [][]int {
	cells := [][]int{{}}
	for _, n := range levels {
		var more [][]int
		for _, c := range cells {
			for l := range n {
				more = append(more, append(slices.Clone(c), l))
			}
		}
		cells = more
	}
	return cells
}

// without drops the cells that match; −1 matches every level.
func without(cells [][]int, patterns ...[]int) [][]int {
	return slices.DeleteFunc(slices.Clone(cells), func(c []int) bool {
		return slices.ContainsFunc(patterns, func(p []int) bool {
			for f, l := range p {
				if l >= 0 && c[f] != l {
					return false
				}
			}
			return true
		})
	})
}

// weigh applies a term's weights.
func weigh(t stat.Term, y []float64) float64 {
	sum := 0.0
	for i, w := range t.Weights {
		sum += w * y[i]
	}
	return sum
}

func find(t *testing.T, terms []stat.Term, factors, levels []int) stat.Term {
	t.Helper()
	for _, term := range terms {
		if slices.Equal(term.Factors, factors) && slices.Equal(term.Levels, levels) {
			return term
		}
	}
	t.Fatalf("no term of factors %v at levels %v", factors, levels)
	return stat.Term{}
}

// averages computes effects of a complete design directly: the mean over all cells with a level, minus the mean over
// those with the first.
func averages(cells [][]int, y []float64, factors, levels []int) float64 {
	mean := func(at ...int) float64 {
		sum, n := 0.0, 0
		for i, c := range cells {
			if c[factors[0]] == at[0] && (len(at) == 1 || c[factors[1]] == at[1]) {
				sum += y[i]
				n++
			}
		}
		return sum / float64(n)
	}
	if len(factors) == 1 {
		return mean(levels[0]) - mean(0)
	}
	return mean(levels[0], levels[1]) - mean(levels[0], 0) - mean(0, levels[1]) + mean(0, 0)
}

func TestTermsOfABalancedDesignAreAverages(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 1))
	for _, levels := range [][]int{{2}, {2, 2}, {3, 2}, {3, 3, 2}, {2, 3, 2, 3}, {5, 4}} {
		cells := every(levels...)
		y := make([]float64, len(cells))
		for i := range y {
			y[i] = r.NormFloat64()
		}
		terms, err := stat.Design{Levels: levels, Cells: cells}.Terms()
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for f, n := range levels {
			want += n - 1
			for g := range f {
				want += (n - 1) * (levels[g] - 1)
			}
		}
		if len(terms) != want {
			t.Errorf("%v: %d terms, want %d", levels, len(terms), want)
		}
		for _, term := range terms {
			if term.Weights == nil || len(term.Assumes) > 0 || len(term.Aliased) > 0 {
				t.Errorf("%v: %+v", levels, term)
				continue
			}
			if got, want := weigh(term, y), averages(cells, y, term.Factors, term.Levels); math.Abs(got-want) > 1e-12 {
				t.Errorf("%v: factors %v at %v: %v, want %v", levels, term.Factors, term.Levels, got, want)
			}
		}
	}
}

// planted makes figures from effects of levels and pairs of levels. The fit must return them.
func planted(cells [][]int, mains map[[2]int]float64, pairs map[[4]int]float64) []float64 {
	y := make([]float64, len(cells))
	for i, c := range cells {
		y[i] = 7
		for f, l := range c {
			y[i] += mains[[2]int{f, l}]
			for g := range f {
				y[i] += pairs[[4]int{g, c[g], f, l}]
			}
		}
	}
	return y
}

func TestWhatIsPlantedInAnUnbalancedDesignIsFound(t *testing.T) {
	t.Parallel()
	// One of 18 cells is missing, and another is there twice. Every pair of levels still occurs, so every term is
	// determined.
	cells := append(without(every(3, 3, 2), []int{2, 0, 1}), []int{1, 1, 0})
	mains := map[[2]int]float64{{0, 1}: 0.2, {0, 2}: -0.3, {1, 1}: 0.1, {1, 2}: 0.05, {2, 1}: 0.4}
	pair := map[[4]int]float64{{0, 2, 1, 1}: 0.07}
	y := planted(cells, mains, pair)
	terms, err := stat.Design{Levels: []int{3, 3, 2}, Cells: cells}.Terms()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		factors, levels []int
		want            float64
	}{
		{[]int{0}, []int{1}, 0.2},
		{[]int{0}, []int{2}, -0.3 + 0.07/3}, // the pair's effect, over the levels of factor 1
		{[]int{1}, []int{1}, 0.1 + 0.07/3},
		{[]int{1}, []int{2}, 0.05},
		{[]int{2}, []int{1}, 0.4},
		{[]int{0, 1}, []int{2, 1}, 0.07},
		{[]int{0, 1}, []int{1, 1}, 0},
		{[]int{0, 2}, []int{2, 1}, 0},
		{[]int{1, 2}, []int{2, 1}, 0},
	} {
		term := find(t, terms, c.factors, c.levels)
		if term.Weights == nil {
			t.Errorf("%v at %v cannot be told: %+v", c.factors, c.levels, term)
		} else if got := weigh(term, y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v at %v: %v, want %v", c.factors, c.levels, got, c.want)
		}
	}
	if share := (stat.Design{Levels: []int{3, 3, 2}, Cells: cells}).Model(y); math.Abs(share-1) > 1e-12 {
		t.Errorf("the model tells %v of what was made by it", share)
	}
}

func TestWhatCellsDoNotTellIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why     string
		levels  []int
		cells   [][]int
		factors []int
		at      []int
		known   bool
		assumes [][2]int
		aliased [][]int
	}{
		{
			"a cell with a pair of levels is missing: the pair cannot be told",
			[]int{3, 2},
			without(every(3, 2), []int{2, 0}),
			[]int{0, 1},
			[]int{2, 1},
			false, nil,
			[][]int{{0}, {1}},
		},
		{
			"… nor the level's effect without taking the pair for none",
			[]int{3, 2},
			without(every(3, 2), []int{2, 0}),
			[]int{0},
			[]int{2},
			true,
			[][2]int{{0, 1}},
			nil,
		},
		{
			"… but that of another level can, whatever interacts",
			[]int{3, 2},
			without(every(3, 2), []int{2, 0}),
			[]int{0},
			[]int{1},
			true, nil, nil,
		},
		{"… and its pair", []int{3, 2}, without(every(3, 2), []int{2, 0}), []int{0, 1}, []int{1, 1}, true, nil, nil},
		{
			"two factors that go together are one",
			[]int{2, 2},
			[][]int{{0, 0}, {1, 1}},
			[]int{0},
			[]int{1},
			false, nil,
			[][]int{{1}},
		},
		{
			"half of 2³: a main effect is mixed up with the pair of the others",
			[]int{2, 2, 2},
			[][]int{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {1, 1, 1}},
			[]int{0},
			[]int{1},
			true,
			[][2]int{{1, 2}},
			nil,
		},
		{
			"… and the pair with the main effect",
			[]int{2, 2, 2},
			[][]int{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {1, 1, 1}},
			[]int{1, 2},
			[]int{1, 1},
			false, nil,
			[][]int{{0}},
		},
		{
			"a quarter of 2⁵, D = AB and E = AC: A is mixed up with the pairs BD and CE, and only those must be none",
			[]int{2, 2, 2, 2, 2},
			quarter(),
			[]int{0},
			[]int{1},
			true,
			[][2]int{{1, 3}, {2, 4}},
			nil,
		},
		{
			"one factor at a time: every effect assumes that none interact",
			[]int{2, 2},
			[][]int{{0, 0}, {1, 0}, {0, 1}},
			[]int{1},
			[]int{1},
			true,
			[][2]int{{0, 1}},
			nil,
		},
	} {
		terms, err := stat.Design{Levels: c.levels, Cells: c.cells}.Terms()
		if err != nil {
			t.Fatal(err)
		}
		term := find(t, terms, c.factors, c.at)
		if known := term.Weights != nil; known != c.known || !slices.Equal(term.Assumes, c.assumes) {
			t.Errorf("%s: known %v, assumes %v", c.why, known, term.Assumes)
		}
		if fmt.Sprint(term.Aliased) != fmt.Sprint(c.aliased) {
			t.Errorf("%s: aliased with %v, want %v", c.why, term.Aliased, c.aliased)
		}
	}
}

// quarter is the fraction of 2⁵ in which D is A times B and E is A times C, with levels as −1 and 1.
func quarter() [][]int {
	var cells [][]int
	for _, c := range every(2, 2, 2) {
		cells = append(cells, append(slices.Clone(c), 1-(c[0]^c[1]), 1-(c[0]^c[2])))
	}
	return cells
}

// A term that is determined must not depend on other terms. Random terms are planted, except those that it assumes to
// be zero, and must not change it.
func TestKnownTermsAreTheirOwn(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 2))
	for trial := range 60 {
		levels := []int{2 + r.IntN(2), 2 + r.IntN(2), 2}
		cells := slices.DeleteFunc(every(levels...), func([]int) bool { return r.Float64() < 0.35 })
		if len(cells) < 2 {
			continue
		}
		d := stat.Design{Levels: levels, Cells: cells}
		terms, err := d.Terms()
		if err != nil {
			t.Fatal(err)
		}
		for _, term := range terms {
			if term.Weights == nil {
				continue
			}
			// Effects add up to 0 over levels, so that the fit must return them exactly.
			mains, pairs := map[[2]int]float64{}, map[[4]int]float64{}
			for f, n := range levels {
				centred(r, n, func(l int, v float64) { mains[[2]int{f, l}] = v })
				for g := range f {
					if slices.Contains(term.Assumes, [2]int{g, f}) {
						continue
					}
					a, b := numbers(r, levels[g]), numbers(r, n)
					for i, x := range a {
						for j, y := range b {
							pairs[[4]int{g, i, f, j}] = x * y
						}
					}
				}
			}
			want := mains[[2]int{term.Factors[0], term.Levels[0]}] - mains[[2]int{term.Factors[0], 0}]
			if len(term.Factors) == 2 {
				g, f, i, j := term.Factors[0], term.Factors[1], term.Levels[0], term.Levels[1]
				want = pairs[[4]int{g, i, f, j}] - pairs[[4]int{g, 0, f, j}] - pairs[[4]int{g, i, f, 0}] +
					pairs[[4]int{g, 0, f, 0}]
			}
			if got := weigh(term, planted(cells, mains, pairs)); math.Abs(got-want) > 1e-9 {
				t.Errorf("trial %d, cells %v: %v at %v (assumes %v): %v, want %v", trial, cells, term.Factors,
					term.Levels, term.Assumes, got, want)
			}
		}
	}
}

// numbers returns n random numbers that add up to 0.
func numbers(r *rand.Rand, n int) []float64 {
	x, sum := make([]float64, n), 0.0
	for i := range x {
		x[i] = r.NormFloat64()
		sum += x[i] / float64(n)
	}
	for i := range x {
		x[i] -= sum
	}
	return x
}

func centred(r *rand.Rand, n int, set func(int, float64)) {
	for l, v := range numbers(r, n) {
		set(l, v)
	}
}

func TestDesignsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, d := range []stat.Design{
		{},
		{Levels: []int{2}},
		{Levels: []int{1}, Cells: [][]int{{0}}},
		{Levels: []int{2}, Cells: [][]int{{0}, {2}}},
		{Levels: []int{2}, Cells: [][]int{{0}, {-1}}},
		{Levels: []int{2, 2}, Cells: [][]int{{0}}},
	} {
		if terms, err := d.Terms(); !errors.Is(err, stat.ErrInput) {
			t.Errorf("%+v: %v, %v", d, terms, err)
		}
	}
}

// permutations computes shares directly: every order, one after another.
func permutations(n int, can func(uint) bool, figure func(uint) float64) []float64 {
	sums, orders := make([]float64, n), 0
	var walk func(set uint, gains []float64)
	walk = func(set uint, gains []float64) {
		if set == 1<<n-1 {
			orders++
			for i, g := range gains {
				sums[i] += g
			}
			return
		}
		for i := range n {
			after := set | 1<<i
			if after == set || after != 1<<n-1 && !can(after) {
				continue
			}
			next := slices.Clone(gains)
			next[i] = figure(after) - figure(set)
			walk(after, next)
		}
	}
	walk(0, make([]float64, n))
	for i := range sums {
		sums[i] /= float64(orders)
	}
	return sums
}

func TestOrdersAreAllOrders(t *testing.T) {
	t.Parallel()
	anything := func(uint) bool { return true }
	later := func(set uint) bool { return set&2 == 0 || set&1 != 0 } // the second change only after the first
	r := rand.New(rand.NewPCG(3, 3))
	for n := 1; n <= 5; n++ {
		for name, can := range map[string]func(uint) bool{"any order": anything, "an order that is given": later} {
			figures := make([]float64, 1<<n)
			for i := range figures {
				figures[i] = r.NormFloat64()
			}
			shares, missing := stat.Orders(n, 1<<n, can, func(set uint) int { return int(set) })
			if missing != nil {
				t.Fatalf("missing %v", missing)
			}
			total := 0.0
			for i, want := range permutations(n, can, func(set uint) float64 { return figures[set] }) {
				got := weigh(stat.Term{Weights: shares[i]}, figures)
				if math.Abs(got-want) > 1e-12 {
					t.Errorf("%d changes, %s: share %d is %v, want %v", n, name, i, got, want)
				}
				total += got
			}
			if want := figures[1<<n-1] - figures[0]; math.Abs(total-want) > 1e-12 {
				t.Errorf("%d changes, %s: shares add up to %v, want %v", n, name, total, want)
			}
		}
	}
}

func TestOrdersThatCannotBe(t *testing.T) {
	t.Parallel()
	unmeasured := func(set uint) int {
		if set == 2 {
			return -1
		}
		return int(set)
	}
	if shares, missing := stat.Orders(2, 4, func(uint) bool { return true }, unmeasured); shares != nil ||
		!slices.Equal(missing, []uint{2}) {
		t.Errorf("%v, missing %v", shares, missing)
	}
	if shares, missing := stat.Orders(2, 4, func(set uint) bool { return set != 2 }, unmeasured); shares == nil ||
		missing != nil {
		t.Errorf("a cell that no order needs is missed: %v, missing %v", shares, missing)
	}
	for _, n := range []int{0, -1, stat.OrdersMax + 1} {
		if shares, missing := stat.Orders(n, 4, func(uint) bool { return true }, unmeasured); shares != nil ||
			missing != nil {
			t.Errorf("%d changes: %v, %v", n, shares, missing)
		}
	}
	if shares, missing := stat.Orders(2, 4, func(uint) bool { return false }, unmeasured); shares != nil ||
		missing != nil {
		t.Errorf("no order at all: %v, %v", shares, missing)
	}
	if got := stat.Changes(0b1011); !slices.Equal(got, []int{0, 1, 3}) {
		t.Error(got)
	}
}
