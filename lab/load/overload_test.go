package load

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestOverloadIsCountedWhole offers a service of 800 calls/s twice as many, over callers and over lines. The measured
// throughput is 800/s, no call is left out, waiting for a call in flight does not count as the generator's lateness,
// and the run ends when its drain is over.
func TestOverloadIsCountedWhole(t *testing.T) {
	t.Parallel()
	const slots, offered, capacity = 8, 1600, 800.0
	for name, test := range map[string]struct {
		drain time.Duration
		lines bool
		all   bool // the drain is long enough for all that was due
	}{
		"callers":                  {5 * time.Second, false, true},
		"lines":                    {5 * time.Second, true, true},
		"callers, a short drain":   {300 * ms, false, false},
		"lines, a short drain":     {300 * ms, true, false},
		"callers, the least drain": {time.Nanosecond, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			runner := NewRunner(workers(slots, takes(10*ms)))
			if test.lines {
				runner = NewLinesRunner(newStagedLines(workers(slots, takes(10*ms))))
			}
			began := time.Now()
			rec, err := runner.Run(t.Context(), Plan{
				Schedule: ConstantRate(offered), Duration: 2 * time.Second, Head: 200 * ms,
				Drain: test.drain, Parts: 6, Clock: TimerClock{},
			})
			if err != nil {
				t.Fatal(err)
			}
			audit(t, rec)
			if took := time.Since(began); took > 2*time.Second+test.drain+20*ms {
				t.Errorf("%s: it took %v", name, took)
			}
			if x := rec.Throughput(); math.Abs(x-capacity) > 0.02*capacity {
				t.Errorf("%s: %v/s were answered, want %v", name, x, capacity)
			}
			equal(t, name+": planned", rec.Planned, 1.8*offered)
			equal(t, name+": sent and unsent", rec.Sent+rec.Unsent, rec.Planned)
			if (rec.Unsent == 0) != test.all {
				t.Errorf("%s: %d arrivals were never sent", name, rec.Unsent)
			}
			// Call k waits k·(1/800 − 1/1600) s for its slot. The generator is never late.
			if test.all {
				if p := time.Duration(rec.Response.Quantile(0.5)); p < 500*ms {
					t.Errorf("%s: the median response is %v: it must grow with the queue", name, p)
				}
			}
			if rec.Late < 9*rec.Sent/10 {
				t.Errorf("%s: %d of %d found no slot free", name, rec.Late, rec.Sent)
			}
			if wake := time.Duration(rec.Wake.Max()); wake > 2*ms {
				t.Errorf("%s: %v of waiting for the service was called the generator's", name, wake)
			}
			for i := 1; test.all && i < len(rec.Parts); i++ {
				if now, was := rec.Parts[i].Quantile(0.5), rec.Parts[i-1].Quantile(0.5); now < was+int64(100*ms) {
					t.Errorf("%s: part %d of the window answered in %v, the one before in %v", name, i,
						time.Duration(now), time.Duration(was))
				}
			}
		})
	}
}

// oversleeps is a clock that wakes late once.
type oversleeps struct {
	TimerClock
	once *bool
	by   time.Duration
}

func (c oversleeps) SleepUntil(ctx context.Context, due int64) time.Duration {
	if !*c.once {
		*c.once = true
		due += int64(c.by)
	}
	return c.TimerClock.SleepUntil(ctx, due)
}

// TestLatenessIsTheGenerators: if the generator stalls while callers are free, all arrivals that came due during the
// stall are late because of it, and not only the first. Waiting for a busy caller is not the generator's lateness.
func TestLatenessIsTheGenerators(t *testing.T) {
	t.Parallel()
	for name, callers := range map[string]int{"callers to spare": 100, "one caller": 1} {
		synctest.Test(t, func(t *testing.T) {
			once := false
			rec, err := Run(t.Context(), Plan{
				Callers: workers(callers, takes(ms/10)), Schedule: ConstantRate(1000), Duration: 100 * ms,
				Clock: oversleeps{once: &once, by: 50 * ms},
			})
			if err != nil {
				t.Fatal(err)
			}
			audit(t, rec)
			if callers > 1 {
				equal(t, name+": late for want of a caller", rec.Late, 0)
				equal(t, name+": late by itself", rec.Wake.Count(), 100)
				is(t, name+": by how much", rec.Wake.Max(), 50*ms)
				return
			}
			if rec.Late < 40 || rec.Wake.Max() < int64(49*ms) {
				t.Errorf("%s: %d found it busy, and it was late by %v itself", name, rec.Late,
					time.Duration(rec.Wake.Max()))
			}
		})
	}
}
