package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"wirelab/lab/stat"
)

// Recording is what a run measured. It can be sent as JSON without loss.
//
// Invariants: Sent = OK + the sum of Errors + Interrupted, and OK = Response.Count().
type Recording struct {
	// Response is from due to end, and Service from sent to end, of the calls that succeeded. In the closed loop a call
	// is due when it is sent.
	Response, Service *stat.Histogram
	// Lag is from due to sent, of every call sent. Wake is the same for the arrivals that a worker was free for when
	// they were due, and so the generator's own lateness. The other arrivals had to wait for calls in flight. Both are
	// empty in the closed loop.
	Lag, Wake *stat.Histogram
	// Punctual is Response without the generator's own lateness: from due to end for calls that found no free worker
	// when they were due, and from sent to end for the others. It shows the effect of Wake on Response. It is nil in
	// the closed loop, and for lines that are not [TimedLines].
	Punctual *stat.Histogram `json:",omitempty"`
	// Outside is Service without the time lost in the driver: from when all of a call was sent until the last byte of
	// its reply had come. The time for which late calls may have delayed others at the server is subtracted too, and
	// where the time is unknown it is 0. So no call would have taken less in a driver that never waited. nil without
	// [StampedLines].
	Outside *stat.Histogram `json:",omitempty"`
	// Failed is from due to end of the calls that failed, and from due until it was given up for arrivals that were
	// never sent.
	Failed *stat.Histogram
	// Gaps is the time between sends in millionths of the schedule's average gap at that time, so that it shows the law
	// whatever the rate did. Under Even all are 1,000,000; under Poisson they are exponential with that mean. It is
	// empty in the closed loop.
	Gaps *stat.Histogram

	// Parts is Response by parts of the window: see [Plan.Parts].
	Parts []*stat.Histogram `json:",omitempty"`

	Law      Law     // of the schedule; "" for the closed loop
	Planned  uint64  // arrivals due in the window; 0 in the closed loop
	Expected float64 // the schedule's Λ over the window, which is the mean of Planned
	Sent     uint64  // calls that were due in the window and sent
	OK       uint64
	// Errors counts failures by kind, at most 64 kinds and [OtherKind].
	Errors map[string]uint64
	// Causes divides the failures of each kind by cause, if the plan has Cause.
	Causes      stat.Causes `json:",omitempty"`
	Interrupted uint64      // calls cut short because the run's ctx ended
	Unsent      uint64      // arrivals never sent: Planned = Sent + Unsent
	// Late is how many arrivals found no worker free when they were due.
	Late uint64
	// CompletedInWindow is how many calls succeeded at a time inside the window, whenever they began.
	CompletedInWindow uint64

	Workers int
	Began   time.Time     // t0 by the wall clock, of the first run if merged
	Window  time.Duration // the recorded time, of all runs if appended
	// Drained is how long after the window the last call ended.
	Drained time.Duration
	// Spun is the CPU time that the clock used up waiting. Subtract it from the generator's CPU time to get the
	// client's cost.
	Spun time.Duration
}

// NewRecording returns an empty recording to merge others into.
func NewRecording() *Recording {
	return &Recording{
		Response: &stat.Histogram{}, Service: &stat.Histogram{},
		Lag: &stat.Histogram{}, Wake: &stat.Histogram{},
		Failed: &stat.Histogram{}, Gaps: &stat.Histogram{},
		Errors: map[string]uint64{},
	}
}

// Append adds a run that came before or after this one, such as another slice of a round: windows add up.
func (r *Recording) Append(next *Recording) {
	r.add(next)
	r.Window += next.Window
	r.Workers = max(r.Workers, next.Workers)
}

// Join adds a run that took place at the same time, such as that of another generator: workers add up and the window is
// the longest.
func (r *Recording) Join(beside *Recording) {
	r.add(beside)
	r.Window = max(r.Window, beside.Window)
	r.Workers += beside.Workers
}

