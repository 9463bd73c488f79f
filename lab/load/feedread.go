package load

import (
	"context"
	"errors"

	"wirelab/lab/stat"
)

// seenEvents is how far behind the highest number an event may come and still be distinguished from a duplicate. It is
// a power of two.
const seenEvents = 1 << 12

// reader reads one stream at a time. It shares nothing while it reads.
type reader struct {
	response, service, lag, jitter *stat.Histogram

	seen  [seenEvents / 64]uint64 // a bitmap of the last seenEvents numbers up to high
	high  uint64                  // the highest number so far
	got   uint64                  // events
	first int64                   // when event 1 was due; set once opened
	// The first and last event of the window; 0 until it is known that the window began.
	from, to uint64

	right, wrong, completed, duplicated, reordered, stray, slipped uint64
	// events of the window that came, right or wrong
	came          uint64
	sent, decoded uint64 // of a paced reader: see [Streams]
	// events that came and had been sent by the window's end
	onTime    uint64
	turns     int64 // number of paced reads
	due, at   int64 // of the previous event, for jitter
	last      int64 // when the last event was decoded
	opened    bool
	following bool // due and at are those of an event of the window

	stopped bool // it asked for no more events
	short   bool // the stream ended too early
	cutOff  bool // it was cut off, because the drain was over
	err     error
}

func newReader() *reader {
	return &reader{
		response: &stat.Histogram{}, service: &stat.Histogram{}, lag: &stat.Histogram{},
		jitter: &stat.Histogram{},
	}
}

func (r *reader) reset() {
	r.response.Reset()
	r.service.Reset()
	r.lag.Reset()
	r.jitter.Reset()
	*r = reader{response: r.response, service: r.service, lag: r.lag, jitter: r.jitter}
}

// read reads a stream until its part of the slice is over.
func (r *reader) read(ctx context.Context, s *feedSlice, feed Feed) {
	var broken error
	r.err = feed(ctx, func(stamp Stamp, wrong error) bool {
		now := s.now()
		r.got++
		r.last = now
		if !r.opened {
			if broken = wrong; broken != nil {
				return false // its stamp cannot be trusted either
			}
			r.opened = true
			r.first = stamp.Due - r.after(s, stamp.Sequence)
			s.opened <- struct{}{}
		}
		more := r.event(s, stamp, now, wrong)
		if more && s.plan.Share > 0 {
			r.pace(ctx, s)
		}
		r.stopped = !more
		return more
	})
	r.err = errors.Join(broken, r.err)
	r.cutOff = errors.Is(context.Cause(ctx), errDrained)
	switch {
	case r.err != nil || r.stopped || r.whole(s) || s.plan.Share > 0 && r.begun(s) && s.now() >= s.end:
	case ctx.Err() != nil:
		r.err = context.Cause(ctx) // the feed ended because of ctx, and returned nil
	default:
		r.short = true
		if r.opened && s.start.Load() != 0 {
			s.cut(errAbandoned)
		}
	}
}

// after returns how long after event 1 event n is due.
func (r *reader) after(s *feedSlice, n uint64) int64 {
	return int64(float64(int64(n)-1) / float64(s.plan.Rate) * 1e9)
}

// begun determines which events belong to the window, and reports whether the window has begun.
func (r *reader) begun(s *feedSlice) bool {
	if r.from > 0 {
		return true
	}
	if s.start.Load() == 0 {
		return false
	}
	// Event n is due before t if after(n) < t - first.
	before := func(t int64) uint64 {
		n := uint64(max(0, float64(t-r.first)/1e9*float64(s.plan.Rate)))
		for n > 0 && r.after(s, n) >= t-r.first {
			n--
		}
		for r.after(s, n+1) < t-r.first {
			n++
		}
		return n
	}
	r.from, r.to = before(s.begin)+1, before(s.end)
	return true
}

// inside reports whether an event belongs to the window.
func (r *reader) inside(n uint64) bool { return n >= r.from && n <= r.to }

// whole reports whether each event of the window came.
func (r *reader) whole(s *feedSlice) bool { return r.begun(s) && r.came > r.to-r.from }

