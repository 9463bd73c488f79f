package threshold

import (
	"fmt"
	"math"
	"slices"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/estimate"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// Outcome is the result of a threshold.
type Outcome string

// The outcomes, from best to worst.
const (
	Passed    Outcome = "pass"         // the interval proves that it was kept
	Undecided Outcome = "inconclusive" // the interval contains the limit, or there is none
	Spoiled   Outcome = "invalid"      // a gate failed, so there is no figure
	Crossed   Outcome = "fail"         // the interval proves that it was crossed
)

// severity orders outcomes. A proof stays valid whatever else is refused, so a crossed threshold is worst. A refused
// figure is worse than an undecided one, since more rounds would not help it.
func (o Outcome) severity() int {
	return slices.Index([]Outcome{Passed, Undecided, Spoiled, Crossed}, o)
}

// Judgement is the result of all thresholds.
type Judgement struct {
	// Outcome is the worst of the findings'. It is [Spoiled] if there are none, or if the experiment was interrupted:
	// if a user may stop when the figures look good, or bad, they prove nothing.
	Outcome Outcome `json:"outcome"`
	// Why gives a reason for the whole; "" if only the findings count.
	Why string `json:"why,omitempty"`
	// Thresholds are the texts of all thresholds, as typed.
	Thresholds []string `json:"thresholds"`
	// Compared is the number of findings with an interval. They were adjusted for each other.
	Compared int       `json:"compared"`
	Findings []Finding `json:"findings"` // by threshold, then load, then arm
}

// Finding is one threshold for one arm under one load.
type Finding struct {
	Threshold string  `json:"threshold"` // as typed
	Metric    string  `json:"metric"`    // id, or [ErrorShare]
	Arm       int     `json:"arm"`       // index into Plan.Arms, -1 of one that is absent
	ArmName   string  `json:"arm_name"`
	Load      int     `json:"load"` // index into Plan.Loads
	LoadName  string  `json:"load_name"`
	Outcome   Outcome `json:"outcome"`
	// Absent reports that the arm was requested but not available; see [result.Result.Absent].
	Absent bool `json:"absent,omitempty"`
	// Relative reports that Limit, Value, Low and High are ratios to the first arm. Otherwise they are values in the
	// unit of the metric's dimension, or shares for errors.
	Relative  bool    `json:"relative,omitempty"`
	Below     bool    `json:"below,omitempty"` // Limit is a lower one
	Limit     float64 `json:"limit"`
	LimitText string  `json:"limit_text"` // as typed: "+3%"
	// Known reports whether Value is set, and Bounded whether Low and High are.
	Known   bool    `json:"known"`
	Bounded bool    `json:"bounded"`
	Value   float64 `json:"value,omitempty"`
	Low     float64 `json:"low,omitempty"`
	High    float64 `json:"high,omitempty"`
	// Alpha is the probability that the interval misses, half on each side.
	Alpha  float64 `json:"alpha,omitempty"`
	Rounds int     `json:"rounds,omitempty"`
	// P is the two-sided p-value of "the value is at the limit or on its right side". Adjusted is P after [stat.Holm]
	// over all findings. Both are scaled to an Alpha of 0.05.
	P        float64 `json:"p,omitempty"`
	Adjusted float64 `json:"p_adjusted,omitempty"`
	// More is how many more rounds would probably decide it; 0 if more rounds would not help.
	More int `json:"more_rounds,omitempty"`
	// Why says why it is neither pass nor fail.
	Why string `json:"why,omitempty"`

	// sure reports that the value is a count, which needs no interval.
	sure bool
	// unconfirmed reports that the sign-flip test finds no difference at all, and so none beyond a limit.
	unconfirmed bool
}

// Judge applies thresholds to a result. [Threshold.Check] must have accepted them for its plan, and a must be its
// [analyse.Result]. It is pure.
//
// A threshold passes if the interval shows that it was kept, fails if the interval shows that it was crossed, and is
// inconclusive while the interval contains the limit. The figure itself decides nothing. For the whole to pass, every
// threshold must pass, each with an error of at most alpha/2. So no correction is needed there, and more thresholds
// do not make passing easier. For the whole to fail, one failure is enough, so failures are proved together: p-values
// are adjusted by Holm over all thresholds, arms and loads.
func Judge(r *result.Result, a *claim.Analysis, thresholds []Threshold) Judgement {
	g := grid.NewGrid(r)
	all := Judgement{Outcome: Spoiled, Thresholds: []string{}, Findings: []Finding{}}
	for _, t := range thresholds {
		all.Thresholds = append(all.Thresholds, t.Text)
		m, err := thresholdMetric(t.Text, t.Metric)
		if err != nil {
			continue // cannot happen after ParseThreshold
		}
		for i := range a.Loads {
			l := &a.Loads[i]
			if !t.under(r.Plan.Loads[l.Load]) || !kinds.Under(m, r.Plan.Loads[l.Load]) {
				continue
			}
			all.Findings = append(all.Findings, absent(r, t, l)...)
			for arm := range l.Arms {
				if t.Relative && (arm == 0 || r.Rebased() != "") || t.Arm != "" && t.Arm != l.Arms[arm].Name {
					continue
				}
				all.Findings = append(all.Findings, look(g, l, t, m, arm))
			}
		}
	}
	all.decide()
	switch {
	case r.Ending == result.Interrupted:
		all.Outcome = Spoiled
		all.Why = fmt.Sprintf("interrupted after %d rounds, not ended by its plan", len(r.Rounds))
	case len(all.Findings) == 0:
		all.Why = "no threshold applies to anything that was measured"
	}
	return all
}

// look finds the figure for a threshold, without deciding yet.
func look(g grid.Grid, l *claim.LoadAnalysis, t Threshold, m metric.Metric, arm int) Finding {
	f := Finding{
		Threshold: t.Text, Metric: t.Metric, Arm: arm, ArmName: l.Arms[arm].Name, Load: l.Load, LoadName: l.Name,
		Relative: t.Relative, Below: t.Below, Limit: t.Limit, LimitText: t.LimitText, P: 1, Adjusted: 1,
	}
	row := l.Row(t.Metric)
	if row == nil && m.Quantile > 0 && g.Has(l.Load, m) { // a quantile that only this threshold uses
		made := effect.Row(g, l, m)
		row = &made
	}
	switch {
	case t.Metric == ErrorShare:
		f.errors(g.Of(l.Load, arm), &l.Arms[arm])
	case row == nil:
		f.Outcome, f.Why = Undecided, "not measured"
	case t.Relative:
		f.Alpha = row.Alpha
		f.difference(g, l, m, row.Cells[arm].Difference)
	default:
		f.Alpha = row.Alpha
		f.estimate(g, l, m, row.Cells[arm].Estimate)
	}
	return f
}

func (f *Finding) difference(g grid.Grid, l *claim.LoadAnalysis, m metric.Metric, d *claim.Difference) {
	switch {
	case d == nil:
		f.Outcome, f.Why = Undecided, "not compared"
		return
	case d.Verdict == claim.Invalid || d.Verdict == claim.Unsteady:
		f.Outcome, f.Why = Spoiled, d.Why
		return
	case !d.Known:
		f.Outcome, f.Why, f.Rounds, f.More = Undecided, d.Why, d.Rounds, d.More
		if d.Verdict == claim.Unmeasured {
			f.More = moreForTail(m, g.Of(l.Load, 0), g.Of(l.Load, f.Arm))
		}
		return
	}
	f.Known, f.Bounded, f.Value, f.Low, f.High, f.Rounds = true, true, d.Ratio, d.Low, d.High, d.Rounds
	// A difference beyond a limit on the bad side of 1 is also a difference, and the report claims none that the
	// sign-flip test does not confirm.
	f.unconfirmed = (f.Below && f.Limit <= 1 || !f.Below && f.Limit >= 1) && d.P >= f.Alpha
	f.P = f.pValue()
}

func (f *Finding) estimate(g grid.Grid, l *claim.LoadAnalysis, m metric.Metric, e claim.Estimate) {
	if why := l.Arms[f.Arm].Why(m); why != "" {
		f.Outcome, f.Why = Spoiled, why
		return
	}
	if !e.Known {
		f.Outcome, f.Why, f.Rounds = Undecided, e.Why, len(g.Of(l.Load, f.Arm))
		f.More = moreForTail(m, g.Of(l.Load, f.Arm))
		return
	}
	f.Known, f.Value, f.Rounds = true, e.Value, e.Rounds
	switch {
	case m.Counted || e.Value == 0: // the value is 0 in every round
		f.sure, f.Bounded, f.Low, f.High = true, true, e.Value, e.Value
		f.P = f.pValue()
	case e.Interval():
		f.Bounded, f.Low, f.High = true, e.Low, e.High
		f.P = f.pValue()
	case e.Rounds < claim.MinRounds:
	default:
		f.Outcome, f.Why = Undecided,
			"there is no interval: a round has none of it, or the rounds differ beyond all bounds"
	}
}

// errors computes the share of failed calls. A limit of 0 is not about shares: one failure crosses it, and no failure
// keeps it.
func (f *Finding) errors(trials []*result.Trial, arm *claim.ArmState) {
	for _, c := range arm.Checks {
		if !c.OK && (c.Gate == result.InPlay || c.Gate == result.Accounts) {
			f.Outcome, f.Why = Spoiled, c.Detail
			return
		}
	}
	f.Alpha, f.Rounds = stat.DefaultAlpha, len(trials)
	var failed, sent []uint64
	var x, n uint64
	for _, t := range trials {
		bad := t.Sent - min(t.OK, t.Sent)
		failed, sent = append(failed, bad), append(sent, t.Sent)
		x, n = x+bad, n+t.Sent
	}
	if n == 0 {
		f.Outcome, f.Why = Spoiled, "no call was made"
		return
	}
	f.Known, f.Value = true, float64(x)/float64(n)
	if f.Limit == 0 {
		f.sure, f.Bounded, f.Low, f.High = true, true, f.Value, f.Value
		f.P = f.pValue()
		return
	}
	if e, err := stat.Share(failed, sent, f.Alpha); err == nil {
		f.Bounded, f.Low, f.High = true, e.Low, e.High
		f.P = f.pValue()
	}
}

// Slack makes a figure that is exactly at the limit count as being at it: 206 / 200 and 1 + 0.03 differ by rounding.
const Slack = 1e-12

// crossed and kept report what the interval proves.
func (f *Finding) crossed() bool {
	if f.Below {
		return f.High < f.Limit*(1-Slack)
	}
	return f.Low > f.Limit*(1+Slack)
}

func (f *Finding) kept() bool {
	if f.Below {
		return f.Low >= f.Limit*(1-Slack)
	}
	return f.High <= f.Limit*(1+Slack)
}

// pValue is P. It is below 0.05 exactly if the interval lies beyond the limit.
func (f *Finding) pValue() float64 {
	switch {
	case f.Low == f.High || f.Metric == ErrorShare:
		return f.sharePValue()
	case f.Below == (f.Value >= f.Limit):
		return 1
	}
	e := stat.Estimate{Value: f.Value, Low: f.Low, High: f.High, Alpha: f.Alpha, Rounds: f.Rounds}
	return min(1, e.Beyond(f.Limit)*stat.DefaultAlpha/f.Alpha)
}

// sharePValue is P for exact values and for shares. The interval of a share is the wider of two and has no p-value.
// Instead, the distance of the limit from the share, in widths of the interval, is used.
func (f *Finding) sharePValue() float64 {
	if !f.crossed() {
		return 1
	}
	if f.Low == f.High {
		return 0
	}
	// The ratio of the distance to the limit and the distance to the near bound, on the normal scale where the bound
	// is at 1.96.
	z := 1.96 * (f.Value - f.Limit) / (f.Value - f.Low)
	return math.Erfc(z / math.Sqrt2)
}

// decide gives the outcomes of all findings with an interval, and that of the whole.
func (j *Judgement) decide() {
	var p []float64
	var at []int
	for i := range j.Findings {
		if f := &j.Findings[i]; f.Outcome == "" && f.Bounded {
			p, at = append(p, f.P), append(at, i)
		}
	}
	j.Compared = len(p)
	for i, adjusted := range stat.Holm(p) {
		j.Findings[at[i]].Adjusted = adjusted
	}
	for i := range j.Findings {
		f := &j.Findings[i]
		if f.Outcome == "" {
			f.decide(j.Compared)
		}
		if i == 0 || f.Outcome.severity() > j.Outcome.severity() {
			j.Outcome = f.Outcome
		}
	}
}

func (f *Finding) decide(family int) {
	enough := f.sure && f.Low > f.Limit // a count beyond its limit stays beyond it
	switch {
	case f.Rounds < claim.MinRounds && !enough:
		f.Outcome, f.More = Undecided, claim.MinRounds-f.Rounds
		f.Why = fmt.Sprintf("%d of the %d rounds that it needs", f.Rounds, claim.MinRounds)
	case !f.Bounded:
		f.Outcome, f.Why = Undecided, "there is no interval"
	case f.kept():
		f.Outcome = Passed
	case !f.crossed():
		f.Outcome, f.Why, f.More = Undecided, "the interval holds the limit", f.missing(f.Alpha)
	case f.unconfirmed:
		f.Outcome, f.Why, f.More = Undecided, "the sign-flip test does not confirm the interval", 1
	case f.Adjusted >= stat.DefaultAlpha:
		f.Outcome, f.Why = Undecided, fmt.Sprintf("crossed if it were the only one, but not among %d", family)
		f.More = f.missing(f.Alpha / float64(family))
	default:
		f.Outcome = Crossed
	}
}

// missing is how many more rounds would probably clear the limit at alpha.
func (f *Finding) missing(alpha float64) int {
	if f.Metric == ErrorShare {
		bound := f.High
		if f.Value > f.Limit {
			bound = f.Low
		}
		ratio := (bound - f.Value) / (f.Limit - f.Value)
		enough := float64(f.Rounds) * ratio * ratio
		if !(enough < manyRounds) {
			return manyRounds
		}
		return max(1, int(math.Ceil(enough))-f.Rounds)
	}
	e := stat.Estimate{Value: f.Value, Low: f.Low, High: f.High, Alpha: f.Alpha, Rounds: f.Rounds}
	return max(1, e.RoundsToClear(f.Limit, alpha)-f.Rounds)
}

// manyRounds is more rounds than is realistic.
const manyRounds = 1_000_000

// moreForTail is how many more rounds would give a quantile enough calls, if each has as many as those so far; 0 if
// the rounds themselves are too short.
func moreForTail(m metric.Metric, arms ...[]*result.Trial) int {
	more := 0
	for _, trials := range arms {
		if m.Quantile == 0 || len(trials) == 0 {
			continue
		}
		tail := stat.Tail(m.Quantile, estimate.Histograms(trials, m))
		if tail.HaveInRound < tail.NeedInRound {
			return 0
		}
		if tail.Have < tail.Need {
			each := float64(tail.Have) / float64(len(trials))
			more = max(more, int(math.Ceil(float64(tail.Need-tail.Have)/each)))
		}
	}
	return more
}
