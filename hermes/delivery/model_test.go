package delivery

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"wirelab/hermes/broker"
)

// twin does what a Group does, offset by offset and slowly, so that it can be
// checked by reading.
type twin struct {
	timeout  int64
	attempts uint32
	floor    uint64
	offsets  map[uint64]*fate // those that were handed out or settled
	members  map[uint64]int   // how many messages each may have
	again    uint64           // redelivered
}

type fate struct {
	state    state
	tried    uint32
	member   uint64
	deadline int64
	due      int64
	reason   string
}

// sorted is the offsets that pass, by when they are due and then by offset.
func (w *twin) sorted(pass func(*fate) bool) []uint64 {
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

func (w *twin) held(member uint64) (n int) {
	for _, f := range w.offsets {
		if f.state == held && f.member == member {
			n++
		}
	}
	return n
}

// raise forgets what is before a floor, and passes over what is settled.
func (w *twin) raise(floor uint64) {
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

func (w *twin) next(member, next, first uint64, most int, now int64) (l Lease, ok bool) {
	w.raise(first)
	inFlight, ok := w.members[member]
	most = min(most, inFlight-w.held(member))
	if !ok || most <= 0 {
		return Lease{}, false
	}
	due := w.sorted(func(f *fate) bool { return f.state == waiting && f.due <= now })
	l.Member = member
	if len(due) > 0 {
		l.First, l.Attempt = due[0], w.offsets[due[0]].tried+1
		l.Last = l.First
		for ; l.Last-l.First+1 < uint64(most); l.Last++ {
			if f := w.offsets[l.Last+1]; f == nil || f.state != waiting || f.due > now || f.tried != l.Attempt-1 {
				break
			}
		}
		if l.Attempt > 1 {
			w.again += l.Last - l.First + 1
		}
	} else {
		for l.First = w.floor; w.offsets[l.First] != nil; l.First++ {
		}
		if l.First >= next {
			return Lease{}, false
		}
		l.Attempt = 1
		for l.Last = l.First; l.Last-l.First+1 < uint64(most) && l.Last+1 < next && w.offsets[l.Last+1] == nil; l.Last++ {
		}
	}
	for o := l.First; o <= l.Last; o++ {
		w.offsets[o] = &fate{state: held, tried: l.Attempt, member: member, deadline: now + w.timeout}
	}
	return l, true
}

// each visits the offsets of ranges that pass, in the order of the ranges.
func (w *twin) each(ranges []broker.Range, pass func(*fate) bool, visit func(uint64, *fate)) {
	for _, r := range ranges {
		for o := r.First; o <= r.Last && o < 1000; o++ {
			if f := w.offsets[o]; f != nil && pass(f) {
				visit(o, f)
			}
		}
	}
}

func (w *twin) has(member uint64) func(*fate) bool {
	return func(f *fate) bool { return f.state == held && f.member == member }
}

func (w *twin) fail(f *fate, reason string, again int64) {
	if f.tried < w.attempts {
		*f = fate{state: waiting, tried: f.tried, due: again}
	} else {
		*f = fate{state: doomed, tried: f.tried, reason: reason}
	}
}

func (w *twin) ack(member uint64, ranges []broker.Range) []broker.Range {
	var taken []uint64
	w.each(ranges, w.has(member), func(o uint64, f *fate) {
		*f = fate{state: sent, tried: f.tried}
		taken = append(taken, o)
	})
	slices.Sort(taken)
	var all []broker.Range
	for _, o := range taken {
		if n := len(all); n > 0 && all[n-1].Last+1 == o {
			all[n-1].Last = o
		} else {
			all = append(all, broker.Range{First: o, Last: o})
		}
	}
	return all
}

func (w *twin) acknowledged(ranges []broker.Range) {
	for _, r := range ranges {
		for o := max(r.First, w.floor); o <= r.Last; o++ {
			w.offsets[o] = &fate{state: settled}
		}
	}
	w.raise(w.floor)
}

func (w *twin) refused(ranges []broker.Range, now int64) {
	w.each(ranges, func(f *fate) bool { return f.state == sent || f.state == buried }, func(_ uint64, f *fate) {
		if f.state == sent {
			*f = fate{state: waiting, tried: f.tried, due: now}
		} else {
			*f = fate{state: doomed, tried: f.tried, reason: f.reason, due: now + deadAgain}
		}
	})
}

func (w *twin) expire(now int64) (dead []Dead, wake int64) {
	for _, f := range w.offsets {
		if f.state == held && f.deadline <= now {
			w.fail(f, "", now)
		}
	}
	for _, o := range w.sorted(func(f *fate) bool { return f.state == doomed && f.due <= now }) {
		f := w.offsets[o]
		dead = append(dead, Dead{Offset: o, Attempts: f.tried, Reason: f.reason})
		*f = fate{state: buried, tried: f.tried, reason: f.reason}
	}
	wake = math.MaxInt64
	for _, f := range w.offsets {
		switch {
		case f.state == held:
			wake = min(wake, f.deadline)
		case f.state == doomed, f.state == waiting && f.due > now:
			wake = min(wake, f.due)
		}
	}
	if wake == math.MaxInt64 {
		wake = 0
	}
	return dead, wake
}

func (w *twin) leave(member uint64, now int64) {
	for _, f := range w.offsets {
		if f.state == held && f.member == member {
			w.fail(f, "the member went away", now)
		}
	}
	delete(w.members, member)
}

// A group does what its twin does, whatever members, the log and the clock do: so
// nothing is skipped, given to two at once, or lost on its way (hb-D01, hb-D02, hb-D18).
func TestGroupDoesAsItsTwin(t *testing.T) {
	t.Parallel()
	seeds := 600
	if testing.Short() {
		seeds = 150
	}
	for seed := range uint64(seeds) {
		if err := compare(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// story is a group and its twin, and the world that they are in.
type story struct {
	rng   *rand.Rand
	g     *Group
	w     *twin
	now   int64
	first uint64
	next  uint64
	told  []broker.Range // acknowledged or dead, and not yet settled or refused
	log   []string
}

func compare(seed uint64) error {
	s := &story{rng: rand.New(rand.NewPCG(seed, 3)), now: 1000}
	o := Options{AckTimeout: 1 + s.rng.Int64N(50), MaxAttempts: 1 + s.rng.Uint32N(4), Floor: s.rng.Uint64N(5)}
	for range s.rng.IntN(4) {
		o.Acked = append(o.Acked, s.ranges(40)...)
	}
	s.g = New(o)
	s.w = &twin{timeout: o.AckTimeout, attempts: o.MaxAttempts, floor: o.Floor, offsets: map[uint64]*fate{}, members: map[uint64]int{}}
	s.w.acknowledged(o.Acked)
	for range 200 {
		did, err := s.step()
		s.log = append(s.log, did)
		if err == nil {
			err = sound(s.g)
		}
		if err == nil {
			err = s.same()
		}
		if err != nil {
			return fmt.Errorf("%w\nafter %q", err, s.log[max(0, len(s.log)-15):])
		}
	}
	return nil
}

// ranges draws some, that may overlap and may be none's.
func (s *story) ranges(most uint64) (all []broker.Range) {
	for range 1 + s.rng.IntN(3) {
		first := s.rng.Uint64N(most)
		all = append(all, broker.Range{First: first, Last: first + s.rng.Uint64N(1+s.rng.Uint64N(12))})
	}
	return all
}

func (s *story) step() (did string, err error) {
	member := s.rng.Uint64N(4)
	switch s.rng.IntN(14) {
	case 0:
		s.next += s.rng.Uint64N(10)
		return fmt.Sprintf("next %d", s.next), nil
	case 1:
		s.now += s.rng.Int64N(30)
		return fmt.Sprintf("now %d", s.now), nil
	case 2:
		n := 1 + s.rng.IntN(20)
		s.g.Join(member, n)
		s.w.members[member] = n
		return fmt.Sprintf("join %d %d", member, n), nil
	case 3:
		if s.rng.IntN(3) == 0 {
			s.g.Leave(member, s.now)
			s.w.leave(member, s.now)
		}
		return fmt.Sprintf("leave %d", member), nil
	case 4:
		got, wake := s.g.Expire(s.now)
		want, due := s.w.expire(s.now)
		for _, d := range got {
			s.told = append(s.told, broker.Range{First: d.Offset, Last: d.Offset})
		}
		if due != 0 {
			due = max(due, 1)
		}
		return "expire", differ(fmt.Sprint(got, wake), fmt.Sprint(want, due))
	case 5:
		ranges, again := s.ranges(s.next+1), s.now+s.rng.Int64N(20)
		s.g.Nack(member, ranges, "so", again)
		s.w.each(ranges, s.w.has(member), func(_ uint64, f *fate) { s.w.fail(f, "so", again) })
		return fmt.Sprintf("nack %d %v", member, ranges), nil
	case 6, 7:
		return s.acknowledge(member)
	case 8, 9:
		return s.settle()
	default:
		return s.lease(member)
	}
}

func (s *story) acknowledge(member uint64) (string, error) {
	ranges := s.ranges(s.next + 1)
	if s.rng.IntN(8) == 0 {
		ranges = append(ranges, broker.Range{First: s.rng.Uint64N(10), Last: math.MaxUint64}, broker.Range{First: 9, Last: 3})
	}
	got := s.g.Ack(member, ranges)
	s.told = append(s.told, got...)
	return fmt.Sprintf("ack %d %v", member, ranges), differ(fmt.Sprint(got), fmt.Sprint(s.w.ack(member, ranges)))
}

// settle says of what was told, or of anything, that the log has it or not.
func (s *story) settle() (string, error) {
	ranges := s.told
	if s.rng.IntN(4) == 0 {
		ranges = s.ranges(s.next + 1) // another leader's, or one that was given up
	} else if len(ranges) > 0 {
		n := 1 + s.rng.IntN(len(ranges))
		ranges, s.told = ranges[:n], ranges[n:]
	}
	if s.rng.IntN(4) == 0 {
		s.g.Refused(ranges, s.now)
		s.w.refused(ranges, s.now)
		return fmt.Sprintf("refused %v", ranges), nil
	}
	s.g.Acknowledged(ranges)
	s.w.acknowledged(ranges)
	return fmt.Sprintf("acknowledged %v", ranges), nil
}

func (s *story) lease(member uint64) (string, error) {
	if s.rng.IntN(40) == 0 {
		s.first = min(s.next, s.first+s.rng.Uint64N(6))
	}
	if s.rng.IntN(60) == 0 {
		at := s.rng.Uint64N(s.next + 1)
		s.g.Seek(at)
		s.w.floor, s.w.offsets = at, map[uint64]*fate{}
	}
	most := s.rng.IntN(15)
	got, ok := s.g.Next(member, s.next, s.first, most, s.now)
	want, wok := s.w.next(member, s.next, s.first, most, s.now)
	err := differ(fmt.Sprint(got, ok), fmt.Sprint(want, wok))
	if ok && s.rng.IntN(6) == 0 {
		from := got.First + s.rng.Uint64N(got.Last-got.First+1)
		s.g.Return(member, from, got.Last)
		s.w.each([]broker.Range{{First: from, Last: got.Last}}, s.w.has(member), func(_ uint64, f *fate) {
			if f.tried > 1 {
				s.w.again--
			}
			*f = fate{state: waiting, tried: f.tried - 1, due: math.MinInt64}
		})
	}
	return fmt.Sprintf("next %d %d: %v %v", member, most, got, ok), err
}

func differ(got, want string) error {
	if got != want {
		return fmt.Errorf("got %s, want %s", got, want)
	}
	return nil
}

// same compares every offset, and the counts.
func (s *story) same() error {
	got := map[uint64]fate{}
	for _, block := range s.g.spans.blocks {
		for _, p := range block {
			for o := p.span.first; o <= p.span.last; o++ {
				f := fate{state: p.span.state, tried: p.span.tried, due: p.span.due, reason: p.span.reason}
				switch f.state {
				case held:
					f.member, f.deadline = p.span.lease.member.id, p.span.lease.deadline
				case settled:
					f.tried = 0
				}
				got[o] = f
			}
		}
	}
	want := map[uint64]fate{}
	inFlight := 0
	for o, f := range s.w.offsets {
		want[o] = *f
		if f.state == held {
			inFlight++
		}
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("got %v\nwant %v", got, want)
	}
	c := Counts{Members: len(s.w.members), InFlight: inFlight, Redelivered: s.w.again}
	return differ(fmt.Sprint(s.g.Counts(), s.g.floor), fmt.Sprint(c, s.w.floor))
}
