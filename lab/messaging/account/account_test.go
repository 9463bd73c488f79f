package account_test

import (
	"math/rand/v2"
	"testing"

	"wirelab/lab/messaging/account"
)

// world is a run with two sequences under two topics. One group reads each topic.
type world struct {
	*testing.T
	ledger *account.Ledger
	at     int64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	l, err := account.New(account.Options{Run: 7, Size: 64, Sequences: []int{0, 1}, Topics: 2, Audiences: []int{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	l.Window(100, 1_000_000)
	return &world{T: t, ledger: l, at: 100}
}

func (w *world) send(sequence int) []byte {
	w.at++
	number, body := w.ledger.Write(sequence, w.at, true)
	w.ledger.Answered(sequence, number, true)
	return body
}

func (w *world) arrive(group int, bodies ...[]byte) {
	for _, b := range bodies {
		w.at += 10
		w.ledger.ConsumerGroup(group).Arrived(b, w.at)
	}
}

func (w *world) want(want account.Account) {
	w.Helper()
	if got := w.ledger.Account(); got != want {
		w.Errorf("account is\n%+v, want\n%+v", got, want)
	}
}

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 40_000 { // more than one chunk
		w.arrive(0, w.send(0))
	}
	w.arrive(1, w.send(1))
	w.want(account.Account{Sent: 40_001, Acknowledged: 40_001, Expected: 40_001, Delivered: 40_001})
	if !w.ledger.Complete() || w.ledger.Backlog() != 0 {
		t.Errorf("complete %v, backlog %d", w.ledger.Complete(), w.ledger.Backlog())
	}
	if times := w.ledger.ConsumerGroup(0).
		Times(); times.Delivered.Count() != 40_000 || times.InWindow != 40_000 || times.After != 0 ||
		times.Delivered.Quantile(0.5) != 10 {
		t.Errorf(
			"%d times, %d in the window, %d after it, median %d",
			times.Delivered.Count(),
			times.InWindow,
			times.After,
			times.Delivered.Quantile(0.5),
		)
	}
}

// A duplicate does not hide a loss, and a loss does not hide a duplicate (docs/origins.md hb-M04, hb-M05, hb-M19).
func TestEachFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second, third, fourth := w.send(0), w.send(0), w.send(0), w.send(0)
	other := w.send(1)
	w.arrive(0, first, first, third, second) // one duplicated, one out of order, the fourth lost
	fourth[50] ^= 1
	w.arrive(0, fourth, other) // one changed on its way, and one of another topic
	w.arrive(1, other, nil, make([]byte, 64))
	foreign := newWorld(t)
	foreign.ledger, _ = account.New(account.Options{Run: 8, Size: 64, Sequences: []int{0}, Topics: 1})
	w.arrive(0, foreign.send(0))
	w.want(account.Account{
		Sent: 5, Acknowledged: 5, Expected: 5, Delivered: 4, Missing: 1,
		Duplicated: 1, Reordered: 1, Corrupted: 3, Misrouted: 1, Stray: 1,
	})
	if w.ledger.Complete() {
		t.Error("complete with a message missing")
	}
}

func TestNeverSent(t *testing.T) {
	t.Parallel()
	w, ahead := newWorld(t), newWorld(t)
	w.arrive(0, w.send(0))
	ahead.send(0)
	w.arrive(0, ahead.send(0)) // number 1, which w has not sent
	w.want(account.Account{Sent: 1, Acknowledged: 1, Expected: 1, Delivered: 1, Stray: 1})
}

func TestUnsure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	number, body := w.ledger.Write(0, 1, true)
	w.ledger.Answered(0, number, false)
	lost, _ := w.ledger.Write(0, 2, true)
	w.ledger.Answered(0, lost, false)
	w.arrive(0, body, body)
	w.want(account.Account{Sent: 2, Unsure: 2, Kept: 1, Redelivered: 1})
}

// A message that was sent before a failure ended may arrive again or late once the failure has begun. No other
// message may.
func TestDisturbed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	early, next := w.send(0), w.send(0)
	w.arrive(0, early, early) // before the failure
	w.ledger.Disturb(account.During)
	failing := w.send(0)
	w.arrive(0, failing, early, next) // again and late, both excused
	w.ledger.Disturb(account.After)
	w.arrive(0, failing)
	after, last := w.send(0), w.send(0)
	w.arrive(0, last, after, after) // neither is excused
	w.want(account.Account{
		Sent: 5, Acknowledged: 5, Expected: 5, Delivered: 5,
		Duplicated: 2, Redelivered: 2, Reordered: 1, Displaced: 1,
	})
}

// A message that readers had finished before a failure is not excused if it arrives again or late.
func TestDealtWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, late, newer := w.send(0), w.send(0), w.send(0)
	w.arrive(0, old, newer)
	w.ledger.Dealt()
	fresh := w.send(0)
	w.arrive(0, fresh)
	w.ledger.Disturb(account.During)
	w.arrive(0, old, late, fresh) // again and late without reason, and again with one
	w.want(
		account.Account{
			Sent: 4, Acknowledged: 4, Expected: 4, Delivered: 4, Duplicated: 1, Redelivered: 1,
			Reordered: 1,
		},
	)
}

func TestGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ledger.Window(0, 1000)
	for _, at := range []int64{100, 200, 700, 800} {
		_, body := w.ledger.Write(0, 1, true)
		w.ledger.ConsumerGroup(0).Arrived(body, at)
	}
	w.ledger.ConsumerGroup(1).Arrived(w.send(1), 950)
	if got := w.ledger.Gap(); got != 950 {
		t.Errorf("longest gap is %d, want that before the second audience's first", got)
	}
}

func TestStampIsRead(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		l, err := account.New(
			account.Options{Run: r.Uint64(), Size: account.StampSize + r.IntN(300), Sequences: []int{0}, Topics: 1},
		)
		if err != nil {
			t.Fatal(err)
		}
		due := r.Int64()
		_, body := l.Write(0, due, true)
		s, whole := account.Read(body)
		if !whole || s.Due != due || !s.Recorded {
			t.Fatalf("read %+v, %v", s, whole)
		}
		body[r.IntN(len(body))] ^= byte(1 + r.IntN(255))
		if _, whole = account.Read(body); whole {
			t.Fatal("a changed byte was not seen")
		}
	}
}

func FuzzArrived(f *testing.F) {
	l, err := account.New(
		account.Options{Run: 1, Size: account.StampSize, Sequences: []int{0}, Topics: 1, Audiences: []int{0}},
	)
	if err != nil {
		f.Fatal(err)
	}
	_, body := l.Write(0, 1, false)
	f.Add(body)
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, body []byte) { l.ConsumerGroup(0).Arrived(body, 1) })
}
