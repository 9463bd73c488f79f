package delivery

import (
	"math"
	"slices"

	"wirelab/hermes/broker"
)

// reference does what a Group does, offset by offset and slowly, so that it can be
// checked by reading.
type reference struct {
	timeout  int64
	attempts uint32
	floor    uint64
	offsets  map[uint64]*ackState // those that were handed out or settled
	members  map[uint64]*memberState
	clearing uint64 // the member that takes nothing more until it gets a lone message; noMember: none
	leases   int    // handed out so far
	again    uint64 // redelivered
}

// noMember is no member's id.
const noMember = 1 << 32

// memberState are a member's.
type memberState struct {
	inFlight int
	had      map[uint64]bool
	events   []event
}

// event is that something of a lease was settled.
type event struct {
	lease int
	at    int64
}

type ackState struct {
	state  state
	tried  uint32
	lost   uint32
	member uint64
	lease  int   // held: which; 0 where it is compared
	since  int64 // held: when it was handed out
	due    int64
	reason string
}

// began is when the time of a held message began: its own handing out, or the last settlement of its lease or
// an earlier one of the same member.
func (w *reference) began(f *ackState) int64 {
	at := f.since
	for _, e := range w.members[f.member].events {
		if e.lease <= f.lease {
			at = max(at, e.at)
		}
	}
	return at
}

// idle tells whether the holder of a message settled nothing at all since that message's time began.
func (w *reference) idle(f *ackState) bool {
	for _, e := range w.members[f.member].events {
		if e.at > w.began(f) {
			return false
		}
	}
	return true
}

// alone tells whether a member holds a message that is handed out alone.
func (w *reference) alone(member uint64) bool {
	for _, f := range w.offsets {
		if w.has(member)(f) && f.lost >= aloneAfter {
			return true
		}
	}
	return false
}

// emptied ends the clearing of who has nothing more.
func (w *reference) emptied() {
	if w.clearing != noMember && w.held(w.clearing) == 0 {
		w.clearing = noMember
	}
}

// sorted is the offsets that pass, by when they are due and then by offset.
func (w *reference) sorted(pass func(*ackState) bool) []uint64 {
	var all []uint64
	for o, f := range w.offsets {
		if pass(f) {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b uint64) int {
		if d, e := w.offsets[a].due, w.offsets[b].due; d != e {
			return cmp64(d, e)
		}
		return cmp64(int64(a), int64(b))
	})
	return all
}

func cmp64(a, b int64) int {
	if a < b {
		return -1
	}
	return 1
}

func (w *reference) held(member uint64) (n int) {
	for _, f := range w.offsets {
		if f.state == held && f.member == member {
			n++
		}
	}
	return n
}

// raise forgets everything before a floor, and passes over settled messages.
func (w *reference) raise(floor uint64) {
	w.floor = max(w.floor, floor)
	for o := range w.offsets {
		if o < w.floor {
			delete(w.offsets, o)
		}
	}
	if f := w.offsets[w.floor]; f != nil && f.state == settled {
		w.raise(w.floor + 1)
	}
}

func (w *reference) next(member, next, first uint64, most int, now int64) (l Lease, ok bool) {
	w.raise(first)
	w.emptied()
	m := w.members[member]
	if m == nil {
		return Lease{}, false
	}
	most = min(most, m.inFlight-w.held(member))
	if most <= 0 || w.alone(member) {
		return Lease{}, false
	}
	l.Member = member
	lone := w.sorted(func(f *ackState) bool { return f.state == waiting && f.due <= now && f.lost >= aloneAfter })
	due := w.sorted(func(f *ackState) bool { return f.state == waiting && f.due <= now && f.lost < aloneAfter })
	switch {
	case len(lone) > 0 && w.held(member) == 0:
		l.First, l.Last, l.Attempt = lone[0], lone[0], w.offsets[lone[0]].tried+1
	case len(lone) > 0 && (w.clearing == noMember || w.clearing == member):
		w.clearing = member
		return Lease{}, false
	case len(due) > 0:
		l.First, l.Last, l.Attempt = due[0], due[0], w.offsets[due[0]].tried+1
		for ; l.Last-l.First+1 < uint64(most); l.Last++ {
			f, o := w.offsets[l.Last+1], w.offsets[l.First]
			if f == nil || f.state != waiting || f.due > now || f.tried != o.tried || f.lost != o.lost {
				break
			}
		}
	default:
		for l.First = w.floor; w.offsets[l.First] != nil; l.First++ {
		}
		if l.First >= next {
			return Lease{}, false
		}
		l.Attempt = 1
		for l.Last = l.First; l.Last-l.First+1 < uint64(most) && l.Last+1 < next &&
			w.offsets[l.Last+1] == nil; l.Last++ {
		}
	}
	w.leases++
	for o := l.First; o <= l.Last; o++ {
		f := &ackState{state: held, tried: l.Attempt, member: member, lease: w.leases, since: now}
		if was := w.offsets[o]; was != nil {
			f.lost = was.lost
		}
		if l.Attempt > 1 {
			w.again++
		}
		w.offsets[o] = f
	}
	return l, true
}

