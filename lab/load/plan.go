package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Call makes one call and checks its reply. It must return soon after ctx is done; [Run] waits for it. Two goroutines
// never call it at the same time, so that it may keep buffers.
type Call func(ctx context.Context) error

// ErrPlan is wrapped by every error about a plan that cannot be run.
var ErrPlan = errors.New("load: plan")

// Plan describes a run.
type Plan struct {
	// Callers make the calls, one worker each: at most that many calls are in flight. It must be empty for a [Runner],
	// which has its own.
	Callers []Call
	// Workers limits the run to the first Workers callers. 0 means all.
	Workers int
	// Schedule is when calls are due. nil is the closed loop.
	Schedule *Schedule
	// Duration is the whole run, > 0, at most [DurationLimit].
	Duration time.Duration
	// Head is the leading part of Duration that is not recorded, >= 0 and < Duration.
	Head time.Duration
	// Deadline is the deadline of each call, from when it is sent: at least this long and at most an eighth longer (see
	// worker.context). 0: none.
	Deadline time.Duration
	// Drain is how long after Duration the run waits for calls and sends late arrivals. 0 means twice Deadline, so that
	// no call is cut off before its own deadline, or [DefaultDrain] if that is 0 too.
	Drain time.Duration
	// Classify returns the kind of a failed call's error. nil means [Classify].
	Classify func(error) string
	// Cause returns the cause of a failed call's error, which is more specific than its kind. Tell formats an error for
	// people; it is called for the first error of each cause. nil Cause: causes are not recorded.
	Cause, Tell func(error) string
	// Clock is the clock of the run. nil means [SystemClock].
	Clock Clock
	// Own says that the run has a CPU to itself, which lines may then keep busy while they wait. Without it they would
	// take the CPU from the server.
	Own bool
	// Parts divides the window of an open loop into equal parts whose response times are also recorded separately, by
	// when a call was due, for batch means. 0: none; at most [PartsLimit].
	Parts int
	// Whole, in a closed loop without Head, makes all calls count that began in Duration, and extends the window to
	// their end. If calls take long, hardly any ends within Duration, and those that do say nothing about the
	// throughput.
	Whole bool
	// Watch, if set, is called for each call after it has ended, by the goroutine that made it and before that makes
	// its next call. A caller can use it to find out later what became of the call elsewhere.
	Watch func(Ended)
	// Around, if set, is called instead of the run and must call run once. It can read counters before and after,
	// without the time for merging histograms.
	Around func(run func())
}

// Ended is a call that has ended, for [Plan.Watch]. Times are Unix nanoseconds, by the monotonic clock since the run
// began.
type Ended struct {
	Caller         int // index of the caller, or of the slot of lines
	Due, Sent, End int64
	Recorded       bool // it was due in the window
	Err            error
}

const (
	// DefaultDrain is how long a run waits for calls without a deadline.
	DefaultDrain = 10 * time.Second
	// DurationLimit is the longest run.
	DurationLimit = 24 * time.Hour
	// PartsLimit is the most parts of a window.
	PartsLimit = 100
)

// Kinds of failure that the engine itself assigns.
const (
	// Unfinished is a call that was still running when the drain was over.
	Unfinished = "unfinished"
	// OtherKind counts the failures of the 65th kind and beyond.
	OtherKind = "other"
	kindLimit = 64
)

// Classify is the default classification: "deadline exceeded", "canceled" or "error".
func Classify(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "error"
}

// normal returns the plan with its defaults, or why it cannot be run with this many callers.
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
