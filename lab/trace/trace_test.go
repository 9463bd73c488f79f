package trace_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/trace"
	"wirelab/pipeline/journal"
)

const ms = int64(time.Millisecond)

// way is the history of an invented entry, in ms from the beginning.
type way struct {
	caller                     int
	due, sent, ended           int64
	failed, outside            bool
	confirmed, stored, another int64 // 0: never
}

// told puts entries into a book, named by their index, and accounts for them at 1 s.
func told(t *testing.T, ways ...way) result.Followed {
	t.Helper()
	b := trace.NewBook()
	for i, w := range ways {
		if err := b.Note(trace.Call{
			ID: fmt.Sprint(i), Caller: w.caller, Due: w.due * ms, Sent: w.sent * ms, Ended: w.ended * ms,
			Failed: w.failed, Outside: w.outside,
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i, w := range ways {
		for what, at := range map[journal.What]int64{
			journal.Confirmed: w.confirmed, journal.Stored: w.stored,
			journal.Duplicate: w.another,
		} {
			if at > 0 {
				b.Tell(journal.Event{ID: fmt.Sprint(i), What: what, At: time.Unix(0, at*ms)})
			}
		}
	}
	a := b.Account(1000 * ms)
	if err := a.Whole(); err != nil {
		t.Error(err)
	}
	return a
}

// well is an entry of a caller that is stored without a fault.
func well(caller int, at int64) way {
	return way{caller: caller, due: at, sent: at + 1, ended: at + 3, confirmed: at + 2, stored: at + 10}
}

// Lost, duplicated, reordered and kept entries are counted separately, by id: a duplicate does not hide a loss
// (ms-M15, R2).
func TestAccountOfFaults(t *testing.T) {
	t.Parallel()
	fine := []way{well(0, 100), well(1, 100), well(0, 200), well(1, 205)}
	counts := func(a result.Followed) [9]uint64 {
		return [...]uint64{
			a.Sent, a.Accepted, a.Refused, a.Confirmed, a.Stored, a.Missing, a.Duplicated, a.Reordered,
			a.Kept,
		}
	}
	for what, c := range map[string]struct {
		plant func(w []way)
		want  [9]uint64
	}{
		"nothing":     {func([]way) {}, [9]uint64{4, 4, 0, 4, 4, 0, 0, 0, 0}},
		"lost":        {func(w []way) { w[2].stored = 0 }, [9]uint64{4, 4, 0, 4, 3, 1, 0, 0, 0}},
		"unconfirmed": {func(w []way) { w[2].confirmed = 0 }, [9]uint64{4, 4, 0, 3, 4, 0, 0, 0, 0}},
		"came twice":  {func(w []way) { w[1].another = 300 }, [9]uint64{4, 4, 0, 4, 4, 0, 1, 0, 0}},
		"one lost, one two": {
			func(w []way) { w[2].stored, w[1].another = 0, 300 },
			[9]uint64{4, 4, 0, 4, 3, 1, 1, 0, 0},
		},
		"overtaken": {func(w []way) { w[0].stored = 400 }, [9]uint64{4, 4, 0, 4, 4, 0, 0, 1, 0}},
		"overtaken by another caller's": {
			func(w []way) { w[0].stored, w[2].stored, w[1].stored = 209, 210, 400 },
			[9]uint64{4, 4, 0, 4, 4, 0, 0, 1, 0}, // 3 overtook 1, both of caller 1; 0 and 2 are in order
		},
		"refused": {
			func(w []way) { w[3].failed, w[3].confirmed, w[3].stored = true, 0, 0 },
			[9]uint64{4, 3, 1, 3, 3, 0, 0, 0, 0},
		},
		"refused and kept": {func(w []way) { w[3].failed = true }, [9]uint64{4, 3, 1, 3, 3, 0, 0, 0, 1}},
		"before the window": {
			func(w []way) { w[0].outside, w[0].stored = true, 0 },
			[9]uint64{3, 3, 0, 3, 3, 0, 0, 0, 0},
		},
	} {
		ways := slices.Clone(fine)
		c.plant(ways)
		if got := counts(told(t, ways...)); got != c.want {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

// Confirmed and stored are both measured from when an entry was due, so that calls and queues can be compared
// (ms-M01, R1, R3).
func TestTimesAreFromDue(t *testing.T) {
	t.Parallel()
	a := told(t, way{due: 100, sent: 140, ended: 150, confirmed: 145, stored: 180})
	if got := a.ConfirmedAfter.Max(); got < 45*ms*999/1000 || got > 45*ms*1001/1000 {
		t.Errorf("confirmed after %v, want 45ms", time.Duration(got))
	}
	if got := a.StoredAfter.Max(); got < 80*ms*999/1000 || got > 80*ms*1001/1000 {
		t.Errorf("stored after %v, want 80ms", time.Duration(got))
	}
	if a.Drained > 0 {
		t.Errorf("drained after %v, and it was stored in the window", a.Drained)
	}
	if a := told(t, way{
		due: 100, sent: 100, ended: 110,
		stored: 1250,
	}); a.Drained != plan.Duration(250*time.Millisecond) {
		t.Errorf("drained after %v, want 250ms", a.Drained)
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	a := told(t,
		way{due: 1, sent: 1, ended: 10, stored: 350},
		way{due: 20, sent: 20, ended: 30, stored: 150},
		way{due: 120, sent: 120, ended: 140, stored: 145},
		way{due: 130, sent: 130, ended: 260, stored: 160}, // stored before its caller got the reply
	)
	if want := []int32{2, 1, 1, 0, 0}; len(a.Backlog) != 1 || !slices.Equal(a.Backlog[0], want) {
		t.Errorf("backlog %v, want %v", a.Backlog, want)
	}
	if a := told(t, way{due: 1, sent: 1, ended: 2, failed: true}); len(a.Backlog[0]) != 0 {
		t.Errorf("backlog %v of nothing accepted", a.Backlog)
	}
}

func TestBookRefuses(t *testing.T) {
	t.Parallel()
	b := trace.NewBook()
	for i, want := range []bool{false, true} {
		if err := b.Note(trace.Call{ID: "same"}); (err != nil) != want ||
			want && wirelab.CodeOf(err) != wirelab.Conflict {
			t.Errorf("note %d: %v", i, err)
		}
	}
	if b.Open() != 1 {
		t.Errorf("%d open", b.Open())
	}
	b.Tell(journal.Event{ID: "same", What: journal.Stored, At: time.Unix(1, 0)})
	b.Tell(journal.Event{ID: "same", What: journal.Stored, At: time.Unix(2, 0)})
	b.Tell(journal.Event{ID: "of nobody", What: journal.Stored, At: time.Unix(1, 0)})
	b.Lose(3)
	if a := b.Account(0); a.Duplicated != 1 || a.Stray != 1 || a.Lost != 3 || b.Open() != 0 {
		t.Errorf("%+v, %d open", a, b.Open())
	}
}

// An entry is not missing if a journal dropped the event that reported it. That holds for at most as many entries as
// events were lost.
func TestWhatAJournalForgotIsNotMissing(t *testing.T) {
	t.Parallel()
	for lost, want := range map[uint64]string{0: "3 0", 1: "2 1", 3: "0 3", 9: "0 3"} {
		b := trace.NewBook()
		for i := range 5 {
			id := fmt.Sprint(i)
			if err := b.Note(trace.Call{ID: id, Due: 1, Sent: 1, Ended: 2}); err != nil {
				t.Fatal(err)
			}
			if i < 2 {
				b.Tell(journal.Event{ID: id, What: journal.Stored, At: time.Unix(1, 0)})
			}
		}
		b.Lose(lost)
		a := b.Account(0)
		if got := fmt.Sprint(a.Missing, a.Unknown); got != want || a.Stored+a.Missing+a.Unknown != a.Accepted ||
			a.Lost != lost {
			t.Errorf("with %d lines lost, missing and unknown are %s, want %s: %+v", lost, got, want, a)
		}
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	one, two := told(t, well(0, 1), well(0, 20)), told(t, well(0, 1), way{due: 3, sent: 3, ended: 4, failed: true})
	var sum *result.Followed
	sum = sum.Add(one).Add(two)
	if err := sum.Whole(); err != nil || sum.Sent != 4 || sum.Stored != 3 || len(sum.Backlog) != 2 {
		t.Errorf("%+v, %v", sum, err)
	}
	sum.Stored++
	if sum.Whole() == nil {
		t.Error("an edited account passes as complete")
	}
}
