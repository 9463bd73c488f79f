package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wirelab/lab/stat"
)

// Stamp is what an event of a feed says of itself: its place in the stream,
// from 1, and when it was due and sent by the wall clock, in ns since 1970.
type Stamp struct {
	Sequence  uint64
	Due, Sent int64
}

// Feed opens a stream and gives each event when it has been decoded, with an
// error where its content is wrong. It returns nil when each returned false or
// the stream ended, else why it broke, and soon after ctx ends.
type Feed func(ctx context.Context, each func(Stamp, error) bool) error

// FeedPlan says how feeds are read.
//
// All streams are opened first. t0 is when each has given its first event, so
// that no stream comes late into the window, [Head, Duration) from t0. An
// event belongs to the window if it is due in it by the absolute schedule that
// the first event and Rate set: event k of a stream is due (k-1)/Rate after
// event 1, whatever the others say of themselves. So a source that lets its
// schedule slip is charged for it, and one that leaves events out is found
// out by their count.
//
// A reader that reads as fast as it can goes on after the window until each
// event of it has come, at most until Drain has passed, or [graceEvents] after
// them have. One that is paced stops pacing at the window's end and reads what
// had been sent by then, to count it.
type FeedPlan struct {
	// Rate is the events per second of each stream, >= 1.
	Rate int64
	// Duration, Head and Drain are as those of [Plan]; Drain 0 is [DefaultDrain].
	Duration, Head, Drain time.Duration
	// Opening is how long all streams together may take until each has given
	// its first event; 0 is [DefaultDrain].
	Opening time.Duration
	// Share is the part of Rate at which a reader reads, on an absolute
	// schedule of its own; 0: as fast as it can.
	Share float64
	// Wrong is the kind, in Errors, of an event whose content is wrong; ""
	// is "wrong". Classify names the errors that streams break with; nil is [Classify].
	Wrong    string
	Classify func(error) string
	// Cause and Tell are as in [Plan].
	Cause, Tell func(error) string
	// Clock is the time; nil is [TimerClock], whose timers pace readers well
	// enough, since they catch up.
	Clock WallClock
	// Around is as that of [Plan].
	Around func(run func())
}

// WallClock is a clock that knows the wall clock too.
type WallClock interface {
	Clock
	// Offset is the wall clock's time, in ns since 1970, less Now: the same at
	// all times, unless the wall clock is stepped.
	Offset() int64
}

// Offset implements [WallClock].
func (TimerClock) Offset() int64 {
	now := time.Now()
	return now.UnixNano() - int64(now.Sub(epoch))
}

// Missing is the kind, in a recording's Errors, of events that were due in the
// window and never came.
const Missing = "missing"

// ErrClockStepped is wrapped by the error of a run in which the wall clock was
// set: times of two processes then do not fit together.
var ErrClockStepped = errors.New("clock stepped")

// ErrFeedEnded is wrapped by the error of a run whose streams ended by themselves.
var ErrFeedEnded = errors.New("a stream ended before its slice was over")

const (
	// graceEvents is how many events after the window's last a reader waits
	// for one of the window: those that a wire turned round come within a few.
	graceEvents = 64
	// stepLimit is how far the wall clock may move against the monotonic one.
	stepLimit = 100 * time.Microsecond
	// slipLimit is how far an event's own due time may be from its schedule's.
	slipLimit = int64(time.Microsecond)
	// feedsLimit is the most streams that a runner holds: each keeps some
	// hundred kilobytes of histograms.
	feedsLimit = 1024
)

// FeedRecording is what a run of feeds measured. In its Recording a call is an
// event: Response is due to decoded, Service sent to decoded, Lag due to sent;
// Planned = Sent = OK + Errors but for paced readers, who do not read all, and
// whose events that were dropped are no errors.
type FeedRecording struct {
	*Recording
	Streams Streams
}

// Streams is what is to be said of feeds beside times. All counts are of
// events due in the window.
type Streams struct {
	// Jitter is |D(i-1,i)| of RFC 3550, section 6.4.1, of each two events that
	// followed each other: how much longer or shorter after it was due the
	// second was decoded than the first. In ns.
	Jitter *stat.Histogram
	// Missing never came. Duplicated came again. Reordered came after one
	// that they should have come before. Stray were wrong and of no place in
	// the window: they count as no event. Slipped said themselves that they
	// were due at another time than the schedule has it.
	Missing, Duplicated, Reordered, Stray, Slipped uint64
	// Due, Sent, Decoded and Dropped are, of paced readers, events since their
	// streams began: due, sent and decoded by the window's end, and of those
	// sent by then, never read.
	Due, Sent, Decoded, Dropped uint64
	// Read is all events decoded, those before and after the window too.
	Read uint64
	// Opening is how long it took until each stream had given its first event.
	Opening time.Duration
	Readers []Reader
}

// Reader is one stream's part of them.
type Reader struct {
	Planned, Right, Wrong, Completed uint64
	Missing, Duplicated, Reordered   uint64
	Due, Sent, Decoded, Dropped      uint64 // of paced readers
	// Delivery is due to decoded, Jitter as that of [Streams].
	Delivery, Jitter *stat.Histogram
}

// normal returns the plan with its defaults, or why it cannot be run.
func (p FeedPlan) normal(feeds int) (FeedPlan, error) {
	switch {
	case feeds == 0 || feeds > feedsLimit:
		return p, fmt.Errorf("%w: %d feeds, want 1 to %d", ErrPlan, feeds, feedsLimit)
	case p.Rate < 1 || float64(p.Rate) > RateLimit:
		return p, fmt.Errorf("%w: %d events per second of each stream, want 1 to %.0f", ErrPlan, p.Rate, RateLimit)
	case p.Duration <= 0 || p.Duration > DurationLimit:
		return p, fmt.Errorf("%w: duration %v is not within 1ns and %v", ErrPlan, p.Duration, DurationLimit)
	case p.Head < 0 || p.Head >= p.Duration:
		return p, fmt.Errorf("%w: head %v leaves nothing of %v", ErrPlan, p.Head, p.Duration)
	case p.Drain < 0 || p.Opening < 0:
		return p, fmt.Errorf("%w: drain %v or opening %v is negative", ErrPlan, p.Drain, p.Opening)
	case !(p.Share >= 0 && p.Share <= 1):
		return p, fmt.Errorf("%w: a reader's share of %v is not within 0 and 1", ErrPlan, p.Share)
	}
	if p.Drain == 0 {
		p.Drain = DefaultDrain
	}
	if p.Opening == 0 {
		p.Opening = DefaultDrain
	}
	if p.Wrong == "" {
		p.Wrong = "wrong"
	}
	if p.Tell == nil {
		p.Tell = error.Error
	}
	if p.Classify == nil {
		p.Classify = Classify
	}
	if p.Clock == nil {
		p.Clock = TimerClock{}
	}
	return p, nil
}

// offsets are several readings of how far apart the two clocks are. A single
// one is wrong by as much as lies between its two looks at a clock.
func offsets(c WallClock) [5]int64 {
	var all [5]int64
	for i := range all {
		all[i] = c.Offset()
	}
	return all
}

// stepped is how far the wall clock has moved at least between two readings.
func stepped(before, after [5]int64) time.Duration {
	least := after[0] - before[0]
	for _, b := range before {
		for _, a := range after {
			if max(a-b, b-a) < max(least, -least) {
				least = a - b
			}
		}
	}
	return time.Duration(least)
}
