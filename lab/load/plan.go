package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Call performs one call and checks its reply. It must return soon after ctx
// ends; [Run] waits for it. It is never called by two goroutines at once, and
// so may keep buffers.
type Call func(ctx context.Context) error

// ErrPlan is wrapped by every error about a plan that cannot be run.
var ErrPlan = errors.New("load: plan")

// Plan says what to run.
type Plan struct {
	// Callers perform the calls, one worker each: at most that many calls are
	// in flight. A [Runner] has its own, and takes none here.
	Callers []Call
	// Workers uses only the first so many callers. 0 means all.
	Workers int
	// Schedule is when calls are due. nil is the closed loop.
	Schedule *Schedule
	// Duration is the whole run, > 0, at most [DurationLimit].
	Duration time.Duration
	// Head is the leading part of Duration that is not recorded, >= 0 and < Duration.
	Head time.Duration
	// Deadline is what each call gets, from when it is sent: at least this
	// long and at most an eighth longer (see worker.context). 0: none.
	Deadline time.Duration
	// Drain is how long after Duration calls are waited for and late arrivals
	// sent. 0 means twice Deadline, so that no call is cut off before its own
	// deadline, or [DefaultDrain] if that is 0 too.
	Drain time.Duration
	// Classify names the kind of a failed call's error. nil means [Classify].
	Classify func(error) string
	// Cause names what a failed call's error came from, more closely than its kind, and
	// Tell says it for people; it is asked of the first error of each cause. nil: causes
	// are not recorded.
	Cause, Tell func(error) string
	// Clock is the time. nil means [SystemClock].
	Clock Clock
	// Own says that the run has a processor of its own, which lines may then
	// keep busy while they wait. Without it they would take it from the server.
	Own bool
	// Parts, of an open loop, cuts the window into so many equal parts whose
	// response times are also kept apart, by when a call was due: what means
	// of batches are made of. 0: none; at most [PartsLimit].
	Parts int
	// Whole, of a closed loop without Head, has all calls that were begun in Duration
	// count, and the window end with them: with calls that take long, hardly any ends
	// within Duration, and what did would say nothing of the throughput.
	Whole bool
	// Watch, if set, is told of each call once it has ended, by the goroutine
	// that made it and before it makes its next: who wants to know what became
	// of a call elsewhere keeps it by what it asked for.
	Watch func(Ended)
	// Around, if set, is called in place of the run and must call it once: it
	// can read counters at both ends, with the merging of histograms outside.
	Around func(run func())
}

// Ended is a call that has ended, for [Plan.Watch]. Times are Unix nanoseconds,
// by the monotonic clock since the run began.
type Ended struct {
	Caller         int // whose call it was, or in which slot of lines
	Due, Sent, End int64
	Recorded       bool // it was due in the window
	Err            error
}

const (
	// DefaultDrain is how long calls without a deadline are waited for.
	DefaultDrain = 10 * time.Second
	// DurationLimit is the longest run.
	DurationLimit = 24 * time.Hour
	// PartsLimit is the most parts of a window.
	PartsLimit = 100
)

// Kinds of failure that the engine itself names.
const (
	// Unfinished is a call that was still running when the drain was over.
	Unfinished = "unfinished"
	// OtherKind takes the failures of the 65th kind and beyond.
	OtherKind = "other"
	kindLimit = 64
)

// Classify is the classification of a plan that brings none: "deadline
// exceeded", "canceled" or "error".
func Classify(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "error"
}

// normal returns the plan with its defaults, or why it cannot be run with so many callers.
func (p Plan) normal(callers int) (Plan, error) {
	if p.Workers == 0 {
		p.Workers = callers
	}
	switch {
	case callers == 0:
		return p, fmt.Errorf("%w: no callers", ErrPlan)
	case p.Workers < 0 || p.Workers > callers:
		return p, fmt.Errorf("%w: %d workers with %d callers", ErrPlan, p.Workers, callers)
	case p.Duration <= 0 || p.Duration > DurationLimit:
		return p, fmt.Errorf("%w: duration %v is not within 1ns and %v", ErrPlan, p.Duration, DurationLimit)
	case p.Head < 0 || p.Head >= p.Duration:
		return p, fmt.Errorf("%w: head %v leaves nothing of %v", ErrPlan, p.Head, p.Duration)
	case p.Deadline < 0 || p.Drain < 0:
		return p, fmt.Errorf("%w: deadline %v or drain %v is negative", ErrPlan, p.Deadline, p.Drain)
	}
	if p.Parts < 0 || p.Parts > PartsLimit || p.Parts > 0 && p.Schedule == nil {
		return p, fmt.Errorf("%w: %d parts; an open loop may have 0 to %d, a closed one none", ErrPlan, p.Parts,
			PartsLimit)
	}
	if p.Whole && (p.Schedule != nil || p.Head > 0) {
		return p, fmt.Errorf("%w: whole calls are of a closed loop without head", ErrPlan)
	}
	if p.Schedule != nil {
		if err := p.Schedule.Validate(); err != nil {
			return p, err
		}
	}
	if p.Drain == 0 {
		p.Drain = 2 * p.Deadline
	}
	if p.Drain == 0 {
		p.Drain = DefaultDrain
	}
	if p.Tell == nil {
		p.Tell = error.Error
	}
	if p.Classify == nil {
		p.Classify = Classify
	}
	if p.Clock == nil {
		p.Clock = SystemClock{}
	}
	return p, nil
}
