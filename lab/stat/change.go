package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// ChangeRule says what counts as a change in a series.
type ChangeRule struct {
	// Weak and Strong are the p-values with which a border is proposed and accepted. A weak border that is not
	// accepted may still lie between two strong ones: without it they would be hidden in one long segment.
	Weak, Strong float64
	// Least is the minimum number of values on each side of a border.
	Least int
	// Magnitude is the smallest difference of two means that counts as a change, in the unit of the values. For
	// logarithms, 0.01 is about 1 %.
	Magnitude float64
}

// DefaultChangeRule is the rule for the history of a figure, given as logarithms. Its error rates were measured on
// simulated series, and tests check them. In series of 20 to 100 normal values without a change, it finds one in 1 to
// 2 of 100, with heavy tails in 3. A step of 4 standard deviations with 4 values after it is found in 97 of 100, a
// step of 2 with 4 values in 60, and with 15 values in 85.
func DefaultChangeRule() ChangeRule {
	return ChangeRule{Weak: 0.01, Strong: 0.001, Least: 4, Magnitude: math.Log(1 + DefaultPractical)}
}

// Change is a border between two segments of a series.
type Change struct {
	At int // index of the first value after it
	// Before and After are the means of the two segments, and P is the p-value of Student's t-test between them.
	Before, After, P float64
}

// ChangePoints finds where a series changes its mean. The places are proposed by E-divisive means of Matteson and
// James (JASA 2014, doi 10.1080/01621459.2013.849605), which uses the energy distance with exponent 1 between two
// neighbouring segments. Student's t-test decides. It needs no random permutations, so the result is deterministic.
// Segments are split recursively while the test passes at rule.Weak. Then borders are removed one by one, the weakest
// first, until all remaining ones pass rule.Strong and rule.Magnitude.
//
// The values must be in order of time, finite and, between changes, independent: a value for each run, not for each
// call. Memory and time grow with the square of their number, so callers limit it to about a thousand.
func ChangePoints(x []float64, rule ChangeRule) []Change {
	rule.Least = max(rule.Least, 2) // a standard deviation needs two
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
					bad++ // small changes are removed first
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

// propose splits a segment at its best border, and then both parts.
func propose(d distances, from, to int, rule ChangeRule) []int {
	border := d.part(from, to, rule.Least)
	if border < 0 || student(d.x[from:border], d.x[border:to]) >= rule.Weak {
		return nil
	}
	all := append(propose(d, from, border, rule), border)
	return append(all, propose(d, border, to, rule)...)
}

// distances has the sum of the distances between any two segments of a series, from sums over all pairs of values
// before two places.
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

// between is the sum of |x−y| over x in one segment and y in another.
func (d distances) between(from, to, from2, to2 int) float64 {
	return d.sums[to][to2] - d.sums[from][to2] - d.sums[to][from2] + d.sums[from][from2]
}

// part returns the border in a segment for which the energy distance between its two sides, weighted by m·n/(m+n), is
// largest; −1 if the segment is too short. The paper also lets the second side end early. That finds a short bump
// sooner, but with the test used here it finds three times as many changes in 100 values without one, so it is not
// done.
func (d distances) part(from, to, least int) int {
	best, border := math.Inf(-1), -1
	for b := from + least; b+least <= to; b++ {
		m, n := float64(b-from), float64(to-b)
		energy := 2*d.between(from, b, b, to)/(m*n) - d.between(from, b, from, b)/(m*(m-1)) -
			d.between(b, to, b, to)/(n*(n-1))
		// Differences in the last digits are ties, and the first border wins.
		if q := m * n / (m + n) * energy; q > best+1e-9*math.Abs(best) || border < 0 {
			best, border = q, b
		}
	}
	return border
}

// student is the two-sided p-value of "both samples have the same mean", assuming equal variance. Each sample has at
// least two values. Equal variance is what allows four values after a border to be compared with all values before
// it. With Welch's test, four values that happen to be close to each other would be a change, and four of five real
// changes would be missed. Samples without any variance differ with certainty or not at all.
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

// satterthwaite is the number of degrees of freedom of a difference of two means with squared standard errors va and
// vb.
func satterthwaite(va float64, a int, vb float64, b int) float64 {
	sum := va + vb
	return sum * sum / (va*va/float64(a-1) + vb*vb/float64(b-1))
}

// Shift is how an effect changed from one experiment to another: the second's ratio divided by the first's. Drift
// between the two that affects both arms cancels within each ratio. Rounds is the number that a paired comparison
// with this interval would have had (the degrees of freedom of Welch's test, plus one), so that the result can be
// judged like any other [Effect]. P is that of the t-test, since unpaired rounds have no signs to flip. The result is
// exact if both effects are. Errors wrap [ErrInput].
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
