package delivery

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
)

const ms = int64(time.Millisecond)

// ask asks for messages and wants exactly these.
func ask(t *testing.T, g *Group, member, next uint64, most int, now int64, want string) {
	t.Helper()
	l, ok := g.Next(member, next, 0, most, now)
	got := "nothing"
	if ok {
		g.Sent(member, l.First, l.Last)
		got = fmt.Sprintf("%d-%d try %d", l.First, l.Last, l.Attempt)
	}
	if got != want {
		t.Fatalf("member %d got %s, want %s", member, got, want)
	}
}

func only(first, last uint64) []broker.Range { return []broker.Range{{First: first, Last: last}} }

func ack(t *testing.T, g *Group, member uint64, ranges []broker.Range, now int64) Acked {
	t.Helper()
	a, strange, ok := g.Ack(member, ranges, now)
	if !ok {
		t.Fatalf("member %d was never sent %d of %.100q", member, strange, fmt.Sprint(ranges))
	}
	return a
}

func nack(t *testing.T, g *Group, member uint64, ranges []broker.Range, again int64) {
	t.Helper()
	if strange, ok := g.Nack(member, ranges, "no such customer", 0, again); !ok {
		t.Fatalf("member %d was never sent %d of %v", member, strange, ranges)
	}
}

// Members share the work, and one that acknowledges nothing keeps no other from
// going on, nor its messages for ever (hb-D18: each member got everything).
func TestMembersShare(t *testing.T) {
	t.Parallel()
	g := New(Options{AckTimeout: 10 * ms})
	g.Join(1, 5)
	g.Join(2, 100)
	ask(t, g, 1, 20, 100, 0, "0-4 try 1")
	ask(t, g, 1, 20, 100, 0, "nothing") // it has all in flight that it may have
	ask(t, g, 2, 20, 10, 1*ms, "5-14 try 1")
	ask(t, g, 2, 20, 10, 1*ms, "15-19 try 1")
	ask(t, g, 2, 20, 10, 1*ms, "nothing")
	ask(t, g, 3, 30, 10, 1*ms, "nothing") // it is no member
	if dead, wake := g.Expire(9 * ms); len(dead) > 0 || wake != 10*ms {
		t.Fatalf("dead %v, wake at %d", dead, wake)
	}
	ack(t, g, 2, only(5, 19), 0)
	g.Acknowledged(only(5, 19))
	g.Expire(10 * ms)
	ask(t, g, 2, 30, 3, 10*ms, "0-2 try 2") // what comes again goes first
	ask(t, g, 2, 30, 30, 10*ms, "3-4 try 2")
	ask(t, g, 2, 30, 30, 10*ms, "20-29 try 1")
	if got := ack(t, g, 1, only(0, 4), 10*ms); len(got.Taken) > 0 || !slices.Equal(got.Late, only(0, 4)) {
		t.Fatalf("a member that was too late acknowledged %+v", got)
	}
	if c := g.Counts(); c != (Counts{Members: 2, InFlight: 15, Redelivered: 5}) {
		t.Fatalf("counts are %+v", c)
	}
}

// A message that was tried as often as it may be is reported as dead, stays not in flight until it is stored,
// and is reported again when that failed: it is passed over only then (hb-D19: dead letters were dropped when a
// channel was full).
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	g := New(Options{AckTimeout: 10 * ms, MaxAttempts: 2})
	g.Join(1, 10)
	ask(t, g, 1, 3, 10, 0, "0-2 try 1")
	nack(t, g, 1, only(1, 1), 0)
	ack(t, g, 1, only(0, 0), 0)
	ask(t, g, 1, 3, 10, 0, "1-1 try 2")
	nack(t, g, 1, only(1, 1), 100*ms)
	ask(t, g, 1, 3, 10, 0, "nothing")
	dead, wake := g.Expire(0)
	if len(dead) != 1 || dead[0] != (Dead{Offset: 1, Attempts: 2, Reason: "no such customer"}) || wake != 10*ms {
		t.Fatalf("dead %+v, wake at %d", dead, wake)
	}
	g.Refused(only(1, 1), 2*ms)
	if dead, wake = g.Expire(3 * ms); len(dead) > 0 || wake != 10*ms {
		t.Fatalf("dead %+v, wake at %d", dead, wake)
	}
	if dead, wake = g.Expire(2*ms + deadAgain); len(dead) != 1 || dead[0].Reason != "no such customer" || wake != 0 {
		t.Fatalf("dead %+v, wake at %d", dead, wake)
	}
	g.Acknowledged(only(0, 1))
	ask(t, g, 1, 3, 10, 2*ms+deadAgain, "2-2 try 2") // 2 had expired in the meantime
}

