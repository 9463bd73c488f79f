package stat

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Design says which level of each factor every cell of a factorial experiment
// has. Cells may be missing, and the factors need not be balanced: what cannot
// be told from the cells there are is said and not guessed.
//
// The model is D. C. Montgomery's (Design and Analysis of Experiments, chapter
// 5) and R. Jain's (The Art of Computer Systems Performance Analysis, chapters
// 17, 21 to 23): the logarithm of a figure is a mean, plus an effect of each
// level, plus one of each pair of levels, all of which add up to 0 over the
// levels of a factor; fitted by least squares. On logarithms effects are
// factors, as in Jain's section 22.7.
type Design struct {
	// Levels is how many levels each factor has, at least 2.
	Levels []int
	// Cells are the levels of each cell, by factor, from 0.
	Cells [][]int
}

// Term is one effect: what changes, on average over the levels of the other
// factors, when a factor goes from level 0 to another; or how much more it
// changes where a second factor has another level too.
type Term struct {
	// Factors and Levels are one factor with its level, or two.
	Factors, Levels []int
	// Weights are those of the cells: the effect is the sum of the cells'
	// figures, each times its weight. nil if the cells do not tell it.
	Weights []float64
	// Assumes are the pairs of factors that must not interact for it to be
	// the effect that it is called; none of most.
	Assumes [][2]int
	// Aliased are the terms that it cannot be told apart from, each by its one
	// or two factors; only where Weights is nil.
	Aliased [][]int
}

// block is the columns of a model that belong to one factor or two.
type block struct {
	factors  []int
	from, to int // columns
}

// Terms returns every main effect, by factor and level, and after them every
// interaction of two levels, with what the cells tell of each. A main effect
// that is mixed up with interactions is given on the assumption that those
// interactions are none, as far as that makes it known. Interactions of three
// factors are taken for none; of a design with every cell they change nothing.
// Errors wrap [ErrInput].
func (d Design) Terms() ([]Term, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	mains, pairs := d.blocks()
	full := d.fit(append(slices.Clone(mains), pairs...))
	// Interactions that are known whole never hide a main effect; the doubtful
	// ones may, and are left out where one cannot be had beside them.
	kept, doubtful := slices.Clone(mains), []block(nil)
	for i, b := range pairs {
		without := d.fit(append(slices.Clone(mains), slices.Delete(slices.Clone(pairs), i, i+1)...))
		if full.rank-without.rank == d.size(b) {
			kept = append(kept, b)
		} else {
			doubtful = append(doubtful, b)
		}
	}
	alone := d.fit(mains)
	var terms []Term
	for f, levels := range d.Levels {
		for l := 1; l < levels; l++ {
			t := Term{Factors: []int{f}, Levels: []int{l}}
			if t.Weights = full.weights(full.contrast(d, t)); t.Weights == nil {
				t.Assumes, t.Weights = d.assuming(kept, doubtful, t)
			}
			if t.Weights == nil {
				t.Aliased = alone.mixed(alone.contrast(d, t), t.Factors)
			}
			terms = append(terms, t)
		}
	}
	for _, b := range pairs {
		for i := 1; i < d.Levels[b.factors[0]]; i++ {
			for j := 1; j < d.Levels[b.factors[1]]; j++ {
				t := Term{Factors: b.factors, Levels: []int{i, j}}
				c := full.contrast(d, t)
				if t.Weights = full.weights(c); t.Weights == nil {
					t.Aliased = full.mixed(c, t.Factors)
				}
				terms = append(terms, t)
			}
		}
	}
	return terms, nil
}

func (d Design) check() error {
	if len(d.Levels) == 0 || len(d.Cells) == 0 {
		return fmt.Errorf("%w: a design of %d factors and %d cells", ErrInput, len(d.Levels), len(d.Cells))
	}
	for _, n := range d.Levels {
		if n < 2 {
			return fmt.Errorf("%w: a factor of %d levels", ErrInput, n)
		}
	}
	for i, cell := range d.Cells {
		if len(cell) != len(d.Levels) {
			return fmt.Errorf("%w: cell %d has %d of %d factors", ErrInput, i, len(cell), len(d.Levels))
		}
		for f, l := range cell {
			if l < 0 || l >= d.Levels[f] {
				return fmt.Errorf("%w: cell %d has level %d of a factor of %d", ErrInput, i, l, d.Levels[f])
			}
		}
	}
	return nil
}

func (d Design) blocks() (mains, pairs []block) {
	for f := range d.Levels {
		mains = append(mains, block{factors: []int{f}})
		for g := range f {
			pairs = append(pairs, block{factors: []int{g, f}})
		}
	}
	slices.SortFunc(pairs, func(a, b block) int { return slices.Compare(a.factors, b.factors) })
	return mains, pairs
}

// size is how many columns a block has.
func (d Design) size(b block) int {
	n := 1
	for _, f := range b.factors {
		n *= d.Levels[f] - 1
	}
	return n
}

// coded is a level in columns that add up to 0 over the levels: level 0 is −1
// in each, another is 1 in its own.
func (d Design) coded(factor, level int) []float64 {
	row := make([]float64, d.Levels[factor]-1)
	for i := range row {
		switch level {
		case 0:
			row[i] = -1
		case i + 1:
			row[i] = 1
		}
	}
	return row
}

// fitted is a model of some blocks, ready to answer what the cells tell.
type fitted struct {
	blocks  []block
	columns int
	rank    int
	u, v    mat.Dense
	values  []float64 // singular, the first rank of them
}

