package gate

import (
	"fmt"
	"math"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// Limits on how the cost of a call for the server may change within a round.
const (
	halvesAlpha = 0.01 // the level of the sign test over rounds
	halvesShare = 0.03 // smaller changes are within the margin of "equivalent"
)

// Settled compares the server's cost of a call in the second half of each round's slices with that in the first half.
// A server that became cheaper in nearly all rounds was not warm, whatever its warm-up reported. One that became more
// expensive is marked: its data may grow, and then no warm-up helps.
func (s *Subject) Settled() {
	fell, rose, sum := 0, 0, 0.0
	readings, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		ratio, known := t.Halves.Change()
		if !known {
			return 0, false, false
		}
		sum += math.Log(ratio)
		if ratio < 1 {
			fell++
		} else if ratio > 1 {
			rose++
		}
		return ratio - 1, ratio >= 1-halvesShare, true
	})
	if len(readings) == 0 {
		return
	}
	mean := math.Expm1(sum / float64(len(readings)))
	down := mean < -halvesShare && stat.SignTest(fell, len(readings)) < halvesAlpha
	up := mean > halvesShare && stat.SignTest(rose, len(readings)) < halvesAlpha
	c := claim.Check{
		Gate: result.Settled, OK: !down, Limited: up, Value: mean, Limit: -halvesShare, AtLeast: true, Rounds: readings,
		Unit: "of server CPU per call",
		Detail: fmt.Sprintf("server CPU per call moved by %+.1f %% from the first half of the slices to the second",
			100*mean),
	}
	switch {
	case down:
		c.Detail = fmt.Sprintf("no steady state: server CPU per call fell by %.0f %% from the first half of the "+
			"slices to the second, %s",
			-100*mean, words.InRounds(fell, len(readings)))
		c.Fix = "warm up longer (warm_up in the plan): a runtime that compiles while it runs takes 30 s and more"
	case up:
		c.Detail = fmt.Sprintf("not level: server CPU per call rose by %.0f %% from the first half of the slices to "+
			"the second, %s",
			100*mean, words.InRounds(rose, len(readings)))
		c.Fix = "look for what grows with the calls: stored data, a cache, a leak"
	}
	s.Add(c)
}
