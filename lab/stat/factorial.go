package stat

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Design says which level of each factor every cell of a factorial experiment has. Cells may be missing, and the
// factors need not be balanced. Effects that the existing cells do not determine are reported as such, and not
// guessed.
//
// The model is that of D. C. Montgomery (Design and Analysis of Experiments, chapter 5) and R. Jain (The Art of
// Computer Systems Performance Analysis, chapters 17, 21 to 23). The logarithm of a figure is a mean, plus an effect
// of each level, plus an effect of each pair of levels; each adds up to 0 over the levels of a factor. It is fitted
// by least squares. On logarithms, effects are factors, as in Jain's section 22.7.
type Design struct {
	// Levels is the number of levels of each factor, at least 2.
	Levels []int
	// Cells are the levels of each cell, by factor, from 0.
	Cells [][]int
}

// Term is one effect: the average change, over the levels of the other factors, when a factor goes from level 0 to
// another. For two factors, it is how much that change differs if the second factor goes to another level too.
type Term struct {
	// Factors and Levels are one factor and its level, or two of each.
	Factors, Levels []int
	// Weights are the weights of the cells: the effect is the weighted sum of the cells' figures. nil if the cells do
	// not determine it.
	Weights []float64
	// Assumes are the pairs of factors that must not interact for the term to be this effect. Most terms have none.
	Assumes [][2]int
	// Aliased are the terms that cannot be separated from this one, each given by its one or two factors. It is set
	// only if Weights is nil.
	Aliased [][]int
}

// block has the columns of a model that belong to one factor or to two.
type block struct {
	factors  []int
	from, to int // columns
}

// Terms returns every main effect, by factor and level, followed by every interaction of two levels, with what the
// cells determine about each. If a main effect is confounded with interactions, it is given on the assumption that
// these are zero, if that determines it. Interactions of three factors are assumed to be zero; in a design with every
// cell they change nothing. Errors wrap [ErrInput].
func (d Design) Terms() ([]Term, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	mains, pairs := d.blocks()
	full := d.fit(append(slices.Clone(mains), pairs...))
	// Interactions that are completely determined never hide a main effect. The others may, and are left out if a
	// main effect cannot be determined together with them.
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

// size is the number of columns of a block.
func (d Design) size(b block) int {
	n := 1
	for _, f := range b.factors {
		n *= d.Levels[f] - 1
	}
	return n
}

// coded is the coding of a level in columns that add up to 0 over the levels: level 0 is −1 in each column, any other
// level is 1 in its own column.
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

// fitted is the decomposed model of some blocks.
type fitted struct {
	blocks  []block
	columns int
	rank    int
	u, v    mat.Dense
	values  []float64 // the singular values; only the first rank of them are used
}

// fit builds the model's matrix and its singular value decomposition.
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
		return m // never observed with such small whole numbers; the model then determines nothing
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

// contrast is a term as a combination of the model's columns; all 0 if the model does not contain it.
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

// step is the coding of a level minus that of level 0.
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

// projected returns the part of a contrast that the cells determine, and its components along the singular vectors.
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

// negligible is treated as 0 in weights and contrasts, which are of the order of 1.
const negligible = 1e-8

// weights returns the weights of the cells that estimate a contrast; nil if the cells do not determine it.
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
		return nil // the model does not contain it
	}
	cells, _ := m.u.Dims()
	w := make([]float64, cells)
	for i := range w {
		for k, a := range along {
			w[i] += m.u.At(i, k) * a / m.values[k]
		}
		if math.Abs(w[i]) < negligible {
			w[i] = 0 // exactly 0, so that the cell's own figure cannot matter
		}
	}
	return w
}

// mixed returns the other blocks that are confounded with a contrast.
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

// assuming finds the smallest set of undetermined pairs that must be zero for a main effect to be determined: one,
// two, or all. All other pairs stay in the model, so that nothing else is assumed.
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

// Model returns the share, 0 to 1, of the variation between cells that main effects and interactions of two factors
// explain. y has one figure for each cell. The share is 1 if there is no variation.
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
