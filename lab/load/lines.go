package load

import (
	"context"
	"time"

	"wirelab/lab/stat"
)

// Lines carry many calls at once without a goroutine for each: what a driver
// is that cares for its own sockets. One goroutine drives them all.
type Lines interface {
	// Slots is how many calls can be in flight: slots 0 to Slots()-1.
	Slots() int
	// Begin starts the next call in a slot that carries none; it is sent when
	// the next Turn returns, or the one under way.
	Begin(slot int)
	// Turn sends what was begun, waits at most wait for replies (<= 0: only
	// looks), and calls ended once for each call that is over. ended may Begin
	// the slot again. An error is final.
	Turn(wait time.Duration, ended func(slot int, err error)) error
	// Cancel gives a call up: it ends with cause in the next Turn.
	Cancel(slot int, cause error)
}

// TimedLines are lines whose calls other goroutines make: they must know when a call is
// due, which is sent along, and tell when it ended, which was before a Turn does. All
// times are on the [SystemClock], or the run's own. A Turn that does not wait only takes
// what has ended.
type TimedLines interface {
	Lines
	// Window comes before a run's first call: calls due from begin until end are
	// recorded, and none is due after.
	Window(begin, end int64)
	// Due comes before each Begin.
	Due(slot int, due int64)
	// Ended is when the call ended that a Turn tells of.
	Ended(slot int) int64
}

// StampedLines are lines that know for how long a call was out of the driver's hands.
type StampedLines interface {
	Lines
	// Outside is how long the slot's last call that ended was outside the driver, from when all of it was sent until
	// the last byte of the reply had come; 0: nobody knows. It is asked for after the Turn that told of its end.
	Outside(slot int) time.Duration
	// Steps is how often the clock behind Outside was set so far.
	Steps() uint64
}

// patience is the longest that a Turn waits, so that the end of a run's
// context and of deadlines is seen in time.
const patience = 20 * time.Millisecond

// A driver of lines stops sleeping so long before the next call is due and
// only looks: it reads replies all the while, so that unlike [SpinMargin] more
// costs nothing but processor time. It takes much of it: an idle virtual
// processor may come back milliseconds late.
const (
	sharedMargin = 150 * time.Microsecond // on a processor that others need too
	ownMargin    = 5 * time.Millisecond   // on one of its own: see [Plan.Own]
)

// pipeline performs the calls of [Lines].
type pipeline struct {
	*sheet
	lines     Lines
	timed     TimedLines // lines, where they want to know; else nil
	calls     []flight   // by slot
	*outsides            // nil unless lines know how long calls were outside
	free      []int      // slots that carry no call
	slots     int        // that this run uses

	now    int64 // the last reading of the clock
	ended  uint64
	onEnd  func(int, error) // ends, made a value once
	closed bool             // the loop: a call that ends makes room for the next
	s      *slice
}

// flight is a call under way.
type flight struct {
	due, sent int64
	held      int64 // see outsides.held
	ready     bool  // it could be made when it was due
	busy      bool
}

func newPipeline(lines Lines) *pipeline {
	p := &pipeline{sheet: newSheet(), lines: lines, calls: make([]flight, lines.Slots())}
	p.onEnd = p.ends
	p.timed, _ = lines.(TimedLines)
	if stamped, ok := lines.(StampedLines); ok {
		p.outside = stat.NewHistogram()
		p.outsides = &outsides{lines: stamped}
	}
	if p.timed != nil || p.outsides != nil {
		p.punctual = stat.NewHistogram()
	}
	return p
}

// run runs a slice in the calling goroutine.
func (p *pipeline) run(s *slice, slots int) error {
	p.s, p.slots, p.closed = s, slots, s.arrivals == nil
	p.free = p.free[:0]
	for slot := slots - 1; slot >= 0; slot-- {
		p.calls[slot].busy = false
		p.free = append(p.free, slot)
	}
	defer func() { p.s = nil }()
	if p.timed != nil {
		p.timed.Window(s.begin, s.end)
	}
	if p.outsides != nil {
		p.outsides.begin()
		defer func() { p.end(p.sheet) }()
	}
	p.now = s.clock.Now()
	if p.closed {
		for len(p.free) > 0 {
			p.begin(p.now, p.now, true)
		}
		return p.finish()
	}
	if err := p.open(); err != nil {
		return err
	}
	return p.finish()
}