// What was acknowledged and did not get into the log comes again, and never becomes a dead letter for it; what
// did after all is passed over, no matter who has it.
func TestRefusedAcknowledgement(t *testing.T) {
	t.Parallel()
	g := New(Options{AckTimeout: 10 * ms, MaxAttempts: 1})
	g.Join(1, 10)
	ask(t, g, 1, 4, 10, 0, "0-3 try 1")
	ack(t, g, 1, only(0, 3), 0)
	g.Refused(only(0, 3), ms)
	if dead, _ := g.Expire(ms); len(dead) > 0 {
		t.Fatalf("dead: %v", dead)
	}
	ask(t, g, 1, 4, 10, ms, "0-3 try 2")
	g.Acknowledged(only(0, 2))
	if got := ack(t, g, 1, only(0, 3), ms); !slices.Equal(got.Taken, only(3, 3)) || len(got.Late) > 0 {
		t.Fatalf("acknowledged %+v", got)
	}
	if c := g.Counts(); c.InFlight != 0 {
		t.Fatalf("counts are %+v", c)
	}
}

// What was not sent comes next and untried, and a member that leaves gives back what
// it has at once.
func TestReturnAndLeave(t *testing.T) {
	t.Parallel()
	g := New(Options{MaxAttempts: 2})
	g.Join(1, 10)
	g.Join(2, 10)
	ask(t, g, 1, 10, 10, 0, "0-9 try 1")
	g.Return(1, 4, 9)
	ask(t, g, 2, 10, 3, 0, "4-6 try 1")
	if c := g.Counts(); c.Redelivered != 0 {
		t.Fatalf("counts are %+v", c)
	}
	g.Leave(1, 5)
	ask(t, g, 2, 10, 3, 5, "0-2 try 2") // all are due, and come in the order of offsets
	ask(t, g, 2, 10, 2, 5, "3-3 try 2")
	ask(t, g, 2, 10, 9, 5, "7-9 try 1")
}

// Losses in company make no dead letter, however many there are: after two the messages are handed out alone,
// one at a time, and only losses then count. The one that kills its members is found, and no other with it.
func TestLossesInCompany(t *testing.T) {
	t.Parallel()
	g := New(Options{MaxAttempts: 2})
	for id := range uint64(2) {
		g.Join(id, 10)
		ask(t, g, id, 3, 10, 0, fmt.Sprintf("0-2 try %d", id+1))
		g.Leave(id, 0)
	}
	g.Join(7, 10)
	g.Join(8, 10)
	ask(t, g, 7, 9, 10, 0, "0-0 try 3")
	ask(t, g, 7, 9, 10, 0, "nothing") // alone
	ask(t, g, 8, 9, 10, 0, "1-1 try 3")
	g.Acknowledged(ack(t, g, 7, only(0, 0), 0).Taken)
	ask(t, g, 7, 9, 10, 0, "2-2 try 3")
	g.Leave(8, 0) // 1 kills its members
	g.Acknowledged(ack(t, g, 7, only(2, 2), 0).Taken)
	ask(t, g, 7, 9, 4, 0, "1-1 try 4")
	g.Leave(7, 0)
	dead, _ := g.Expire(0)
	if len(dead) != 1 || dead[0] != (Dead{Offset: 1, Attempts: 4, Reason: "the member went away"}) {
		t.Fatalf("dead: %+v", dead)
	}
}

// A member with others in flight takes nothing more until it can have a lone message; other members go on, and
// one that has nothing in flight gets it at once.
func TestLoneMessageWaitsForEmptyHands(t *testing.T) {
	t.Parallel()
	g := New(Options{})
	for id := range uint64(2) {
		g.Join(id, 2)
		ask(t, g, id, 2, 2, 0, fmt.Sprintf("0-1 try %d", id+1))
		g.Join(5, 10)
		g.Join(6, 10)
		if id == 1 {
			ask(t, g, 5, 20, 2, 0, "2-3 try 1")
			ask(t, g, 6, 20, 2, 0, "4-5 try 1")
		}
		g.Leave(id, 0)
	}
	ask(t, g, 5, 20, 2, 0, "nothing") // it is to empty its hands
	ask(t, g, 6, 20, 2, 0, "6-7 try 1")
	g.Acknowledged(ack(t, g, 5, only(2, 3), 0).Taken)
	ask(t, g, 5, 20, 2, 0, "0-0 try 3")
	g.Join(9, 5)
	ask(t, g, 9, 20, 5, 0, "1-1 try 3")
	ask(t, g, 6, 20, 2, 0, "8-9 try 1")
}

