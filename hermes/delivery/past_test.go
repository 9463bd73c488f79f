package delivery_test

import (
	"reflect"
	"slices"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/delivery"
)

func at(offset uint64) []broker.Range { return []broker.Range{{First: offset, Last: offset}} }

// take leases one message to a member, and notes that it was sent.
func take(t *testing.T, g *delivery.Group, member uint64, now int64) delivery.Lease {
	t.Helper()
	l, ok := g.Next(member, 10, 0, 1, now)
	if !ok {
		t.Fatal("there is nothing")
	}
	g.Sent(member, l.First, l.Last)
	return l
}

// The next leader continues with the failed attempts that the last one recorded: how many, until when, and that a
// message that was tried too often is a dead letter.
func TestAttemptsAreTakenOver(t *testing.T) {
	t.Parallel()
	o := delivery.Options{AckTimeout: 100, MaxAttempts: 2}
	g := delivery.New(o)
	g.Join(1, 10)
	for _, again := range []int64{500, 0} {
		l := take(t, g, 1, 1)
		if _, ok := g.Nack(1, at(l.First), "no", 1, again); !ok {
			t.Fatal("it was not sent")
		}
	}
	failed := g.Failed()
	want := []delivery.Tried{{Range: at(0)[0], Attempts: 1, Due: 500}, {Range: at(1)[0], Attempts: 1}}
	if !reflect.DeepEqual(failed, want) || g.HasFailed() {
		t.Fatalf("%+v, want %+v", failed, want)
	}
	o.Tried = slices.Concat(failed, []delivery.Tried{{Range: at(3)[0], Attempts: 2}, {
		Range: at(4)[0], Attempts: 3,
		Lost: 2,
	}})
	o.Floor = 1 // one of them is dealt with in the meantime
	g = delivery.New(o)
	g.Join(1, 10)
	if dead, _ := g.Expire(2); len(dead) != 1 || dead[0].Offset != 3 || dead[0].Attempts != 2 {
		t.Errorf("dead letters: %+v", dead)
	}
	// 4 was lost in company twice: it goes alone, before all else.
	if l := take(t, g, 1, 2); l.First != 4 || l.Attempt != 4 {
		t.Errorf("%+v", l)
	}
	if _, ok := g.Next(1, 10, 0, 1, 2); ok {
		t.Error("something together with a message that goes alone")
	}
	if a, _, ok := g.Ack(1, at(4), 2); !ok || len(a.Taken) != 1 {
		t.Errorf("%+v", a)
	}
	if l := take(t, g, 1, 2); l.First != 1 || l.Attempt != 2 {
		t.Errorf("%+v", l)
	}
	if l := take(t, g, 1, 2); l.First != 2 || l.Attempt != 1 {
		t.Errorf("%+v", l)
	}
}

// A member that goes away fails what it had, and that is reported in few ranges.
func TestLossIsToldTogether(t *testing.T) {
	t.Parallel()
	g := delivery.New(delivery.Options{AckTimeout: 100})
	g.Join(1, 10)
	if l, ok := g.Next(1, 10, 0, 8, 1); !ok || l.Last != 7 {
		t.Fatalf("%+v", l)
	}
	g.Leave(1, 2)
	want := []delivery.Tried{{Range: broker.Range{First: 0, Last: 7}, Attempts: 1, Lost: 1}}
	if failed := g.Failed(); !reflect.DeepEqual(failed, want) {
		t.Errorf("%+v, want %+v", failed, want)
	}
}