// fit makes the model's matrix and its singular value decomposition.
func (d Design) fit(blocks []block) *fitted {
	m := &fitted{columns: 1}
	for _, b := range blocks {
		b.from = m.columns
		b.to = b.from + d.size(b)
		m.columns = b.to
		m.blocks = append(m.blocks, b)
	}
	x := mat.NewDense(len(d.Cells), m.columns, nil)
	for i, cell := range d.Cells {
		x.Set(i, 0, 1)
		for _, b := range m.blocks {
			row := d.coded(b.factors[0], cell[b.factors[0]])
			if len(b.factors) == 2 {
				row = outer(row, d.coded(b.factors[1], cell[b.factors[1]]))
			}
			for k, v := range row {
				x.Set(i, b.from+k, v)
			}
		}
	}
	var svd mat.SVD
	if !svd.Factorize(x, mat.SVDThin) {
		return m // never seen of whole numbers this small; then nothing is known
	}
	m.values = svd.Values(nil)
	for _, v := range m.values {
		if v > 1e-9*m.values[0] {
			m.rank++
		}
	}
	svd.UTo(&m.u)
	svd.VTo(&m.v)
	return m
}

// contrast is a term as a combination of the model's columns; all 0 if the
// model does not have it.
func (m *fitted) contrast(d Design, t Term) []float64 {
	c := make([]float64, m.columns)
	for _, b := range m.blocks {
		if !slices.Equal(b.factors, t.Factors) {
			continue
		}
		row := d.step(b.factors[0], t.Levels[0])
		if len(b.factors) == 2 {
			row = outer(row, d.step(b.factors[1], t.Levels[1]))
		}
		copy(c[b.from:b.to], row)
	}
	return c
}

// step is a level's coding less that of level 0.
func (d Design) step(factor, level int) []float64 {
	row, zero := d.coded(factor, level), d.coded(factor, 0)
	for i := range row {
		row[i] -= zero[i]
	}
	return row
}

func outer(a, b []float64) []float64 {
	all := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, x*y)
		}
	}
	return all
}

// projected is the part of a contrast that the cells tell, with its parts along
// the singular vectors.
func (m *fitted) projected(c []float64) (part, along []float64) {
	part, along = make([]float64, m.columns), make([]float64, m.rank)
	for k := range along {
		for i, v := range c {
			along[k] += v * m.v.At(i, k)
		}
		for i := range part {
			part[i] += along[k] * m.v.At(i, k)
		}
	}
	return part, along
}

// negligible is what is taken for 0 among weights and contrasts, which are of
// the order of 1.
const negligible = 1e-8

// weights are those that estimate a contrast; nil if the cells do not tell it.
func (m *fitted) weights(c []float64) []float64 {
	part, along := m.projected(c)
	size := 0.0
	for i := range c {
		if math.Abs(c[i]-part[i]) > negligible {
			return nil
		}
		size += math.Abs(c[i])
	}
	if size == 0 {
		return nil // the model does not have it
	}
	cells, _ := m.u.Dims()
	w := make([]float64, cells)
	for i := range w {
		for k, a := range along {
			w[i] += m.u.At(i, k) * a / m.values[k]
		}
		if math.Abs(w[i]) < negligible {
			w[i] = 0 // a cell that has no part in it, so that its own figure cannot matter
		}
	}
	return w
}

// mixed are the other blocks that a contrast cannot be told apart from.
func (m *fitted) mixed(c []float64, own []int) [][]int {
	part, _ := m.projected(c)
	var all [][]int
	for _, b := range m.blocks {
		off := slices.ContainsFunc(slices.Collect(seq(b.from, b.to)),
			func(i int) bool { return math.Abs(c[i]-part[i]) > negligible })
		if off && !slices.Equal(b.factors, own) {
			all = append(all, b.factors)
		}
	}
	return all
}

func seq(from, to int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := from; i < to && yield(i); i++ {
		}
	}
}

// assuming finds the fewest of the doubtful pairs that must be none for a main
// effect to be known: one, two, or all. Everything else stays in the model, so
// that nothing else has to be assumed.
func (d Design) assuming(kept, doubtful []block, t Term) (pairs [][2]int, weights []float64) {
	try := func(out ...int) bool {
		model := slices.Clone(kept)
		pairs = nil
		for i, b := range doubtful {
			if slices.Contains(out, i) {
				pairs = append(pairs, [2]int{b.factors[0], b.factors[1]})
			} else {
				model = append(model, b)
			}
		}
		m := d.fit(model)
		weights = m.weights(m.contrast(d, t))
		return weights != nil
	}
	for i := range doubtful {
		if try(i) {
			return pairs, weights
		}
	}
	for i := range doubtful {
		for j := range i {
			if try(i, j) {
				return pairs, weights
			}
		}
	}
	if try(slices.Collect(seq(0, len(doubtful)))...) {
		return pairs, weights
	}
	return nil, nil
}

// Model returns what the fitted effects tell of y, one figure for each cell:
// the share, 0 to 1, of the variation between the cells that the main effects
// and interactions of two factors account for. 1 where there is none to tell.
func (d Design) Model(y []float64) float64 {
	mains, pairs := d.blocks()
	m := d.fit(append(mains, pairs...))
	mean := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	fit := make([]float64, len(y))
	for k := range m.rank {
		along := 0.0
		for i, v := range y {
			along += v * m.u.At(i, k)
		}
		for i := range fit {
			fit[i] += along * m.u.At(i, k)
		}
	}
	all, left := 0.0, 0.0
	for i, v := range y {
		all += (v - mean) * (v - mean)
		left += (v - fit[i]) * (v - fit[i])
	}
	if !(all > 0) {
		return 1
	}
	return max(0, 1-left/all)
}