// A member that works through what it has, one after the other, is not late however long the last has to wait: its
// time runs from its last settlement of something that it got before. What it does nothing about comes back.
func TestSlowMemberIsNotLate(t *testing.T) {
	t.Parallel()
	g := New(Options{AckTimeout: 10 * ms, MaxAttempts: 2})
	g.Join(1, 100)
	for at := range uint64(4) {
		ask(t, g, 1, 100, 25, 0, fmt.Sprintf("%d-%d try 1", 25*at, 25*at+24))
	}
	now := int64(0)
	for o := range uint64(60) {
		now += 9 * ms // nearly all the time that there is
		if dead, _ := g.Expire(now); len(dead) > 0 || g.Counts().InFlight != 100-int(o) {
			t.Fatalf("at %d: dead %v, %+v", o, dead, g.Counts())
		}
		g.Acknowledged(ack(t, g, 1, only(o, o), now).Taken)
	}
	g.Acknowledged(ack(t, g, 1, only(99, 99), now+9*ms).Taken) // got later than the others: it gives them no time
	if _, wake := g.Expire(now + 10*ms); wake != now+19*ms || g.Counts().InFlight != 24 {
		t.Fatalf("%d are in hands, wake at %d", g.Counts().InFlight, wake)
	}
}

// What comes too late and is in flight with no member counts; what another has, or was given up, does not, and
// is reported.
func TestLateAck(t *testing.T) {
	t.Parallel()
	g := New(Options{AckTimeout: 10 * ms, MaxAttempts: 1})
	g.Join(1, 10)
	g.Join(2, 10)
	ask(t, g, 1, 4, 4, 0, "0-3 try 1")
	g.Expire(10 * ms) // lost in company
	ask(t, g, 2, 4, 1, 10*ms, "0-0 try 2")
	nack(t, g, 2, only(0, 0), 0)
	ask(t, g, 2, 4, 1, 10*ms, "1-1 try 2")
	if dead, _ := g.Expire(10 * ms); len(dead) != 1 {
		t.Fatalf("dead: %v", dead)
	}
	got := ack(t, g, 1, only(0, 3), 10*ms)
	if !slices.Equal(got.Taken, only(2, 3)) || !slices.Equal(got.Late, only(0, 1)) {
		t.Fatalf("acknowledged %+v", got)
	}
	if _, strange, ok := func() (Acked, uint64, bool) { return g.Ack(2, only(1, 2), 10*ms) }(); ok || strange != 2 {
		t.Fatalf("a member acknowledged what it was never sent: %d, %v", strange, ok)
	}
	if strange, ok := g.Nack(2, only(0, 3), "", 0, 0); ok || strange != 2 {
		t.Fatalf("a member gave back what it was never sent: %d, %v", strange, ok)
	}
}

// Dead letters are reported in portions.
func TestManyDead(t *testing.T) {
	t.Parallel()
	g := New(Options{AckTimeout: ms, MaxAttempts: 1})
	g.Join(1, 3000)
	ask(t, g, 1, 2500, 3000, 0, "0-2499 try 1")
	nack(t, g, 1, only(0, 2499), 0)
	at := uint64(0)
	for _, want := range []int{1000, 1000, 500, 0} {
		dead, wake := g.Expire(ms)
		if len(dead) != want {
			t.Fatalf("%d dead, want %d", len(dead), want)
		}
		for _, d := range dead {
			if d.Offset != at {
				t.Fatalf("offset %d, want %d", d.Offset, at)
			}
			at++
		}
		if more := at < 2500; more != (wake != 0 && wake <= ms) {
			t.Fatalf("%d were told, and the next is at %d", at, wake)
		}
	}
}

// No order of acknowledgements makes more ranges than the state machine takes; while there are too many, only
// what closes gaps is handed out, and then all continues.
func TestRangesAreBounded(t *testing.T) {
	t.Parallel()
	for _, out := range []uint64{24_000, math.MaxUint64} {
		t.Run(fmt.Sprint(out), func(t *testing.T) { rangesAreBounded(t, out) })
	}
}

