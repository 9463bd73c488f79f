package result

import (
	"fmt"
	"math"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Halves are what the server used in the first half of a trial's slices and in the second;
// a slice in the middle is in neither.
type Halves struct {
	First  Stretch `json:"first"`
	Second Stretch `json:"second"`
}

// Stretch is what a server used for so many calls.
type Stretch struct {
	CPU   plan.Duration `json:"cpu"`
	Calls uint64        `json:"calls"`
}

// Add adds slice n of a trial, from 0, that has so many.
func (h *Halves) Add(n, of int, cpu plan.Duration, calls uint64) *Halves {
	if h == nil {
		h = &Halves{}
	}
	switch {
	case 2*(n+1) <= of:
		h.First.CPU, h.First.Calls = h.First.CPU+cpu, h.First.Calls+calls
	case 2*n >= of:
		h.Second.CPU, h.Second.Calls = h.Second.CPU+cpu, h.Second.Calls+calls
	}
	return h
}

// change is what a call cost in the second half over what it cost in the first.
func (h *Halves) change() (ratio float64, known bool) {
	if h == nil || h.First.CPU <= 0 || h.Second.CPU <= 0 || h.First.Calls == 0 || h.Second.Calls == 0 {
		return 0, false
	}
	return float64(h.Second.CPU) / float64(h.Second.Calls) * float64(h.First.Calls) / float64(h.First.CPU), true
}

// Limits on how what a call costs the server may move within a round.
const (
	halvesAlpha = 0.01 // of the sign test over rounds
	halvesShare = 0.03 // below it nobody would look: it is within the margin of "equivalent"
)

// settled compares what a call cost the server in the second half of each round's slices with
// the first. A server that got cheaper in nearly all rounds was not warm, whatever its
// warm-up said. One that got dearer is marked: its data may grow, and then no warm-up helps.
func (s *subject) settled() {
	fell, rose, sum := 0, 0, 0.0
	readings, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		ratio, known := t.Halves.change()
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
	c := Check{
		Gate: Settled, OK: !down, Limited: up, Value: mean, Limit: -halvesShare, AtLeast: true, Rounds: readings,
		Unit:   "of server CPU per call",
		Detail: fmt.Sprintf("server CPU per call moved by %+.1f %% from the first half of the slices to the second", 100*mean),
	}
	switch {
	case down:
		c.Detail = fmt.Sprintf("no steady state: server CPU per call fell by %.0f %% from the first half of the slices to the second, %s",
			-100*mean, inRounds(fell, len(readings)))
		c.Fix = "warm up longer (warm_up in the plan): a runtime that compiles while it runs takes 30 s and more"
	case up:
		c.Detail = fmt.Sprintf("not level: server CPU per call rose by %.0f %% from the first half of the slices to the second, %s",
			100*mean, inRounds(rose, len(readings)))
		c.Fix = "look for what grows with the calls: stored data, a cache, a leak"
	}
	s.add(c)
}

// halves checks those of a trial against its whole.
func (c *consistency) halves(path string, t *Trial) {
	h := t.Halves
	if h == nil {
		return
	}
	c.notBelow(path+".halves.first.cpu", h.First.CPU)
	c.notBelow(path+".halves.second.cpu", h.Second.CPU)
	both := time.Duration(h.First.CPU) + time.Duration(h.Second.CPU)
	if t.Server == nil || both > time.Duration(t.Server.CPU) || h.First.Calls+h.Second.Calls > t.Calls() {
		c.add(path+".halves", "they are more than the whole")
	}
}
