package store_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/results/store"
	"wirelab/results/store/storetest"
)

// slow is a store that takes the set time for each report.
type slow struct {
	store.Store // nil: nothing else is to be called
	takes       time.Duration
	refuse      func(store.Running) error

	mu        sync.Mutex // guards all below
	told      []store.Running
	at        []time.Time
	forgotten []string
}

func (s *slow) Report(ctx context.Context, r store.Running) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.takes):
	}
	if s.refuse != nil {
		if err := s.refuse(r); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told, s.at = append(s.told, r), append(s.at, time.Now())
	return nil
}

func (s *slow) Forget(_ context.Context, id string) error {
	s.forgotten = append(s.forgotten, id)
	return nil
}

// tellAlong reports slices of 30 ms for a minute, and returns how long it waited.
func tellAlong(r *store.Reporter, standing *store.Standing) (waited time.Duration, last store.Running) {
	sample := storetest.Sample(0)
	n := store.StartRunning(sample.ID, sample.Began, sample.Plan, "lab")
	n.Phase, n.Standing = "measuring", standing
	for step := range 2000 {
		n.Step, n.Elapsed = step, plan.Duration(step)*plan.Duration(30*time.Millisecond)
		before := time.Now()
		r.Tell(n)
		waited += time.Since(before)
		time.Sleep(30 * time.Millisecond)
	}
	return waited, n
}

// An experiment never waits for its store, and writes at most once in a second.
func TestReporterNeverWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes       time.Duration
		least, most int // news that arrive in a minute
	}{
		"a quick store":          {time.Millisecond, 58, 61},
		"a slow store":           {3 * time.Second, 14, 16},
		"a store that hangs":     {time.Hour, 0, 0},
		"one that takes no time": {0, 58, 61},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &slow{takes: c.takes}
				r := store.NewReporter(s)
				waited, last := tellAlong(r, nil)
				stopped := time.Now()
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				if waited != 0 || time.Since(stopped) != 0 {
					t.Errorf("telling waited %v, closing %v", waited, time.Since(stopped))
				}
				if n := len(s.told); n < c.least || n > c.most {
					t.Errorf("%d arrived, want %d to %d", n, c.least, c.most)
				}
				for i := 1; i < len(s.at); i++ {
					if s.at[i].Sub(s.at[i-1]) < time.Second || s.told[i].Step <= s.told[i-1].Step {
						t.Errorf("step %d came %v after step %d", s.told[i].Step, s.at[i].Sub(s.at[i-1]),
							s.told[i-1].Step)
					}
				}
				// A report is of the moment when it is stored: of the last pause, not of the first.
				if n := len(s.told); n > 0 &&
					last.Step-s.told[n-1].Step > int((3*time.Second+time.Second+c.takes)/(30*time.Millisecond)) {
					t.Errorf("the last told is step %d of %d", s.told[n-1].Step, last.Step)
				}
				if strings.Join(s.forgotten, " ") != last.ID {
					t.Errorf("forgotten: %q", s.forgotten)
				}
				r.Stop() // again
				if err := r.Close(); err != nil || len(s.forgotten) != 1 {
					t.Errorf("closed again: %v, %q", err, s.forgotten)
				}
			})
		})
	}
}

// A standing goes to the store once; one that the store refuses does not keep
// it from hearing how far the experiment is.
func TestReporterTellsAStandingOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		r := store.NewReporter(s)
		tellAlong(r, &store.Standing{Round: 3, Analysis: []byte("{}")})
		r.Stop()
		with := 0
		for _, n := range s.told {
			if n.Standing != nil {
				with++
			}
		}
		if with != 1 || len(s.told) < 58 || s.told[0].Standing == nil {
			t.Errorf("%d of %d with the standing", with, len(s.told))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &slow{refuse: func(n store.Running) error {
			if n.Standing != nil {
				return wirelab.Errorf(wirelab.InvalidArgument, "too long")
			}
			return nil
		}}
		r := store.NewReporter(s)
		tellAlong(r, &store.Standing{Round: 3, Analysis: []byte("{}")})
		r.Stop()
		if len(s.told) < 58 {
			t.Errorf("%d arrived", len(s.told))
		}
	})
}

// With nothing told there is nothing to forget, and no goroutine is left.
func TestReporterOfNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		if err := store.NewReporter(s).Close(); err != nil || len(s.forgotten) != 0 {
			t.Errorf("%v, %q", err, s.forgotten)
		}
	})
}
