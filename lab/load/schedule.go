package load

import (
	"fmt"
	"math"
	"time"
)

// Law is how arrivals are spread around their rate.
type Law string

// The laws.
const (
	// Even arrivals are one unit of the rate apart: at a constant rate, all gaps are equal.
	Even Law = "even"
	// Poisson arrivals are independent of each other, like those of many users.
	Poisson Law = "poisson"
	// LogNormal arrivals come in bursts: gaps are log-normal, see [Schedule.Spread].
	LogNormal Law = "log-normal"
	// Recorded arrivals have the gaps of a recording, in its order, and start over after the last: see [Schedule.Gaps].
	Recorded Law = "recorded"
	// Sampled arrivals have gaps drawn from a recording, each independently.
	Sampled Law = "sampled"
)

// Laws returns every law.
func Laws() []Law { return []Law{Even, Poisson, LogNormal, Recorded, Sampled} }

// Stage is a part of a schedule whose rate changes linearly.
type Stage struct {
	Duration time.Duration // > 0; 0 in the last stage: without end (From == To)
	From, To float64       // arrivals per second, 0 to RateLimit
}

// RateLimit is the highest rate, in arrivals per second.
const RateLimit = 1e8

// Schedule is an arrival process. It is absolute: arrival k is due when the integral of the rate from the start, Λ(t),
// reaches the k-th term of the law. That is k for Even, the sum of the first k gaps for Recorded (so in both the first
// is due at once), and the sum of k+1 drawn gaps for the others, with all gaps in units of their mean. Nothing arrives
// after its last stage. It is a plain value and can be sent as JSON.
//
// So a recording is one process however many workers there are, and a higher rate makes its bursts shorter. If each
// worker waited for its own gaps, it would replay something else (docs/origins.md grb-M07).
type Schedule struct {
	Law    Law // "" is Even
	Stages []Stage
	Seed   uint64 // of the laws that draw: the same seed gives the same arrivals
	// Spread is the coefficient of variation of log-normal gaps: standard deviation divided by mean, above 0 and up to
	// [SpreadLimit]. 1 is that of Poisson.
	Spread float64 `json:",omitempty"`
	// Gaps is the recording of Recorded and Sampled: times between arrivals, 1 to [GapsLimit] of them, each 0 or more,
	// and not all 0. Only their proportions count: Stages set the rate.
	Gaps []time.Duration `json:",omitempty"`
	// Share is the part of the arrivals that this generator sends; the zero value: all of them.
	Share Share `json:",omitzero"`
}

// Share is every Of-th arrival of a schedule, from the one with this index on. Generators that have the shares
// 0 to Of-1 of one schedule send exactly its arrivals together, whatever its law: a log-normal stream that was cut into
// slower log-normal streams would be another one.
type Share struct {
	Index, Of int // 0 <= Index < Of <= ShareLimit; Of 0 is all
}

// parts is into how many shares the schedule is cut.
func (s Share) parts() int { return max(1, s.Of) }

// The bounds of a schedule's law.
const (
	SpreadLimit = 20
	GapsLimit   = 100_000
	ShareLimit  = 10_000
)

// ConstantRate returns a schedule of equal gaps, rate per second, without end.
func ConstantRate(rate float64) *Schedule {
	return &Schedule{Law: Even, Stages: []Stage{{From: rate, To: rate}}}
}

// PoissonRate returns a Poisson schedule, rate per second on average, without end.
func PoissonRate(rate float64, seed uint64) *Schedule {
	return &Schedule{Law: Poisson, Stages: []Stage{{From: rate, To: rate}}, Seed: seed}
}

