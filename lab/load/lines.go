package load

import (
	"context"
	"time"

	"wirelab/lab/stat"
)

// Lines carry many calls at the same time without a goroutine for each, in a driver that manages its own sockets. One
// goroutine drives them all.
type Lines interface {
	// Slots returns how many calls can be in flight, in the slots 0 to Slots()-1.
	Slots() int
	// Begin starts the next call in a slot that carries none. The call is sent before the next Turn returns, or the
	// current one.
	Begin(slot int)
	// Turn sends the calls that began, waits at most wait for replies (<= 0: it only checks), and calls ended once for
	// each call that is over. ended may call Begin for that slot. An error is final.
	Turn(wait time.Duration, ended func(slot int, err error)) error
	// Cancel cancels a call: it ends with cause in the next Turn.
	Cancel(slot int, cause error)
}

// TimedLines are lines whose calls other goroutines make. They must know when a call is due, since that is sent along,
// and must report when it ended, which was before a Turn reports it. All times are on the [SystemClock], or the clock
// of the run. A Turn that does not wait only collects calls that have ended.
type TimedLines interface {
	Lines
	// Window is called before a run's first call: calls due from begin until end are recorded, and none is due later.
	Window(begin, end int64)
	// Due is called before each Begin.
	Due(slot int, due int64)
	// Ended returns when the call ended that a Turn reports.
	Ended(slot int) int64
}

// StampedLines are lines that know for how long a call was outside the driver.
type StampedLines interface {
	Lines
	// Outside returns how long the slot's last ended call was outside the driver, from when all of it was sent until
	// the last byte of the reply had come; 0: it is unknown. It is called after the Turn that reported the end.
	Outside(slot int) time.Duration
	// Steps returns how often the clock behind Outside has been set so far.
	Steps() uint64
}

// patience is the longest that a Turn waits, so that the end of a run's context and of deadlines is noticed in time.
const patience = 20 * time.Millisecond

// How long before the next call is due a driver of lines stops sleeping and only polls. It reads replies all the time,
// so that unlike with [SpinMargin] a larger margin costs only CPU time. The margin is large, since an idle virtual CPU
// may come back milliseconds late.
const (
	sharedMargin = 150 * time.Microsecond // on a CPU that others need too
	ownMargin    = 5 * time.Millisecond   // on a CPU that it has to itself: see [Plan.Own]
)

// pipeline makes the calls of [Lines].
type pipeline struct {
	*sheet
	lines     Lines
	timed     TimedLines // lines, if they are timed; otherwise nil
	calls     []flight   // by slot
	*outsides            // nil unless lines know how long calls were outside the driver
	free      []int      // slots without a call
	slots     int        // how many this run uses

	now    int64 // last reading of the clock
	ended  uint64
	onEnd  func(int, error) // the method value ends, allocated once
	closed bool             // the loop is closed: a call that ends makes room for the next
	s      *slice
}

// flight is a call in flight.
type flight struct {
	due, sent int64
	held      int64 // see outsides.held
	ready     bool  // a slot was free when it was due
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

// open sends the arrivals that are due until nothing is left to send. An arrival counts as waited for if a slot was
// free for it before the turn in which it became due.
func (p *pipeline) open() error {
	s := p.s
	check, spare := p.now, len(p.free)
	due, more := s.next()
	for more && s.outer.Err() == nil && p.now < s.giveUp {
		for first := true; more && due <= p.now && len(p.free) > 0; first = false {
			if !first { // the first uses the reading of the last turn
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

// finish turns until every call has ended. In the closed loop this is the whole run.
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

// margin returns how long before an arrival the lines stop sleeping. Timed lines sleep to the end. A loop that polls
// the clock and yields to other goroutines keeps Go's scheduler from asking its poller, so that replies are read by
// sysmon, every ten milliseconds. The response time of a broker that answers in 1.4 ms then measured 6 ms, and that of
// one that streams 12 ms.
func (p *pipeline) margin() time.Duration {
	if p.timed != nil {
		return 0
	}
	return p.s.margin
}

// turn lets the lines send and receive. If it only polled and found nothing, its time counts as spun.
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

// ends records the end of a call. In the closed loop one reading of the clock is both its end and the beginning of the
// next call.
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

// expire cancels the calls that have passed their deadline, or all calls if the run has been cut off. It checks at most
// every eighth of a deadline, like [worker.context]. checked is when it last did.
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
