package databasetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/logging"
)

func removeTests() map[string]func(*testing.T, logging.Service) {
	return map[string]func(*testing.T, logging.Service){
		"what was stored before a time goes":             testRemove,
		"removed ids are free again":                     testForgotten,
		"a removal without a time is refused":            testRemoveRefused,
		"several remove, and each entry is counted once": testRemoveTogether,
		"removing ends while others write":               testRemoveWhileWriting,
	}
}

// remove removes what was stored before a time.
func remove(t *testing.T, s logging.Service, before time.Time) int64 {
	t.Helper()
	deleted, err := s.DeleteEntries(limited(t), logging.Retention{Before: before})
	if err != nil {
		t.Errorf("remove: %v", err)
	}
	return deleted.Count
}

// testRemove: removed entries are gone from every reply, and the others are unchanged (S14).
func testRemove(t *testing.T, s logging.Service) {
	if n := remove(t, s, time.Now().Truncate(time.Microsecond)); n != 0 {
		t.Errorf("of nothing %d were removed", n)
	}
	all := fill(t, s, 30)
	for _, c := range []struct {
		why         string
		before      time.Time
		count, left int
	}{
		{"long ago", time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC), 0, 30},
		{"the time of the first, which is not before it", all[0].At, 0, 30},
		{"a microsecond later", all[0].At.Add(time.Microsecond), 1, 29},
		{"the same again", all[0].At.Add(time.Microsecond), 0, 29},
		{"an earlier one", all[0].At, 0, 29},
		{"the time of one", all[17].At, 16, 13},
		{"in another zone", all[20].At.In(time.FixedZone("", -7200)), 3, 10},
		{"the future", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 10, 0},
	} {
		if n := remove(t, s, c.before); n != int64(c.count) {
			t.Errorf("%s: %d were removed, want %d", c.why, n, c.count)
		}
		left := all[30-c.left:]
		same(t, c.why, pages(t, s, logging.Query{Limit: 7}), keep(left, every))
		same(t, c.why+", of a name", pages(t, s, logging.Query{Name: "name-1"}),
			keep(left, func(e logging.Stored) bool { return e.Name == "name-1" }))
		same(t, c.why+", since", pages(t, s, logging.Query{Since: all[3].At}),
			keep(left, func(e logging.Stored) bool { return !e.At.Before(all[3].At) }))
		same(t, c.why+", until", pages(t, s, logging.Query{Until: all[25].At}),
			keep(left, func(e logging.Stored) bool { return e.At.Before(all[25].At) }))
		for i, e := range all {
			_, err := s.GetEntry(t.Context(), logging.EntryID{ID: e.ID})
			if gone := i < 30-c.left; gone != (err != nil) || gone && wirelab.CodeOf(err) != wirelab.NotFound {
				t.Errorf("%s: entry %s: %v", c.why, e.ID, err)
			}
		}
	}
}

// The id of what was removed is free, and its position is not given again.
func testForgotten(t *testing.T, s logging.Service) {
	all := fill(t, s, 4)
	last := all[3].Position
	for round := range 3 {
		if n := remove(t, s, time.Now().Add(time.Hour).Truncate(time.Microsecond)); n == 0 {
			t.Error("nothing was removed")
		}
		if _, err := s.WriteLog(t.Context(), logging.Entry{ID: "e0", Name: "n", Data: fmt.Sprint(round)}); err != nil {
			t.Errorf("another content under the id of what was removed: %v", err)
		}
		if got := get(t, s, "e0"); got.Position <= last || got.Data != fmt.Sprint(round) {
			t.Errorf("stored behind position %d: %v", last, got)
		} else {
			last = got.Position
		}
		wantOrdered(t, pages(t, s, logging.Query{}), 1)
	}
}

func testRemoveRefused(t *testing.T, s logging.Service) {
	all := fill(t, s, 3)
	for why, before := range map[string]time.Time{
		"no time":       {},
		"a fine time":   time.Now().Truncate(time.Microsecond).Add(time.Hour + 1),
		"a year before": time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
		"a year after":  time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		_, err := s.DeleteEntries(t.Context(), logging.Retention{Before: before})
		wantCode(t, why, err, wirelab.InvalidArgument)
	}
	same(t, "after that", pages(t, s, logging.Query{}), keep(all, every))
}

func testRemoveTogether(t *testing.T, s logging.Service) {
	all := fill(t, s, 50)
	var count atomic.Int64
	var removers sync.WaitGroup
	for n := range 4 {
		removers.Go(func() {
			for i := range 5 {
				count.Add(remove(t, s, all[8*i+n].At))
			}
		})
	}
	removers.Wait()
	if count.Load() != 35 { // up to the last that one of them asked for, 8*4+3
		t.Errorf("%d were removed, want 35", count.Load())
	}
	same(t, "the rest", pages(t, s, logging.Query{}), keep(all[35:], every))
}

// testRemoveWhileWriting: an entry stored during a removal is still there or was counted, and a removal ends
// although the log grows.
func testRemoveWhileWriting(t *testing.T, s logging.Service) {
	ctx := limited(t)
	stop := make(chan struct{})
	var written, removed atomic.Int64
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.WriteLog(ctx, logging.Entry{Name: "n"}); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				written.Add(1)
			}
		})
	}
	for written.Load() == 0 && ctx.Err() == nil { // until there is something to remove
	}
	for range 10 {
		removed.Add(remove(t, s, time.Now().Add(time.Hour).Truncate(time.Microsecond)))
	}
	close(stop)
	writers.Wait()
	if left := len(pages(t, s, logging.Query{})); int64(left)+removed.Load() != written.Load() {
		t.Errorf("%d were written, %d removed, %d are left", written.Load(), removed.Load(), left)
	}
}
