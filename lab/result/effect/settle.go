package effect

import (
	"cmp"
	"math"
	"slices"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// Settle adjusts the p-values of a load's rows for the number of comparisons, and gives the verdicts. Each load is a
// separate question. It has one family of comparisons for its primary metric (Holm: probably no false claim at all)
// and one for all other metrics (Benjamini–Hochberg: few of the claims are false).
func Settle(p plan.Plan, rows []claim.Row) {
	var primary, secondary []Judged
	for i := range rows {
		m, err := kinds.MetricByID(rows[i].Metric)
		if err != nil {
			continue // cannot happen: the rows were made from the metrics
		}
		for _, cell := range rows[i].Cells {
			if cell.Difference == nil || !cell.Difference.Known {
				continue
			}
			one := Judged{Difference: cell.Difference, Rule: Rule(p, m)}
			if rows[i].Primary {
				primary = append(primary, one)
			} else {
				secondary = append(secondary, one)
			}
		}
	}
	Adjust(primary, stat.Holm, len(primary))
	Adjust(secondary, stat.BenjaminiHochberg, 1)
}

// Judged is a difference with the rule by which it is judged.
type Judged struct {
	Difference *claim.Difference
	Rule       stat.Rule
}

// Adjust gives the verdicts of a family. hardest is the smallest factor by which its smallest p-value is multiplied.
func Adjust(family []Judged, by func([]float64) []float64, hardest int) {
	p := make([]float64, len(family))
	for i, one := range family {
		p[i] = one.Difference.P
	}
	for i, adjusted := range by(p) {
		family[i].Difference.Adjusted = adjusted
		Judge(family[i].Difference, family[i].Rule, hardest)
	}
}

// Judge gives the verdict.
func Judge(d *claim.Difference, by stat.Rule, hardest int) {
	e := d.Effect
	f := by.Judge(e)
	d.Margin = f.Epsilon
	if !math.IsNaN(f.MDE) && !math.IsInf(f.MDE, 0) {
		d.Detectable = f.MDE
	}
	spoiled := d.Adjusted >= e.Alpha // significant only without the other comparisons
	switch {
	case d.Rounds < cmp.Or(d.Least, claim.MinRounds):
		few := TooFew(d.Rounds, cmp.Or(d.Least, claim.MinRounds))
		d.Verdict, d.More, d.Why = few.Verdict, few.More, few.Why
	case f.Verdict == stat.BBetter && !spoiled:
		d.Verdict = claim.Better
	case f.Verdict == stat.ABetter && !spoiled:
		d.Verdict = claim.Worse
	case f.EquivalenceP < e.Alpha:
		d.Verdict = claim.Equivalent
	default:
		d.Verdict = claim.Inconclusive
		enough := needed(e, f)
		if spoiled {
			enough = max(enough, stat.RoundsForFamily(hardest, e.Alpha))
		}
		d.More = max(enough-e.Rounds, 1)
		d.Why = undecided(d)
	}
}

// undecided says why a difference is not claimed.
func undecided(d *claim.Difference) string {
	switch e := d.Effect; {
	case e.Low <= 1 && e.High >= 1:
		return "the interval holds both no difference and more than the margin"
	case d.P < e.Alpha && d.Adjusted >= e.Alpha:
		return "a difference alone, but not among so many comparisons"
	case d.P >= e.Alpha:
		return "the sign-flip test does not confirm the interval"
	}
	return "a difference, but too small or too vague to matter"
}

// needed is the total number of rounds that would probably decide e. A half-width of half the margin always decides,
// because it excludes either no difference or the margin. A difference as large as the observed one may need fewer.
func needed(e stat.Effect, f stat.Finding) int {
	size := math.Abs(e.LogMean)
	room := max(size, math.Log1p(f.Epsilon)-size)
	return e.RoundsNeeded(math.Expm1(min(room, 10)))
}

// Rank gives the arms of a load their ranks by the primary metric. It compares every pair of arms, because
// differences from the first arm do not show how the others differ from each other. With so many comparisons there
// may be too few rounds for any rank.
func Rank(g grid.Grid, load *claim.LoadAnalysis) {
	row := load.Row(load.Primary)
	if row == nil || load.Slow { // their slow reading was planned
		return
	}
	m, err := kinds.MetricByID(row.Metric)
	if err != nil {
		return
	}
	var arms []int
	for a, cell := range row.Cells {
		if cell.Estimate.Known {
			arms = append(arms, a)
		}
	}
	pairs := len(arms) * (len(arms) - 1) / 2
	if pairs == 0 {
		return
	}
	type pair struct{ a, b int }
	var pairwise []pair
	var family []Judged
	for i, a := range arms {
		for _, b := range arms[i+1:] {
			e, blocked := Compared(g, load, m, a, b, row.Alpha)
			if blocked != nil || e.Rounds < max(claim.MinRounds, stat.RoundsForFamily(pairs, row.Alpha)) {
				return
			}
			pairwise = append(pairwise, pair{a, b})
			family = append(family,
				Judged{
					Difference: &claim.Difference{Known: true, Rounds: e.Rounds, P: e.JointP(), Effect: e},
					Rule:       Rule(g.Result.Plan, m),
				})
		}
	}
	Adjust(family, stat.Holm, pairs)
	for _, a := range arms {
		load.Arms[a].Place = 1
	}
	for i, p := range pairwise {
		switch family[i].Difference.Verdict {
		case claim.Better: // b is better than a
			load.Arms[p.a].Place++
		case claim.Worse:
			load.Arms[p.b].Place++
		}
	}
}

// PrimaryWidth is the half-width, as a share, of the widest interval of the primary metric over loads and arms. The
// interval is that of the difference from the first arm, or of the arm's own value if there is only one arm. Arms
// that were removed or gave a wrong answer are ignored, since no further round will make them valid.
//
// width may be shown once it differs from 0, from 3 rounds on. ok reports that an experiment may stop on it: all
// intervals exist, from at least [claim.MinRounds] rounds. The intervals are those of alpha 0.04, which stopping
// needs.
func PrimaryWidth(r *result.Result) (width float64, ok bool) {
	g := grid.NewGrid(r)
	widest, ok := 0.0, len(g.Trials) > 0
	for l := range g.Trials {
		m := kinds.Primary(r.Plan, r.Plan.Loads[l])
		arms := alive(g, l)
		if len(arms) == 0 || arms[0] != 0 {
			return 0, false
		}
		if len(g.Result.Plan.Arms) == 1 {
			w, rounds := ownWidth(g, l, m)
			if rounds < 3 {
				return 0, false
			}
			widest, ok = max(widest, w), ok && rounds >= claim.MinRounds
			continue
		}
		if len(arms) == 1 {
			return 0, false
		}
		for _, a := range arms[1:] {
			e, blocked := Paired(g, l, m, 0, a, stat.SequentialAlpha)
			if blocked != nil || e.Rounds < 3 {
				return 0, false
			}
			widest, ok = max(widest, math.Expm1(e.HalfWidth(stat.SequentialAlpha))), ok && e.Rounds >= claim.MinRounds
		}
	}
	if math.IsInf(widest, 0) {
		return 0, false
	}
	return widest, ok
}

// ownWidth is the half-width of the only arm's value, and its number of rounds.
func ownWidth(g grid.Grid, l int, m metric.Metric) (width float64, rounds int) {
	load := claim.LoadAnalysis{Load: l, Arms: make([]claim.ArmState, g.Arms())} // no gates: see PrimaryWidth
	e := Measure(g, &load, m, 0, stat.SequentialAlpha)
	if !e.Interval() || e.Value <= 0 {
		return 0, 0
	}
	return e.High/e.Value - 1, e.Rounds
}

// alive returns the arms that were not removed under a load and have given no wrong answer.
func alive(g grid.Grid, l int) []int {
	var arms []int
	for a := range g.Arms() {
		wrong := slices.ContainsFunc(g.Of(l, a),
			func(t *result.Trial) bool { return len(words.Kinds(t.Errors)) > 0 || t.Streams.Faulty() > 0 })
		if g.Result.Out(a) == "" && !wrong {
			arms = append(arms, a)
		}
	}
	return arms
}

// UsableRounds is the number of rounds that every arm that can still be compared shares with the first, under the
// load with the fewest. An experiment whose arms fail sometimes needs more rounds than its planned minimum.
func UsableRounds(r *result.Result) int {
	g := grid.NewGrid(r)
	fewest := len(r.Rounds)
	for l := range g.Trials {
		for _, a := range alive(g, l) {
			pairs, _ := g.Pairs(l, 0, a)
			fewest = min(fewest, len(pairs))
		}
	}
	return fewest
}