// Validate reports what is wrong with the schedule; the error wraps [ErrPlan].
func (s *Schedule) Validate() error {
	if err := s.validateLaw(); err != nil {
		return err
	}
	if of := s.Share.Of; of < 0 || of > ShareLimit || s.Share.Index < 0 || s.Share.Index >= s.Share.parts() {
		return fmt.Errorf("%w: share %d of %d", ErrPlan, s.Share.Index, of)
	}
	if len(s.Stages) == 0 {
		return fmt.Errorf("%w: a schedule needs a stage", ErrPlan)
	}
	for i, stage := range s.Stages {
		for _, rate := range [...]float64{stage.From, stage.To} {
			if !(rate >= 0 && rate <= RateLimit) {
				return fmt.Errorf("%w: stage %d: rate %v is not within 0 and %v", ErrPlan, i, rate, RateLimit)
			}
		}
		endless := stage.Duration == 0 && i == len(s.Stages)-1
		switch {
		case stage.Duration < 0 || stage.Duration > DurationLimit || stage.Duration == 0 && !endless:
			return fmt.Errorf("%w: stage %d: duration %v", ErrPlan, i, stage.Duration)
		case endless && stage.From != stage.To:
			return fmt.Errorf("%w: stage %d: a ramp needs a duration", ErrPlan, i)
		}
	}
	return nil
}

// Expected returns how many arrivals of the schedule's share are due before t on average.
func (s *Schedule) Expected(t time.Duration) float64 { return s.level(t) / float64(s.Share.parts()) }

// level is Λ(t), the rate's integral over the whole schedule.
func (s *Schedule) level(t time.Duration) float64 {
	sum := 0.0
	for _, stage := range s.Stages {
		if stage.Duration == 0 || t <= stage.Duration {
			return sum + stage.mass(max(t, 0).Seconds())
		}
		sum += stage.mass(stage.Duration.Seconds())
		t -= stage.Duration
	}
	return sum
}

// mass returns the integral of the rate over the stage's first t seconds.
func (s Stage) mass(t float64) float64 {
	if s.From == s.To {
		return s.From * t
	}
	return s.From*t + (s.To-s.From)*t*t/(2*s.Duration.Seconds())
}

// reach is the inverse of mass: it returns the time, in seconds, at which the integral is x. The textbook root of the
// quadratic loses precision for a gentle ramp; this form does not.
func (s Stage) reach(x float64) float64 {
	switch {
	case x == 0:
		return 0
	case s.From == s.To:
		return x / s.From
	}
	slope := (s.To - s.From) / s.Duration.Seconds()
	return 2 * x / (s.From + math.Sqrt(max(0, s.From*s.From+2*slope*x)))
}

// arrivals iterates over a schedule.
type arrivals struct {
	schedule *Schedule
	gap      func() float64 // the next gap, in units of the mean
	index    float64        // of the next arrival: the sum of gaps before it
	stage    int
	before   float64       // Λ at the stage's start
	began    time.Duration // the stage's start
	number   int           // of the next arrival, from 0
	last     float64       // index of the share's last arrival
	skipped  float64       // from that one to the arrival before this one, which another generator sends; else 0
}

func newArrivals(s *Schedule) *arrivals {
	a := &arrivals{schedule: s, gap: s.gaps()}
	if s.Law != "" && s.Law != Even && s.Law != Recorded {
		a.index = a.gap()
	}
	return a
}

// next returns when the share's next arrival is due, from the schedule's start; ok is false after the last.
func (a *arrivals) next() (due time.Duration, ok bool) {
	before := a.last // the arrival before the one that is taken, of any share
	for {
		index := a.index
		due, ok = a.take()
		mine := a.number%a.schedule.Share.parts() == a.schedule.Share.Index
		a.number++
		if mine || !ok {
			a.skipped, a.last = before-a.last, index
			return due, ok
		}
		before = index
	}
}

// take returns when the next arrival of all is due.
func (a *arrivals) take() (due time.Duration, ok bool) {
	for ; a.stage < len(a.schedule.Stages); a.stage++ {
		stage := a.schedule.Stages[a.stage]
		whole := math.Inf(1)
		if stage.Duration != 0 {
			whole = stage.mass(stage.Duration.Seconds())
		}
		if x := a.index - a.before; x < whole && (stage.From > 0 || stage.To > 0) {
			a.index += a.gap()
			return a.began + time.Duration(math.Round(stage.reach(x)*1e9)), true
		}
		a.before += whole
		a.began += stage.Duration
	}
	return 0, false
}
