package storetest

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/results/store"
)

// News is the progress of the experiment of [Sample] n while it runs.
func News(n int) store.Running {
	s := Sample(n)
	r := store.StartRunning(s.ID, s.Began, s.Plan, s.Environment.Host)
	r.Phase, r.Round, r.RoundsMin, r.RoundsMax, r.Step, r.Steps = "measuring", 3, 10, 100, 4, 12
	r.Arm, r.Load = r.ArmNames[0], r.LoadNames[0]
	r.Elapsed, r.Left, r.Width, r.Goal = plan.Duration(90*time.Second), plan.Duration(time.Minute), 0.031, 0.02
	r.Standing = &store.Standing{Round: 2, Analysis: json.RawMessage(`{"loads":[{"name":"é"}]}`)}
	return r
}

// report stores progress that was reported some time ago.
func report(t *testing.T, s store.Store, r store.Running, ago time.Duration) {
	t.Helper()
	if ago > 0 {
		r.Reported = time.Now().Add(-ago)
	}
	if err := s.Report(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// running returns what runs now, as a map by id.
func running(t *testing.T, s store.Store) map[string]store.Running {
	t.Helper()
	all, err := s.Running(t.Context())
	if err != nil || all == nil {
		t.Fatalf("running: %v, %v; want a list", all, err)
	}
	byID := map[string]store.Running{}
	for i, r := range all {
		if i > 0 && r.ID >= all[i-1].ID {
			t.Errorf("%s comes after %s: not the latest first", r.ID, all[i-1].ID)
		}
		byID[r.ID] = r
	}
	return byID
}

// testRunning checks that progress is returned as it was reported, only the latest, and that it can be removed.
func testRunning(t *testing.T, s store.Store) {
	if all := running(t, s); len(all) != 0 {
		t.Errorf("an empty store: %+v", all)
	}
	want := News(0)
	before := time.Now()
	report(t, s, want, 0)
	want.Phase, want.Round = "round over", 4
	later := want
	later.Standing = nil // the previous standing remains
	report(t, s, later, 0)
	report(t, s, News(1), 0)
	all := running(t, s)
	got := all[want.ID]
	// The clock may be another machine's, close to that of the test.
	if got.Reported.Before(before.Add(-time.Minute)) || got.Reported.After(time.Now().Add(time.Minute)) ||
		got.Reported.Location() != time.UTC {
		t.Errorf("told at %v", got.Reported)
	}
	got.Reported = time.Time{}
	if !reflect.DeepEqual(got, want) || len(all) != 2 {
		t.Errorf("%d run, this one as\n%+v\nwant\n%+v", len(all), got, want)
	}
	want.Standing = &store.Standing{Round: 3, Analysis: json.RawMessage(`{}`)}
	report(t, s, want, 0)
	if got := running(t, s)[want.ID]; !reflect.DeepEqual(got.Standing, want.Standing) {
		t.Errorf("standing %+v, want %+v", got.Standing, want.Standing)
	}
	for range 2 { // the second time there is nothing to remove
		if err := s.Forget(t.Context(), want.ID); err != nil {
			t.Fatal(err)
		}
	}
	if all := running(t, s); len(all) != 1 || all[News(1).ID].ID == "" {
		t.Errorf("after one was forgotten: %+v", all)
	}
}

// testStale checks that an experiment without progress is marked as stale, and is later removed, from the store too.
func testStale(t *testing.T, s store.Store) {
	report(t, s, News(0), 0)
	report(t, s, News(1), store.StaleAfter+time.Second)
	report(t, s, News(2), store.StaleAfter-10*time.Second)
	report(t, s, News(3), store.ForgottenAfter+time.Second)
	all := running(t, s)
	for n, stale := range []bool{false, true, false} {
		if got, there := all[News(n).ID]; !there || got.Stale != stale {
			t.Errorf("experiment %d: there %t, stale %t, want %t", n, there, got.Stale, stale)
		}
	}
	if len(all) != 3 {
		t.Errorf("%d experiments; what has told nothing for so long is to be gone", len(all))
	}
	// With new progress it is no longer stale.
	report(t, s, News(1), 0)
	if got := running(t, s)[News(1).ID]; got.Stale {
		t.Error("stale, in spite of news")
	}
}

// testStored checks that an experiment no longer runs once its result is stored, and still runs if its result is
// refused.
func testStored(t *testing.T, s store.Store) {
	put(t, s, 1, 2)
	report(t, s, News(0), 0)
	report(t, s, News(1), 0)
	refused(t, "again", s.Put(t.Context(), Small(1)), wirelab.Conflict)
	if all := running(t, s); len(all) != 2 {
		t.Errorf("%d run, want 2", len(all))
	}
	put(t, s, 0, 1)
	if all := running(t, s); len(all) != 1 || all[News(1).ID].ID == "" {
		t.Errorf("stored, and still running: %+v", all)
	}
}

func testNewsRefused(t *testing.T, s store.Store) {
	for name, spoil := range map[string]func(*store.Running){
		"no id":                func(r *store.Running) { r.ID = "" },
		"an id with paths":     func(r *store.Running) { r.ID = "../../../r-20261121-140512-7f3a" },
		"no phase":             func(r *store.Running) { r.Phase = "" },
		"NUL":                  func(r *store.Running) { r.Arm = "a\x00b" },
		"NUL in a list":        func(r *store.Running) { r.ArmNames = []string{"a\x00b"} },
		"not text":             func(r *store.Running) { r.Name = "\xff" },
		"an analysis not JSON": func(r *store.Running) { r.Standing.Analysis = json.RawMessage("{") },
		"an analysis too long": func(r *store.Running) {
			r.Standing.Analysis = json.RawMessage(`"` + strings.Repeat("a", 1<<20) + `"`)
		},
	} {
		r := News(0)
		spoil(&r)
		refused(t, name, s.Report(t.Context(), r), wirelab.InvalidArgument)
	}
	if all := running(t, s); len(all) != 0 {
		t.Errorf("left behind: %+v", all)
	}
}

// testNewsAtOnce reports from many goroutines while results are stored. The last report of each remains, or its
// Report returned an error because there was no time for it.
func testNewsAtOnce(t *testing.T, s store.Store) {
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			for round := 1; round <= 5; round++ {
				r := News(n)
				r.Round = round
				if err := s.Report(t.Context(), r); err != nil && wirelab.CodeOf(err) != wirelab.Unavailable {
					t.Errorf("report: %v", err)
				}
				if err := s.Put(t.Context(), Small(100+10*n+round)); err != nil {
					t.Errorf("put: %v", err)
				}
			}
		})
	}
	group.Wait()
	if all := running(t, s); len(all) != 4 {
		t.Errorf("%d run, want 4", len(all))
	}
}