// each visits the offsets of ranges that pass, in the order of the ranges.
func (w *reference) each(ranges []broker.Range, pass func(*ackState) bool, visit func(uint64, *ackState)) {
	for _, r := range ranges {
		for o := r.First; o <= r.Last && o < 1000; o++ {
			if f := w.offsets[o]; f != nil && pass(f) {
				visit(o, f)
			}
		}
	}
}

func (w *reference) has(member uint64) func(*ackState) bool {
	return func(f *ackState) bool { return f.state == held && f.member == member }
}

func (w *reference) fail(f *ackState, reason string, again int64, company bool) {
	lost := f.lost
	if company && lost < aloneAfter {
		lost++
	}
	if f.tried-lost < w.attempts {
		*f = ackState{state: waiting, tried: f.tried, lost: lost, due: again}
	} else {
		*f = ackState{state: doomed, tried: f.tried, lost: lost, reason: reason}
	}
}

// progress notes that a member settles a held message.
func (w *reference) progress(f *ackState, now int64) {
	m := w.members[f.member]
	m.events = append(m.events, event{f.lease, now})
}

func (w *reference) strange(member uint64, ranges []broker.Range) (uint64, bool) {
	for _, r := range ranges {
		for o := r.First; o <= r.Last; o++ {
			if m := w.members[member]; m == nil || !m.had[o] {
				return o, true
			}
		}
	}
	return 0, false
}

func (w *reference) ack(member uint64, ranges []broker.Range, now int64) (taken, late []broker.Range) {
	var took, missed []uint64
	for _, r := range ranges {
		for o := max(r.First, w.floor); o <= r.Last; o++ {
			f := w.offsets[o]
			switch {
			case f == nil, f.state == deadLettered, f.state == held && f.member != member:
				missed = append(missed, o)
			case f.state == settled:
			default:
				if f.state == held {
					w.progress(f, now)
				}
				*f = ackState{state: sent, tried: f.tried, lost: f.lost}
				took = append(took, o)
			}
		}
	}
	return runs(took), runs(missed)
}

// runs are offsets as ranges, each once.
func runs(offsets []uint64) (all []broker.Range) {
	slices.Sort(offsets)
	for _, o := range slices.Compact(offsets) {
		if n := len(all); n > 0 && all[n-1].Last+1 == o {
			all[n-1].Last = o
		} else {
			all = append(all, broker.Range{First: o, Last: o})
		}
	}
	return all
}

func (w *reference) acknowledged(ranges []broker.Range) {
	for _, r := range ranges {
		for o := max(r.First, w.floor); o <= r.Last; o++ {
			w.offsets[o] = &ackState{state: settled}
		}
	}
	w.raise(w.floor)
}

func (w *reference) refused(ranges []broker.Range, now int64) {
	w.each(ranges, func(f *ackState) bool { return f.state == sent || f.state == deadLettered },
		func(_ uint64, f *ackState) {
			if f.state == sent {
				*f = ackState{state: waiting, tried: f.tried, lost: f.lost, due: now}
			} else {
				*f = ackState{state: doomed, tried: f.tried, lost: f.lost, reason: f.reason, due: now + deadAgain}
			}
		})
}

func (w *reference) expire(now int64) (dead []Dead, wake int64) {
	for id := range w.members {
		many := w.held(id) > 1
		for _, f := range w.offsets {
			if w.has(id)(f) && w.began(f)+w.timeout <= now {
				w.fail(f, "", math.MinInt64, many && w.idle(f))
			}
		}
	}
	w.emptied()
	for _, o := range w.sorted(func(f *ackState) bool { return f.state == doomed && f.due <= now }) {
		f := w.offsets[o]
		dead = append(dead, Dead{Offset: o, Attempts: f.tried, Reason: f.reason})
		*f = ackState{state: deadLettered, tried: f.tried, lost: f.lost, reason: f.reason}
	}
	wake = math.MaxInt64
	for _, f := range w.offsets {
		switch {
		case f.state == held:
			wake = min(wake, w.began(f)+w.timeout)
		case f.state == doomed, f.state == waiting && f.due > now:
			wake = min(wake, f.due)
		}
	}
	if wake == math.MaxInt64 {
		wake = 0
	}
	return dead, wake
}

func (w *reference) leave(member uint64) {
	many := w.held(member) > 1
	for _, f := range w.offsets {
		if w.has(member)(f) {
			w.fail(f, "the member went away", math.MinInt64, many)
		}
	}
	w.emptied()
	delete(w.members, member)
}
