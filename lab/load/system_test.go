package load

import (
	"context"
	"testing"
	"time"
)

func TestClocksNeverWakeEarly(t *testing.T) {
	t.Parallel()
	for name, clock := range map[string]Clock{"system": SystemClock{}, "timer": TimerClock{}} {
		for _, wait := range []time.Duration{
			-time.Second, 0, 1, time.Microsecond, SpinMargin, 200 * time.Microsecond,
			3 * ms,
		} {
			for range 50 {
				due := clock.Now() + int64(wait)
				clock.SleepUntil(t.Context(), due)
				if now := clock.Now(); now < due {
					t.Errorf("%s clock: woke %v early after %v", name, time.Duration(due-now), wait)
				}
			}
		}
	}
}

// TestSleepEndsWithItsContext would otherwise last an hour.
func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, clock := range []Clock{SystemClock{}, TimerClock{}} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*ms)
		clock.SleepUntil(ctx, clock.Now()+int64(time.Hour))
		if ctx.Err() == nil {
			t.Error("woke up although nothing ended")
		}
		clock.SleepUntil(ctx, clock.Now()+int64(time.Hour)) // after the context is done
		cancel()
	}
}

// TestRealTime runs both loops on the real clock. It checks only that the counts add up, and no speed.
func TestRealTime(t *testing.T) {
	t.Parallel()
	runner := NewRunner(workers(8, takes(200*time.Microsecond)))
	constant := ConstantRate(2000)
	for _, schedule := range []*Schedule{nil, constant, PoissonRate(2000, 1)} {
		var rec *Recording
		var err error
		// A stalled machine may begin no call within a window.
		for window := 100 * ms; (rec == nil || rec.OK == 0) && window < time.Minute; window *= 4 {
			rec, err = runner.Run(t.Context(),
				Plan{Schedule: schedule, Duration: window, Head: window / 10, Deadline: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			audit(t, rec)
		}
		if rec.OK == 0 || rec.Failures() != 0 || rec.Response.Min() < int64(200*time.Microsecond) {
			t.Errorf("%d ok, failures %v, fastest %v", rec.OK, rec.Errors, time.Duration(rec.Response.Min()))
		}
		if schedule == constant && rec.Planned != 180 {
			t.Errorf("%d planned", rec.Planned)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*ms)
		rec, err = runner.Run(ctx, Plan{Schedule: schedule, Duration: time.Hour})
		cancel()
		if err == nil || rec == nil || rec.Window > time.Minute {
			t.Errorf("cancelled: %v, %v", rec, err)
		}
	}
}
