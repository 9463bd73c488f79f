package storetest

import (
	"testing"
	"time"

	"wirelab/results/store"
)

// testPages goes through a list page by page while results are added and removed: no result that exists all the time
// is repeated or missed (grb-D12).
func testPages(t *testing.T, s store.Store) {
	const all = 9
	for n := range all {
		r := Small(n)
		r.Began = Sample(n / 3 * 3).Began // three of them with the same beginning
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	next := 20
	for _, limit := range []int{1, 2, 3, 4, all} {
		seen := map[string]int{}
		var last store.Cursor
		for range 10 * all { // the bound is for a cursor that makes no progress
			list, err := s.List(t.Context(), store.Filter{Workload: "routeguide", Limit: limit, After: last})
			if err != nil || len(list) > limit {
				t.Fatalf("pages of %d: %d summaries, %v", limit, len(list), err)
			}
			if len(list) == 0 {
				break
			}
			for _, m := range list {
				seen[m.ID]++
			}
			// The cursor is converted to text and back, as in addresses.
			if last, err = store.ParseCursor(list[len(list)-1].Cursor().String()); err != nil {
				t.Fatal(err)
			}
			put(t, s, next, next+1) // a result that begins later comes first in the list
			if list[0].ID > Sample(20).ID {
				// Delete the very result that the page began with.
				if err := s.Delete(t.Context(), list[0].ID); err != nil {
					t.Fatal(err)
				}
			}
			next++
		}
		for n := range all {
			if id := Sample(n).ID; seen[id] != 1 {
				t.Errorf("pages of %d: %s comes %d times", limit, id, seen[id])
			}
		}
	}
	// The place of a deleted result is still a place.
	gone := store.Summarize(Small(2)).Cursor()
	gone.Began = Sample(0).Began
	if err := s.Delete(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(t.Context(), store.Filter{After: gone}); err != nil || len(list) != 2 ||
		list[0].ID != Sample(1).ID {
		t.Errorf("after one that is gone: %+v, %v", list, err)
	}
}

func testTotal(t *testing.T, s store.Store) {
	if got, err := s.Total(t.Context(), store.Filter{}); err != nil || got != (store.Total{}) {
		t.Errorf("empty store: %+v, %v", got, err)
	}
	put(t, s, 0, 6)
	list, err := s.List(t.Context(), store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, m := range list {
		sum += int64(m.Bytes)
	}
	for name, c := range map[string]struct {
		filter store.Filter
		want   int
	}{
		"all":                     {store.Filter{}, 6},
		"whatever limit":          {store.Filter{Limit: 2}, 6},
		"whatever place":          {store.Filter{After: list[3].Cursor()}, 6},
		"an operation":            {store.Filter{Operation: "ListFeatures"}, 3},
		"a protocol and a time":   {store.Filter{Protocol: "connect", Since: Sample(2).Began}, 1},
		"a machine":               {store.Filter{Host: "lab", Until: Sample(2).Began.Add(-time.Minute)}, 2},
		"a machine of other name": {store.Filter{Host: "LAB"}, 0},
	} {
		got, err := s.Total(t.Context(), c.filter)
		if err != nil || got.Results != c.want || c.want == 6 && got.Bytes != sum || c.want < 6 && got.Bytes >= sum {
			t.Errorf("%s: %+v, %v; want %d, of %d bytes in all", name, got, err, c.want, sum)
		}
	}
}
