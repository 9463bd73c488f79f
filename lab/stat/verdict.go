package stat

import "math"

// Direction says which direction of a metric is better.
type Direction string

// The directions.
const (
	LowerIsBetter  Direction = "lower is better"  // latency, CPU, bytes
	HigherIsBetter Direction = "higher is better" // throughput
)

// Verdict is what may be said about an effect. A result that fails a gate is invalid, and gets no verdict.
type Verdict string

// The verdicts.
const (
	ABetter      Verdict = "a better"
	BBetter      Verdict = "b better"
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
)

// Rule says when a difference is claimed.
type Rule struct {
	Direction Direction // "" is LowerIsBetter
	// Practical is the smallest difference worth a claim, as a fraction. 0 means 0.01; a negative value means no
	// minimum.
	Practical float64
	// Epsilon is the margin within which arms are equivalent, as a fraction. 0 means 0.03.
	Epsilon float64
}

// Defaults of a [Rule], and the usual alpha.
const (
	DefaultPractical = 0.01
	DefaultEpsilon   = 0.03
	DefaultAlpha     = 0.05
)

func (r Rule) practical() float64 {
	if r.Practical == 0 {
		return DefaultPractical
	}
	return max(r.Practical, 0)
}

func (r Rule) epsilon() float64 {
	if r.Epsilon == 0 {
		return DefaultEpsilon
	}
	return r.Epsilon
}

// Finding is a verdict with the numbers that explain it.
type Finding struct {
	Verdict Verdict
	// Practical and Epsilon are the thresholds that were used, as fractions.
	Practical, Epsilon float64
	// EquivalenceP is [Effect.Equivalence] at Epsilon.
	EquivalenceP float64
	// RoundsNeeded is [Effect.RoundsNeeded] at Epsilon, and MDE is [Effect.MDE]. Reports show them for an
	// inconclusive effect.
	RoundsNeeded int
	MDE          float64
}

// Judge gives the verdict on an effect. A difference is claimed if the t interval excludes a ratio of 1, the
// sign-flip test agrees (p < e.Alpha), and the difference is at least the practical threshold. Otherwise the arms are
// equivalent if the interval of confidence 1 − 2·Alpha lies within a factor 1 + Epsilon. Otherwise the effect is
// inconclusive. An [Effect.Exact] ratio needs no test.
//
// With 5 rounds or fewer, the sign-flip test cannot reach 0.05, so no difference is claimed, however large. That is
// intended.
func (r Rule) Judge(e Effect) Finding {
	f := Finding{
		Practical: r.practical(), Epsilon: r.epsilon(), MDE: e.MDE(),
		EquivalenceP: e.Equivalence(r.epsilon()), RoundsNeeded: e.RoundsNeeded(r.epsilon()),
	}
	// The 1e-9 lets exactly 1 % pass as 1 %.
	large := math.Abs(e.LogMean) >= math.Log1p(f.Practical)-1e-9
	proved := e.Exact && e.LogMean != 0 || (e.Low > 1 || e.High < 1) && e.P < e.Alpha
	switch {
	case large && proved:
		f.Verdict = ABetter
		if (e.LogMean < 0) != (r.Direction == HigherIsBetter) {
			f.Verdict = BBetter
		}
	case f.EquivalenceP < e.Alpha && (!e.Disturbed || e.Low*(1+f.Epsilon) > 1 && e.High < 1+f.Epsilon):
		f.Verdict = Equivalent
	default:
		f.Verdict = Inconclusive
	}
	return f
}

// The parameters of sequential stopping. With them, checking after every round keeps the true error at 3.7 to 5.6 %.
const (
	SequentialAlpha  = 0.04
	SequentialRounds = 10
)

// Stop is the result of [StopOnWidth].
type Stop struct {
	Enough bool
	// RoundsNeeded estimates the total number of rounds that the widest interval needs, at least 10.
	RoundsNeeded int
	// Widest is the index of that effect; -1 if there are no effects.
	Widest int
}

// StopOnWidth decides whether an experiment may end: after at least 10 rounds, if every effect's interval at alpha
// 0.04 (whatever the effects' own alpha) is within ± target, a fraction > 0. It uses only widths: stopping when a
// difference becomes significant leads to 27 to 30 % false claims.
func StopOnWidth(effects []Effect, target float64) Stop {
	s := Stop{Enough: len(effects) > 0, RoundsNeeded: SequentialRounds, Widest: -1}
	for i, e := range effects {
		if e.Rounds < SequentialRounds || e.HalfWidth(SequentialAlpha) > math.Log1p(target) {
			s.Enough = false
		}
		e.Alpha = SequentialAlpha
		if n := e.RoundsNeeded(target); s.Widest < 0 || n > s.RoundsNeeded {
			s.RoundsNeeded, s.Widest = max(n, SequentialRounds), i
		}
	}
	return s
}