func (r *Recording) add(other *Recording) {
	for _, h := range [...]struct {
		into **stat.Histogram
		from *stat.Histogram
	}{
		{&r.Response, other.Response},
		{&r.Service, other.Service},
		{&r.Lag, other.Lag},
		{&r.Wake, other.Wake},
		{&r.Failed, other.Failed},
		{&r.Gaps, other.Gaps},
	} {
		if *h.into == nil { // a recording that was decoded may lack some
			*h.into = &stat.Histogram{}
		}
		(*h.into).Merge(h.from)
	}
	for _, h := range [...]struct {
		into **stat.Histogram
		from *stat.Histogram
	}{{&r.Punctual, other.Punctual}, {&r.Outside, other.Outside}} {
		if h.from == nil {
			continue
		}
		if *h.into == nil {
			*h.into = &stat.Histogram{}
		}
		(*h.into).Merge(h.from)
	}
	for i, h := range other.Parts {
		if i == len(r.Parts) {
			r.Parts = append(r.Parts, &stat.Histogram{})
		}
		r.Parts[i].Merge(h)
	}
	if r.Law == "" {
		r.Law = other.Law
	}
	r.Planned += other.Planned
	r.Expected += other.Expected
	r.Sent += other.Sent
	r.OK += other.OK
	if r.Errors == nil {
		r.Errors = map[string]uint64{}
	}
	for kind, n := range other.Errors {
		r.Errors[kind] += n
	}
	r.Causes = r.Causes.Add(other.Causes...)
	r.Interrupted += other.Interrupted
	r.Unsent += other.Unsent
	r.Late += other.Late
	r.CompletedInWindow += other.CompletedInWindow
	if r.Began.IsZero() || !other.Began.IsZero() && other.Began.Before(r.Began) {
		r.Began = other.Began
	}
	r.Drained = max(r.Drained, other.Drained)
	r.Spun += other.Spun
}

// whole makes all calls count that began in the window, and sets the window to the time that making them took, averaged
// over the callers: see [Plan.Whole]. ran is the time until the last call ended.
func (r *Recording) whole(ran time.Duration) {
	if r.OK == 0 {
		return
	}
	busy := r.Service.Mean()*float64(r.Service.Count()) + r.Failed.Mean()*float64(r.Failed.Count())
	r.Window = time.Duration(busy / float64(r.Workers))
	r.CompletedInWindow = r.OK
	r.Drained = max(0, ran-r.Window)
}

// Clone returns an independent copy.
func (r *Recording) Clone() *Recording {
	c := NewRecording()
	c.Append(r)
	c.Errors = maps.Clone(c.Errors)
	return c
}

// Throughput returns CompletedInWindow per second; 0 if there was no window.
func (r *Recording) Throughput() float64 {
	if r.Window <= 0 {
		return 0
	}
	return float64(r.CompletedInWindow) / r.Window.Seconds()
}

// Failures returns how many calls failed, of all kinds. Interrupted and Unsent are not included.
func (r *Recording) Failures() uint64 {
	sum := uint64(0)
	for _, n := range r.Errors {
		sum += n
	}
	return sum
}

// Kinds formats how many calls failed of each kind: "12 deadline exceeded, 3 unavailable".
func Kinds(errors map[string]uint64) string {
	if len(errors) == 0 {
		return "no call was made"
	}
	said := make([]string, 0, len(errors))
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		said = append(said, fmt.Sprintf("%d %s", errors[kind], strings.ReplaceAll(kind, "_", " ")))
	}
	return strings.Join(said, ", ")
}

// InFlight returns the mean number of calls in flight by Little's law: the time spent in all calls, divided by the
// window. In the closed loop it must equal Workers; otherwise the numbers contradict each other.
func (r *Recording) InFlight() float64 {
	if r.Window <= 0 {
		return 0
	}
	busy := r.Service.Mean()*float64(r.Service.Count()) + r.Failed.Mean()*float64(r.Failed.Count())
	return busy / float64(r.Window)
}
