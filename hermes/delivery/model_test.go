package delivery

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"wirelab/hermes/broker"
)

// A group does what its reference does, whatever members, the log and the clock do: so nothing is skipped,
// given to two at once, or lost on its way (hb-D01, hb-D02, hb-D18).
func TestGroupDoesAsTheReference(t *testing.T) {
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

// story is a group and its reference, and the world that they are in.
type story struct {
	rng   *rand.Rand
	g     *Group
	w     *reference
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
	s.w = &reference{
		timeout: o.AckTimeout, attempts: o.MaxAttempts, floor: o.Floor, offsets: map[uint64]*ackState{},
		members: map[uint64]*memberState{}, clearing: noMember,
	}
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
		if s.w.members[member] == nil {
			s.w.members[member] = &memberState{had: map[uint64]bool{}}
		}
		s.w.members[member].inFlight = n
		return fmt.Sprintf("join %d %d", member, n), nil
	case 3:
		if s.rng.IntN(3) == 0 {
			s.g.Leave(member, s.now)
			s.w.leave(member)
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
		return s.nack(member)
	case 6, 7:
		return s.acknowledge(member)
	case 8, 9:
		return s.settle()
	default:
		return s.lease(member)
	}
}

// settled draws what a member settles: mostly of what it was sent.
func (s *story) settled(member uint64) []broker.Range {
	ranges := s.ranges(s.next + 1)
	if s.rng.IntN(8) == 0 {
		ranges = append(ranges, broker.Range{First: s.rng.Uint64N(10), Last: math.MaxUint64},
			broker.Range{First: 9, Last: 3})
	}
	if m := s.w.members[member]; m != nil && s.rng.IntN(4) > 0 {
		var known []uint64
		for _, r := range ranges {
			for o := r.First; o <= r.Last && o <= s.next; o++ {
				if m.had[o] {
					known = append(known, o)
				}
			}
		}
		return runs(known)
	}
	return ranges
}

func (s *story) acknowledge(member uint64) (string, error) {
	ranges := s.settled(member)
	got, strange, ok := s.g.Ack(member, ranges, s.now)
	did := fmt.Sprintf("ack %d %v: %v", member, ranges, got)
	if other, bad := s.w.strange(member, ranges); bad {
		return did, differ(fmt.Sprint(got, strange, ok), fmt.Sprint(Acked{}, other, false))
	}
	s.told = append(s.told, got.Taken...)
	taken, late := s.w.ack(member, ranges, s.now)
	s.w.emptied()
	return did, differ(fmt.Sprint(got, ok), fmt.Sprint(Acked{taken, late}, true))
}

func (s *story) nack(member uint64) (string, error) {
	ranges, again := s.settled(member), s.now+s.rng.Int64N(20)
	strange, ok := s.g.Nack(member, ranges, "so", s.now, again)
	did := fmt.Sprintf("nack %d %v", member, ranges)
	if other, bad := s.w.strange(member, ranges); bad {
		return did, differ(fmt.Sprint(strange, ok), fmt.Sprint(other, false))
	}
	s.w.each(ranges, s.w.has(member), func(_ uint64, f *ackState) {
		s.w.progress(f, s.now)
		s.w.fail(f, "so", again, false)
	})
	s.w.emptied()
	return did, differ(fmt.Sprint(ok), "true")
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
		s.w.floor, s.w.offsets, s.w.clearing = at, map[uint64]*ackState{}, noMember
	}
	most := s.rng.IntN(15)
	got, ok := s.g.Next(member, s.next, s.first, most, s.now)
	want, wok := s.w.next(member, s.next, s.first, most, s.now)
	err := differ(fmt.Sprint(got, ok), fmt.Sprint(want, wok))
	if !ok || err != nil {
		return fmt.Sprintf("next %d %d: nothing", member, most), err
	}
	from := got.Last + 1
	if s.rng.IntN(6) == 0 {
		from = got.First + s.rng.Uint64N(got.Last-got.First+1)
		s.g.Return(member, from, got.Last)
		s.w.each([]broker.Range{{First: from, Last: got.Last}}, s.w.has(member), func(_ uint64, f *ackState) {
			if f.tried > 1 {
				s.w.again--
			}
			*f = ackState{state: waiting, tried: f.tried - 1, lost: f.lost, due: math.MinInt64}
		})
		s.w.emptied()
	}
	if from > got.First {
		s.g.Sent(member, got.First, from-1)
		for o := got.First; o < from; o++ {
			s.w.members[member].had[o] = true
		}
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
	got := map[uint64]ackState{}
	for _, block := range s.g.spans.blocks {
		for _, p := range block {
			for o := p.span.first; o <= p.span.last; o++ {
				f := ackState{
					state: p.span.state, tried: p.span.tried, lost: p.span.lost, due: p.span.due,
					reason: p.span.reason,
				}
				switch f.state {
				case held:
					f.member = p.span.lease.member.id
					for l := p.span.lease; l != nil; l = l.earlier {
						f.since = max(f.since, l.since)
					}
				case settled:
					f.tried, f.lost = 0, 0
				}
				got[o] = f
			}
		}
	}
	want := map[uint64]ackState{}
	inFlight := 0
	for o, f := range s.w.offsets {
		w := *f
		if f.state == held {
			inFlight++
			w.since, w.lease = s.w.began(f), 0
		}
		want[o] = w
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("got %v\nwant %v", got, want)
	}
	c := Counts{Members: len(s.w.members), InFlight: inFlight, Redelivered: s.w.again}
	return differ(fmt.Sprint(s.g.Counts(), s.g.floor), fmt.Sprint(c, s.w.floor))
}
