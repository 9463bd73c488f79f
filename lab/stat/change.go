package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// ChangeRule says what counts as a change in a series.
type ChangeRule struct {
	// Weak and Strong are the p-values that a border is looked for with, and
	// kept with. A weak one that leads nowhere may stand between two strong
	// ones: without it they would be hidden in one long stretch.
	Weak, Strong float64
	// Least is how many values there are on both sides of a border, at least.
	Least int
	// Magnitude is the smallest difference of two means that is a change, in
	// the unit of the values; of logarithms 0.01 is about 1 %.
	Magnitude float64
}

// DefaultChangeRule is that of the history of a figure, given as logarithms.
// Measured on drawn series (tests hold it to that): in series of 20 to 100
// normal values without a change it finds one in 1 to 2 of 100, with heavy tails
// in 3; a step of 4 standard deviations is found with 4 values behind it in 97
// of 100, one of 2 with 4 in 60 and with 15 in 85.
func DefaultChangeRule() ChangeRule {
	return ChangeRule{Weak: 0.01, Strong: 0.001, Least: 4, Magnitude: math.Log(1 + DefaultPractical)}
}

// Change is a border between two stretches of a series.
type Change struct {
	At int // index of the first value behind it
	// Before and After are the means of the two stretches, and P the p-value
	// of Student's t-test between them.
	Before, After, P float64
}

// ChangePoints finds where a series changes its mean: E-divisive means of Matteson
// and James (JASA 2014, doi 10.1080/01621459.2013.849605) proposes the places,
// by the energy distance with exponent 1 between two neighbouring stretches,
// and Student's t-test decides, which needs no random permutations and so gives
// the same answer every time. Places are proposed from the whole to its parts
// as long as the test says yes at rule.Weak, then taken back one by one, the
// weakest first, until all that are left pass rule.Strong and rule.Magnitude.
//
// The values must be in order of time, finite and, as far as nothing changes,
// independent: a value for each run, not for each call. It takes memory and
// time by the square of their number; a caller bounds it to a thousand or so.
func ChangePoints(x []float64, rule ChangeRule) []Change {
	rule.Least = max(rule.Least, 2) // a spread needs two
	borders := propose(newDistances(x), 0, len(x), rule)
	slices.Sort(borders)
	for {
		found := make([]Change, len(borders))
		worst, at := 0.0, -1
		for i, b := range borders {
			from, to := 0, len(x)
			if i > 0 {
				from = borders[i-1]
			}
			if i+1 < len(borders) {
				to = borders[i+1]
			}
			c := Change{At: b, P: student(x[from:b], x[b:to])}
			c.Before, _ = meanSD(x[from:b])
			c.After, _ = meanSD(x[b:to])
			small := math.Abs(c.After-c.Before) < rule.Magnitude
			if small || c.P >= rule.Strong {
				bad := c.P
				if small {
					bad++ // these go first
				}
				if at < 0 || bad > worst {
					worst, at = bad, i
				}
			}
			found[i] = c
		}
		if at < 0 {
			return found
		}
		borders = slices.Delete(borders, at, at+1)
	}
}

// propose splits a stretch where it parts best, and the parts again.
func propose(d distances, from, to int, rule ChangeRule) []int {
	border := d.part(from, to, rule.Least)
	if border < 0 || student(d.x[from:border], d.x[border:to]) >= rule.Weak {
		return nil
	}
	all := append(propose(d, from, border, rule), border)
	return append(all, propose(d, border, to, rule)...)
}

// distances knows the sum of the distances between any two stretches of a
// series, from sums over all pairs of values before two places.
type distances struct {
	x    []float64
	sums [][]float64
}

func newDistances(x []float64) distances {
	d := distances{x: x, sums: make([][]float64, len(x)+1)}
	cells := make([]float64, (len(x)+1)*(len(x)+1))
	for i := range d.sums {
		d.sums[i] = cells[i*(len(x)+1) : (i+1)*(len(x)+1)]
	}
	for i, v := range x {
		row := 0.0
		for j, w := range x {
			row += math.Abs(v - w)
			d.sums[i+1][j+1] = d.sums[i][j+1] + row
		}
	}
	return d
}