// event records an event and returns whether more are needed.
func (r *reader) event(s *feedSlice, stamp Stamp, now int64, wrong error) bool {
	n := stamp.Sequence
	begun := r.begun(s)
	inside := begun && r.inside(n)
	known, fresh, behind := r.mark(n, wrong != nil)
	switch {
	case !known:
		r.stray++
		return r.more(s, stamp, now)
	case !fresh:
		if inside {
			r.duplicated++
		}
		return r.more(s, stamp, now)
	}
	early := !begun || now < s.end
	if early {
		r.decoded++
	}
	if !begun || stamp.Sent < s.end {
		r.sent = max(r.sent, n)
		r.onTime++
	}
	if !begun {
		return true
	}
	if s.plan.Share > 0 && !early { // after the window a paced reader only counts
		return r.more(s, stamp, now)
	}
	if inside {
		r.came++
	}
	if wrong == nil && now >= s.begin && early {
		r.completed++
	}
	switch {
	case inside && wrong != nil:
		r.wrong++
	case inside:
		if behind {
			r.reordered++
		}
		r.record(s, stamp, now)
	}
	return r.more(s, stamp, now)
}

// record records the times of an event of the window.
func (r *reader) record(s *feedSlice, stamp Stamp, now int64) {
	due := r.first + r.after(s, stamp.Sequence)
	if off := stamp.Due - due; off > slipLimit || off < -slipLimit {
		r.slipped++
	}
	r.right++
	r.response.Record(now - due)
	r.service.Record(now - stamp.Sent)
	r.lag.Record(stamp.Sent - due)
	if r.following {
		d := (now - r.at) - (due - r.due)
		r.jitter.Record(max(d, -d))
	}
	r.at, r.due, r.following = now, due, true
}

// mark records that a number came. known is false for a number that no event can have, or that is too far behind the
// highest to decide. fresh is true for the first time, and behind is true after a higher number. A wrong event may
// carry any number, so one is not believed if it is more than a few above the highest.
func (r *reader) mark(n uint64, wrong bool) (known, fresh, behind bool) {
	switch {
	case n == 0 || n+seenEvents <= r.high || wrong && n > r.high+graceEvents || n > r.high+1<<32:
		return false, false, false
	case n > r.high:
		for k := max(r.high+1, n-min(n, seenEvents-1)); k < n; k++ {
			r.seen[k/64%(seenEvents/64)] &^= 1 << (k % 64)
		}
		r.high = n
		r.seen[n/64%(seenEvents/64)] |= 1 << (n % 64)
		return true, true, false
	}
	bit := uint64(1) << (n % 64)
	word := &r.seen[n/64%(seenEvents/64)]
	fresh = *word&bit == 0
	*word |= bit
	return true, fresh, true
}

// more reports whether to continue reading the stream.
func (r *reader) more(s *feedSlice, stamp Stamp, now int64) bool {
	switch {
	case !r.begun(s):
		return true
	case s.plan.Share > 0:
		return now < s.end || stamp.Sent < s.end
	case r.high <= r.to:
		return true
	}
	return r.came <= r.to-r.from && r.high <= r.to+graceEvents
}

// pace waits until the next event is to be read.
func (r *reader) pace(ctx context.Context, s *feedSlice) {
	start := s.start.Load()
	if start == 0 {
		return
	}
	r.turns++
	next := start + int64(float64(r.turns)/(s.plan.Share*float64(s.plan.Rate))*1e9)
	if next = min(next, s.end); s.now() < next {
		s.plan.Clock.SleepUntil(ctx, next-s.offset)
	}
}

// kind returns the kind of failure of events that never came.
func (r *reader) kind(s *feedSlice) string {
	if r.err == nil || r.cutOff {
		return Missing
	}
	return s.plan.Classify(r.err)
}

// conclude computes a reader's result after it has ended.
func (r *reader) conclude(s *feedSlice) Reader {
	one := Reader{
		Planned: r.to - r.from + 1, Right: r.right, Wrong: r.wrong, Completed: r.completed,
		Duplicated: r.duplicated, Reordered: r.reordered,
		Delivery: r.response.Clone(), Jitter: r.jitter.Clone(),
	}
	if s.plan.Share == 0 {
		one.Missing = one.Planned - min(one.Planned, r.came)
		return one
	}
	one.Due, one.Sent, one.Decoded = r.to, r.sent, r.decoded
	one.Dropped = r.sent - min(r.sent, r.onTime)
	one.Missing = one.Dropped
	return one
}