// open sends what is due until nothing more is to be sent. An arrival was
// waited for if a slot was free for it before the turn in which it came due.
func (p *pipeline) open() error {
	s := p.s
	check, spare := p.now, len(p.free)
	due, more := s.next()
	for more && s.outer.Err() == nil && p.now < s.giveUp {
		for first := true; more && due <= p.now && len(p.free) > 0; first = false {
			if !first { // the clock of the last turn serves one
				p.now = s.clock.Now()
			}
			s.depart(p.sheet, due, p.now, spare > 0)
			p.begin(due, p.now, spare > 0)
			spare--
			due, more = s.next()
		}
		if !more {
			return nil
		}
		wait := patience
		if spare = len(p.free); spare > 0 {
			wait = min(wait, time.Duration(due-p.now)-p.margin())
		}
		if err := p.turn(wait); err != nil {
			return err
		}
		check = p.expire(check)
	}
	if more {
		s.abandon(p.sheet, due, p.now)
	}
	return nil
}

// finish turns until every call has ended; in the closed loop that is all there is.
func (p *pipeline) finish() error {
	for check := p.now; len(p.free) < p.slots; {
		if err := p.turn(patience); err != nil {
			return err
		}
		check = p.expire(check)
	}
	return nil
}

// begin starts a call in a free slot.
func (p *pipeline) begin(due, sent int64, ready bool) {
	last := len(p.free) - 1
	slot := p.free[last]
	p.free = p.free[:last]
	p.calls[slot] = flight{due: due, sent: sent, ready: ready, busy: true}
	if p.outsides != nil && !p.closed {
		p.calls[slot].held = p.hold(sent - due)
	}
	p.start(slot, due)
}

func (p *pipeline) start(slot int, due int64) {
	if p.timed != nil {
		p.timed.Due(slot, due)
	}
	p.lines.Begin(slot)
}

// margin is how long before an arrival the lines stop sleeping. Timed lines sleep to the
// end. A loop that looks at the clock and lets other goroutines go first keeps Go's
// scheduler from asking its poller, so that replies are read by sysmon, every ten
// milliseconds: a broker that answers in 1.4 ms read 6, and one that streams 12.
func (p *pipeline) margin() time.Duration {
	if p.timed != nil {
		return 0
	}
	return p.s.margin
}

// turn lets the lines send and receive. A look that found nothing was spun.
func (p *pipeline) turn(wait time.Duration) error {
	before, ended := p.now, p.ended
	err := p.lines.Turn(wait, p.onEnd)
	p.now = p.s.clock.Now()
	if p.outsides != nil {
		p.settle(p.sheet, p.calls[:p.slots])
	}
	if wait <= 0 && p.ended == ended && p.timed == nil {
		p.spun += time.Duration(p.now - before)
	}
	return err
}

// ends records the end of a call. One reading of the clock serves as its end
// and, in the closed loop, the beginning of the next.
func (p *pipeline) ends(slot int, err error) {
	p.ended++
	s, call := p.s, &p.calls[slot]
	end := s.clock.Now()
	if p.timed != nil {
		end = p.timed.Ended(slot)
	}
	if err == nil && call.due >= s.begin {
		if p.punctual != nil && s.arrivals != nil {
			from := call.due
			if call.ready {
				from = call.sent
			}
			p.punctual.Record(end - from)
		}
		if p.outsides != nil {
			p.over = append(p.over,
				past{slot: slot, took: end - call.sent, owed: max(0, call.held-(call.sent-call.due))})
		}
	}
	p.record(s, call.due, call.sent, end, err)
	s.ended(slot, call.due, call.sent, end, err)
	if p.closed && end < s.end && s.outer.Err() == nil {
		call.due, call.sent = end, end
		p.start(slot, end)
		return
	}
	call.busy = false
	p.free = append(p.free, slot)
}

// expire gives up the calls that have passed their deadline, all of them when
// the run has been cut off. It looks at most every eighth of a deadline, as
// [worker.context] does; checked is when it last did.
func (p *pipeline) expire(checked int64) int64 {
	s := p.s
	if s.calls.Err() != nil {
		for slot, call := range p.calls[:p.slots] {
			if call.busy {
				p.lines.Cancel(slot, context.Cause(s.calls))
			}
		}
		return p.now
	}
	if s.deadline == 0 || time.Duration(p.now-checked) < s.deadline/8 {
		return checked
	}
	for slot, call := range p.calls[:p.slots] {
		if call.busy && time.Duration(p.now-call.sent) >= s.deadline {
			p.lines.Cancel(slot, context.DeadlineExceeded)
		}
	}
	return p.now
}