// between sums |x−y| over x in one stretch and y in another.
func (d distances) between(from, to, from2, to2 int) float64 {
	return d.sums[to][to2] - d.sums[from][to2] - d.sums[to][from2] + d.sums[from][from2]
}

// part returns the border in a stretch for which the energy distance between
// its two sides, weighed by m·n/(m+n), is largest; −1 where the stretch is too
// short for one. The paper also lets the second side end early, which finds a
// short bump sooner and, with this test behind it, three times as many changes
// in 100 values that have none: so it is not done.
func (d distances) part(from, to, least int) int {
	best, border := math.Inf(-1), -1
	for b := from + least; b+least <= to; b++ {
		m, n := float64(b-from), float64(to-b)
		energy := 2*d.between(from, b, b, to)/(m*n) - d.between(from, b, from, b)/(m*(m-1)) -
			d.between(b, to, b, to)/(n*(n-1))
		// What differs in the last digits is a tie: the first counts.
		if q := m * n / (m + n) * energy; q > best+1e-9*math.Abs(best) || border < 0 {
			best, border = q, b
		}
	}
	return border
}

// student is the two-sided p-value of "two samples have one mean", if they have
// one spread; each has at least two values. One spread is what lets four values
// behind a border be judged by all before it: with Welch's test, four values
// that happen to be close to each other are a change, and four times in five
// those that are one are not. Samples without any spread differ for sure or not
// at all.
func student(a, b []float64) float64 {
	meanA, sdA := meanSD(a)
	meanB, sdB := meanSD(b)
	m, n := float64(len(a)), float64(len(b))
	pooled := ((m-1)*sdA*sdA + (n-1)*sdB*sdB) / (m + n - 2)
	apart := math.Abs(meanA - meanB)
	switch se := math.Sqrt(pooled * (1/m + 1/n)); {
	case !(apart > 1e-12*math.Abs(meanA)):
		return 1
	case !(se > 1e-9*apart):
		return 0
	default:
		return min(1, 2*distuv.StudentsT{Sigma: 1, Nu: m + n - 2}.CDF(-apart/se))
	}
}

// satterthwaite is the number of degrees of freedom of a difference of two
// means, whose squared standard errors are va and vb.
func satterthwaite(va float64, a int, vb float64, b int) float64 {
	sum := va + vb
	return sum * sum / (va*va/float64(a-1) + vb*vb/float64(b-1))
}

// Shift is how an effect changed from one experiment to another: the second's
// ratio by the first's. What drifted between the two with both arms cancels in
// each ratio. Rounds are those that a paired comparison of this width would
// have had (the degrees of freedom of Welch's test, and one), so that an
// [Effect] may be judged as any other; P is the t-test's, since rounds that were
// not paired have no signs to flip. It is exact where both are. Errors wrap
// [ErrInput].
func Shift(from, to Effect, alpha float64) (Effect, error) {
	if err := checkRounds(min(from.Rounds, to.Rounds), alpha); err != nil {
		return Effect{}, err
	}
	d := to.LogMean - from.LogMean
	if from.Exact && to.Exact {
		e := Effect{
			Ratio: math.Exp(d), Alpha: alpha, Rounds: min(from.Rounds, to.Rounds), LogMean: d, P: 1,
			Exact: true,
		}
		if d != 0 {
			e.P = 0
		}
		e.Low, e.High = e.Ratio, e.Ratio
		return e, nil
	}
	va := from.LogSD * from.LogSD / float64(from.Rounds)
	vb := to.LogSD * to.LogSD / float64(to.Rounds)
	rounds := from.Rounds + to.Rounds - 1
	if va+vb > 0 {
		rounds = max(2, int(satterthwaite(va, from.Rounds, vb, to.Rounds))+1)
	}
	sd := math.Sqrt((va + vb) * float64(rounds))
	around, err := newEstimate(d, sd, rounds, alpha)
	if err != nil {
		return Effect{}, err
	}
	e := Effect{
		Ratio: around.Value, Low: around.Low, High: around.High, Alpha: alpha, Rounds: rounds, LogMean: d,
		LogSD: sd,
	}
	e.P = e.tTestP()
	return e, nil
}