// rangesAreBounded hands out so many messages at least, or all that it gets.
func rangesAreBounded(t *testing.T, out uint64) {
	t.Parallel()
	g := New(Options{AckTimeout: ms, MaxAttempts: 100})
	g.Join(1, 1_000_000)
	next, now := uint64(1_000_000), int64(0)
	for g.fresh < out {
		l, ok := g.Next(1, next, 0, 1000, now)
		if !ok {
			break
		}
		g.Sent(1, l.First, l.Last)
		if g.Counts().InFlight > 2*rangesMost {
			t.Fatalf("%d messages are out, up to %d", g.Counts().InFlight, l.Last)
		}
	}
	var odd []broker.Range // the worst that a member can do
	for o := uint64(1); o < g.fresh; o += 2 {
		odd = append(odd, broker.Range{First: o, Last: o})
	}
	g.Acknowledged(ack(t, g, 1, odd, now).Taken)
	if g.ranges > rangesMost || g.ranges < hermes.GroupRanges {
		t.Fatalf("there are %d ranges", g.ranges)
	}
	fresh := g.fresh
	if _, ok := g.Next(1, next, 0, 1, now); ok {
		t.Fatal("something new came")
	}
	g.Expire(ms)
	for now = ms; g.ranges >= hermes.GroupRanges; {
		l, ok := g.Next(1, next, 0, 1000, now)
		if !ok || l.First >= fresh {
			t.Fatalf("got %v, %v with %d ranges", l, ok, g.ranges)
		}
		g.Sent(1, l.First, l.Last)
		g.Acknowledged(ack(t, g, 1, only(l.First, l.Last), now).Taken)
	}
	if err := sound(g); err != nil {
		t.Fatal(err)
	}
	for {
		l, ok := g.Next(1, next, 0, 1000, now)
		if !ok {
			t.Fatal("nothing new comes")
		}
		if l.First >= fresh {
			return
		}
	}
}

// Many spans, each of one message, acknowledged in any order: the blocks of the order
// are cut and go away again.
func TestManySpans(t *testing.T) {
	t.Parallel()
	g := New(Options{})
	const n = 5000
	g.Join(1, n)
	for o := range uint64(n) {
		ask(t, g, 1, n, 1, 0, fmt.Sprintf("%d-%d try 1", o, o))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i, o := range rng.Perm(n) {
		if got := ack(t, g, 1, only(uint64(o), uint64(o)), 0); len(got.Taken) != 1 {
			t.Fatalf("offset %d: took %+v", o, got)
		}
		g.Acknowledged(only(uint64(o), uint64(o)))
		if i%100 == 0 {
			if err := sound(g); err != nil {
				t.Fatal(err)
			}
		}
	}
	if g.floor != n || len(g.spans.blocks) != 0 || len(g.watch) != 0 {
		t.Fatalf("floor is %d, %d blocks are left", g.floor, len(g.spans.blocks))
	}
}

// A seek forgets messages in flight, and an acknowledgement of it is none.
func TestSeek(t *testing.T) {
	t.Parallel()
	g := New(Options{})
	g.Join(1, 10)
	ask(t, g, 1, 10, 10, 0, "0-9 try 1")
	g.Seek(5)
	if got := ack(t, g, 1, only(0, 9), 0); len(got.Taken) != 0 || !slices.Equal(got.Late, only(5, 9)) {
		t.Fatalf("took %+v", got)
	}
	ask(t, g, 1, 10, 10, 0, "5-9 try 1")
	g.Seek(0)
	ask(t, g, 1, 10, 10, 0, "0-9 try 1")
}

// The cost of a message that is handed out and acknowledged, in leases of a size.
func BenchmarkGroup(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("lease=%d", size), func(b *testing.B) {
			g := New(Options{})
			g.Join(1, 1000)
			b.ReportAllocs()
			now := int64(0)
			for i := 0; i < b.N; i += size {
				now++
				l, ok := g.Next(1, 1<<62, 0, size, now)
				if !ok {
					b.Fatal("nothing")
				}
				g.Sent(1, l.First, l.Last)
				a, _, _ := g.Ack(1, []broker.Range{{First: l.First, Last: l.Last}}, now)
				g.Acknowledged(a.Taken)
			}
		})
	}
	// Behind one message that is not dealt with, and among ten thousand that are out.
	b.Run("scattered", func(b *testing.B) {
		g := New(Options{})
		g.Join(1, 20_000)
		var out []uint64
		rng := rand.New(rand.NewPCG(1, 1))
		b.ReportAllocs()
		for range b.N {
			l, ok := g.Next(1, 1<<62, 0, 1, 0)
			if !ok {
				b.Fatal("nothing")
			}
			g.Sent(1, l.First, l.Last)
			out = append(out, l.First)
			if len(out) < 10_000 {
				continue
			}
			i := 1 + rng.IntN(min(len(out)-1, 5000))
			o := out[i]
			out[i], out = out[len(out)-1], out[:len(out)-1]
			a, _, _ := g.Ack(1, []broker.Range{{First: o, Last: o}}, 0)
			g.Acknowledged(a.Taken)
		}
	})
}
