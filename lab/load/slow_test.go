package load

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWarmUpOfSlowCalls: in an open loop whose calls take far longer than a window, windows do not each wait for their
// last call.
func TestWarmUpOfSlowCalls(t *testing.T) {
	t.Parallel()
	for name, runner := range map[string]func() *Runner{
		"callers": func() *Runner { return NewRunner(workers(600, takes(8*time.Second))) },
		"lines":   func() *Runner { return NewLinesRunner(newStagedLines(workers(600, takes(8*time.Second)))) },
	} {
		synctest.Test(t, func(t *testing.T) {
			w, err := runner().Warm(t.Context(), Warming{Plan: Plan{
				Schedule: ConstantRate(50), Duration: 150 * ms, Deadline: 20 * time.Second, Clock: TimerClock{},
			}})
			if err != nil || !w.Steady || w.Windows < 20 {
				t.Fatalf("%s: %+v, %v", name, w, err)
			}
			if w.Took > time.Minute { // 20 windows of 8.15 s take 163 s
				t.Errorf("%s: it took %v", name, w.Took)
			}
			for i, x := range w.Median[1:] {
				if math.Abs(x/8e9-1) > 0.01 || math.Abs(w.Throughput[i+1]/50-1) > 0.2 {
					t.Errorf("%s: window %d: median %v, %v/s; want 8 s and 50/s", name, i+1, time.Duration(x),
						w.Throughput[i+1])
				}
			}
		})
	}
}

// TestWarmUpHasALimit: the error says what the warm-up waited for. A service that is only slow is judged by the windows
// that there are.
func TestWarmUpHasALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		now, then := takes(ms), func(ctx context.Context) error {
			if made.Add(1)%10 == 0 {
				return hangs(ctx)
			}
			return sleep(ctx, ms)
		}
		p := Plan{Duration: 50 * ms, Deadline: 10 * time.Second, Clock: TimerClock{}}
		_, err := NewRunner(workers(2, then)).Warm(t.Context(), Warming{Plan: p, Limit: time.Minute})
		if err == nil || !strings.Contains(err.Error(), "within 1m0s") ||
			!strings.Contains(err.Error(), "deadline exceeded") {
			t.Errorf("a service that hangs now and then: %v", err)
		}
		calls := 0
		slower := func(ctx context.Context) error {
			calls++
			return sleep(ctx, time.Duration(calls)*10*ms)
		}
		w, err := NewRunner(workers(1, slower)).Warm(t.Context(), Warming{Plan: p, Limit: 5 * time.Second})
		if err != nil || w.Steady || w.Windows < 20 || w.Windows >= 160 {
			t.Errorf("slower and slower: %+v, %v", w, err)
		}
		w, err = NewRunner(workers(1, now)).Warm(t.Context(), Warming{Plan: p, Limit: time.Minute})
		if err != nil || !w.Steady {
			t.Errorf("a quick one: %+v, %v", w, err)
		}
	})
}

// TestWholeCalls: if calls take longer than the window, all that began count, and the throughput is that of the
// callers.
func TestWholeCalls(t *testing.T) {
	t.Parallel()
	for name, runner := range map[string]func() *Runner{
		"callers": func() *Runner { return NewRunner(workers(3, takes(80*ms))) },
		"lines":   func() *Runner { return NewLinesRunner(newStagedLines(workers(3, takes(80*ms)))) },
	} {
		synctest.Test(t, func(t *testing.T) {
			for _, duration := range []time.Duration{30 * ms, 100 * ms, time.Second} {
				rec, err := runner().Run(t.Context(), Plan{Duration: duration, Whole: true, Clock: TimerClock{}})
				if err != nil {
					t.Fatal(err)
				}
				if x := rec.Throughput(); math.Abs(x/37.5-1) > 0.01 || rec.CompletedInWindow != rec.OK {
					t.Errorf("%s: %v: %v/s of %d calls, want 37.5/s", name, duration, x, rec.OK)
				}
			}
			if _, err := runner().Run(t.Context(),
				Plan{Duration: 30 * ms, Whole: true, Schedule: ConstantRate(5)}); err == nil {
				t.Errorf("%s: an open loop of whole calls", name)
			}
		})
	}
}
