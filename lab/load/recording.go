package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"wirelab/lab/stat"
)

// Recording is what a run measured. It crosses pipes as JSON without loss.
//
// Invariant: Sent = OK + the sum of Errors + Interrupted, and OK =
// Response.Count().
type Recording struct {
	// Response is due to end, Service is sent to end, of the calls that
	// succeeded. In the closed loop a call is due when it is sent.
	Response, Service *stat.Histogram
	// Lag is due to sent, of every call sent. Wake is the part of it that is
	// the generator's own: of the arrivals that a worker was free for when they
	// were due. What the others waited, the calls in flight made them wait.
	// Both are empty in the closed loop.
	Lag, Wake *stat.Histogram
	// Punctual is Response without what the generator was late by of its own: due to
	// end of the calls that found no room when they were due, sent to end of the others.
	// It tells what Wake does to Response. nil in the closed loop, and of lines that are not
	// [TimedLines].
	Punctual *stat.Histogram `json:",omitempty"`
	// Outside is Service without what was lost in the driver: from when all of a call was sent until the last byte of
	// its reply had come. What late calls kept others waiting for at the server is taken off too, and where nobody
	// knows it is 0: so that no call would have taken less in a driver that never waited. nil without [StampedLines].
	Outside *stat.Histogram `json:",omitempty"`
	// Failed is due to end of the calls that failed, and due to given up of
	// the arrivals never sent.
	Failed *stat.Histogram
	// Gaps is the time between sends in millionths of what the schedule put
	// there on average: their law shows whatever the rate did. Under Even all
	// are 1,000,000, under Poisson they are exponential with that mean. Empty
	// in the closed loop.
	Gaps *stat.Histogram

	// Parts are Response by parts of the window: see [Plan.Parts].
	Parts []*stat.Histogram `json:",omitempty"`

	Law      Law     // of the schedule; "" for the closed loop
	Planned  uint64  // arrivals due in the window; 0 in the closed loop
	Expected float64 // the schedule's Λ over the window: Planned on average
	Sent     uint64  // calls begun that were due in the window
	OK       uint64
	// Errors counts failures by kind, at most 64 kinds and [OtherKind].
	Errors map[string]uint64
	// Causes tells the failures of each kind apart, where the plan could.
	Causes      stat.Causes `json:",omitempty"`
	Interrupted uint64      // calls cut short because the run's ctx ended
	Unsent      uint64      // arrivals never sent: Planned = Sent + Unsent
	// Late is arrivals that found no worker free when they were due.
	Late uint64
	// CompletedInWindow is calls that succeeded at a time inside the window,
	// whenever they began.
	CompletedInWindow uint64

	Workers int
	Began   time.Time     // t0 by the wall clock, of the first run if merged
	Window  time.Duration // what was recorded, of all runs if appended
	// Drained is how long after the window the last call ended.
	Drained time.Duration
	// Spun is processor time that the clock burnt waiting, to be taken off
	// the generator's CPU time before it is called the client's cost.
	Spun time.Duration
}

// NewRecording returns an empty recording, to merge into.
func NewRecording() *Recording {
	return &Recording{
		Response: &stat.Histogram{}, Service: &stat.Histogram{},
		Lag: &stat.Histogram{}, Wake: &stat.Histogram{},
		Failed: &stat.Histogram{}, Gaps: &stat.Histogram{},
		Errors: map[string]uint64{},
	}
}

// Append adds a run that came before or after this one, as the slices of a
// round do: windows add up.
func (r *Recording) Append(next *Recording) {
	r.add(next)
	r.Window += next.Window
	r.Workers = max(r.Workers, next.Workers)
}

// Join adds a run that took place at the same time, as those of several
// generators do: workers add up and the window is the longest.
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
		if *h.into == nil { // a recording that was read need not have them all
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

// whole makes all calls begun in the window count, and the window as long as it took to
// make them, on average over the callers: see [Plan.Whole]. ran is until the last ended.
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

// Throughput is CompletedInWindow per second; 0 if there was no window.
func (r *Recording) Throughput() float64 {
	if r.Window <= 0 {
		return 0
	}
	return float64(r.CompletedInWindow) / r.Window.Seconds()
}

// Failures is how many calls failed, of all kinds; neither Interrupted nor
// Unsent are among them.
func (r *Recording) Failures() uint64 {
	sum := uint64(0)
	for _, n := range r.Errors {
		sum += n
	}
	return sum
}

// Kinds says how many calls failed of each kind, for a person: "12 deadline exceeded, 3 unavailable".
func Kinds(errors map[string]uint64) string {
	if len(errors) == 0 {
		return "not one was made"
	}
	said := make([]string, 0, len(errors))
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		said = append(said, fmt.Sprintf("%d %s", errors[kind], strings.ReplaceAll(kind, "_", " ")))
	}
	return strings.Join(said, ", ")
}

// InFlight is the mean number of calls in flight by Little's law: all time
// spent in calls over the window. In the closed loop it must come out at
// Workers, or the numbers contradict each other.
func (r *Recording) InFlight() float64 {
	if r.Window <= 0 {
		return 0
	}
	busy := r.Service.Mean()*float64(r.Service.Count()) + r.Failed.Mean()*float64(r.Failed.Count())
	return busy / float64(r.Window)
}
