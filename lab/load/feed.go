package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wirelab/lab/stat"
)

// Stamp is what an event of a feed carries: its index in the stream, from 1, and when it was due and sent by the wall
// clock, in ns since 1970.
type Stamp struct {
	Sequence  uint64
	Due, Sent int64
}

// Feed opens a stream and calls each for every decoded event, with an error if its content is wrong. It returns nil
// after each returned false or the stream ended. Otherwise it returns why the stream broke. It returns soon after ctx
// is done.
type Feed func(ctx context.Context, each func(Stamp, error) bool) error

// FeedPlan says how to read feeds.
//
// All streams are opened first. t0 is when each of them has delivered its first event, so that no stream joins the
// window late. The window is [Head, Duration) from t0. An event belongs to the window if it is due in it by the
// absolute schedule that the first event and Rate define: event k of a stream is due (k-1)/Rate after event 1, whatever
// the due times in later stamps. So a source that lets its schedule slip is charged for it, and a source that leaves
// out events is found out by their number.
//
// A reader that reads as fast as it can continues after the window until it has each event of the window, but at most
// until Drain has passed, or [graceEvents] later events have come. A paced reader stops pacing at the end of the window
// and reads the events that had been sent by then, to count them.
type FeedPlan struct {
	// Rate is the events per second of each stream, >= 1.
	Rate int64
	// Duration, Head and Drain are like those of [Plan]; Drain 0 is [DefaultDrain].
	Duration, Head, Drain time.Duration
	// Opening limits how long it may take until all streams have delivered their first event; 0 is [DefaultDrain].
	Opening time.Duration
	// Share is the part of Rate at which a reader reads, on an absolute schedule; 0: as fast as it can.
	Share float64
	// Wrong is the kind, in Errors, of an event whose content is wrong; "" is "wrong". Classify returns the kind of the
	// error with which a stream broke; nil is [Classify].
	Wrong    string
	Classify func(error) string
	// Cause and Tell are like those of [Plan].
	Cause, Tell func(error) string
	// Clock is the clock to use; nil is [TimerClock], whose timers are exact enough to pace readers, since readers
	// catch up.
	Clock WallClock
	// Around is like that of [Plan].
	Around func(run func())
}

// WallClock is a clock that also knows wall time.
type WallClock interface {
	Clock
	// Offset is the wall time, in ns since 1970, minus Now. It is constant unless the wall clock is stepped.
	Offset() int64
}

// Offset implements [WallClock].
func (TimerClock) Offset() int64 {
	now := time.Now()
	return now.UnixNano() - int64(now.Sub(epoch))
}

// Missing is the kind, in a recording's Errors, of events that were due in the window and never came.
const Missing = "missing"

// ErrClockStepped is wrapped by the error of a run during which the wall clock was set: the times of two processes can
// then not be compared.
var ErrClockStepped = errors.New("clock stepped")

// ErrFeedEnded is wrapped by the error of a run whose streams ended by themselves.
var ErrFeedEnded = errors.New("a stream ended before its slice was over")

const (
	// graceEvents is how many events after the window's last a reader waits for a missing one: reordered events come
	// within a few.
	graceEvents = 64
	// stepLimit is how far the wall clock may move against the monotonic clock.
	stepLimit = 100 * time.Microsecond
	// slipLimit is how far the due time in an event may be from that of its schedule.
	slipLimit = int64(time.Microsecond)
	// feedsLimit is the most streams of a runner: each keeps some hundred kilobytes of histograms.
	feedsLimit = 1024
)

// FeedRecording is what a run of feeds measured. In its Recording a call is an event: Response is from due to decoded,
// Service from sent to decoded, Lag from due to sent. Planned = Sent = OK + Errors, except for paced readers, which do
// not read all events. Events that were dropped before a paced reader are not errors.
type FeedRecording struct {
	*Recording
	Streams Streams
}

// Streams is the result of feeds besides times. All counts are of events due in the window, unless their comment says
// otherwise.
type Streams struct {
	// Jitter is |D(i-1,i)| of RFC 3550, section 6.4.1, for each two consecutive events, in ns: by how much longer or
	// shorter after its due time the second was decoded than the first.
	Jitter *stat.Histogram
	// Missing events never came. Duplicated events came again. Reordered events came after a later one. Stray events
	// were wrong and had no place in the window: they do not count as events. Slipped events had a due time that
	// differs from the schedule's.
	Missing, Duplicated, Reordered, Stray, Slipped uint64
	// Due, Sent, Decoded and Dropped are for paced readers, and count events since their streams began: those due, sent
	// and decoded by the end of the window, and those sent by then but never read.
	Due, Sent, Decoded, Dropped uint64
	// Read counts all decoded events, those before and after the window too.
	Read uint64
	// Opening is how long it took until each stream had delivered its first event.
	Opening time.Duration
	Readers []Reader
}

// Reader is the part of one stream.
type Reader struct {
	Planned, Right, Wrong, Completed uint64
	Missing, Duplicated, Reordered   uint64
	Due, Sent, Decoded, Dropped      uint64 // of paced readers
	// Delivery is from due to decoded. Jitter is like that of [Streams].
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

// offsets returns several readings of the difference between the two clocks. A single reading is wrong by up to the
// time between its two clock readings.
func offsets(c WallClock) [5]int64 {
	var all [5]int64
	for i := range all {
		all[i] = c.Offset()
	}
	return all
}

// stepped returns by how much the wall clock has moved at least between two sets of readings.
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
