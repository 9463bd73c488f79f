package load_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wirelab/lab/load"
)

// dueTimes runs a schedule in virtual time with a number of workers and returns when its arrivals were due.
func dueTimes(t *testing.T, s *load.Schedule, workers int, duration time.Duration) []time.Duration {
	t.Helper()
	var due []time.Duration
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards due
		began := time.Now()
		callers := make([]load.Call, workers)
		for i := range callers {
			callers[i] = func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				due = append(due, time.Since(began))
				return nil
			}
		}
		_, err := load.Run(t.Context(),
			load.Plan{Callers: callers, Schedule: s, Duration: duration, Clock: load.TimerClock{}})
		if err != nil {
			t.Fatal(err)
		}
	})
	return due
}

// A recording is replayed as one process, whatever the number of workers, and its bursts stay bursts (docs/origins.md
// grb-M07).
func TestRecordedArrivalsKeepTheirGaps(t *testing.T) {
	t.Parallel()
	gaps := []time.Duration{0, 0, 30 * time.Millisecond, 10 * time.Millisecond}
	for _, workers := range []int{1, 8} {
		// Its own mean gap is 10 ms, so 200/s is twice as fast.
		s := &load.Schedule{Law: load.Recorded, Gaps: gaps, Stages: []load.Stage{{From: 200, To: 200}}}
		got := dueTimes(t, s, workers, 40*time.Millisecond)
		want := []time.Duration{0, 0, 0, 15e6, 20e6, 20e6, 20e6, 35e6}
		if len(got) != len(want) {
			t.Fatalf("%d workers: %d arrivals at %v; want %d", workers, len(got), got, len(want))
		}
		for i := range want {
			if off := got[i] - got[0] - want[i]; off < -time.Microsecond || off > time.Microsecond {
				t.Errorf("%d workers: arrival %d was due at %v, want %v", workers, i, got[i]-got[0], want[i])
			}
		}
	}
}

// Drawn laws have the rate that was asked for and the spread that they specify, and give the same arrivals for the same
// seed.
func TestDrawnLawsHaveTheirMeanAndSpread(t *testing.T) {
	t.Parallel()
	recording := []time.Duration{1, 1, 1, 1, 16}
	for _, c := range []struct {
		schedule load.Schedule
		spread   float64
	}{
		{load.Schedule{Law: load.Poisson}, 1},
		{load.Schedule{Law: load.LogNormal, Spread: 0.5}, 0.5},
		{load.Schedule{Law: load.LogNormal, Spread: 2}, 2},
		{load.Schedule{Law: load.Sampled, Gaps: recording}, load.SpreadOf(recording)},
	} {
		t.Run(string(c.schedule.Law), func(t *testing.T) {
			t.Parallel()
			c.schedule.Seed = 7
			gaps := c.schedule.DrawGaps(200_000, 1000)
			if mean := load.MeanGap(gaps); math.Abs(mean/1e6-1) > 0.03 {
				t.Errorf("the mean gap is %v ns, want 1e6", mean)
			}
			if spread := load.SpreadOf(gaps); math.Abs(spread/c.spread-1) > 0.1 {
				t.Errorf("the spread is %v, want %v", spread, c.spread)
			}
			again := c.schedule.DrawGaps(10, 1000)
			c.schedule.Seed = 8
			other := c.schedule.DrawGaps(10, 1000)
			same, equal := true, true
			for i := range again {
				same = same && again[i] == gaps[i]
				equal = equal && other[i] == gaps[i]
			}
			if !same || equal {
				t.Errorf("the seed does not decide: same seed same gaps %v, other seed same gaps %v", same, equal)
			}
		})
	}
}

func TestLawsThatCannotBe(t *testing.T) {
	t.Parallel()
	steady := []load.Stage{{From: 1, To: 1}}
	for name, s := range map[string]load.Schedule{
		"unknown law":          {Law: "weekly", Stages: steady},
		"no spread":            {Law: load.LogNormal, Stages: steady},
		"spread beyond bounds": {Law: load.LogNormal, Spread: 21, Stages: steady},
		"spread is NaN":        {Law: load.LogNormal, Spread: math.NaN(), Stages: steady},
		"no recording":         {Law: load.Recorded, Stages: steady},
		"all at once":          {Law: load.Sampled, Gaps: []time.Duration{0, 0}, Stages: steady},
		"negative gap":         {Law: load.Recorded, Gaps: []time.Duration{-1, 5}, Stages: steady},
		"endless gap":          {Law: load.Recorded, Gaps: []time.Duration{1 << 62}, Stages: steady},
		"too long":             {Law: load.Recorded, Gaps: make([]time.Duration, load.GapsLimit+1), Stages: steady},
	} {
		if err := s.Validate(); !errors.Is(err, load.ErrPlan) {
			t.Errorf("%s: error %v, want one of the plan", name, err)
		}
	}
}
