package load

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wirelab/lab/stat"
)

// In these tests time is virtual: a call that sleeps 10 ms takes exactly that, and only sleeping takes time.

const ms = time.Millisecond

// takes returns a call that takes d.
func takes(d time.Duration) Call {
	return func(ctx context.Context) error { return sleep(ctx, d) }
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hangs is a call to a server that never answers.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// workers returns n equal callers.
func workers(n int, call Call) []Call {
	all := make([]Call, n)
	for i := range all {
		all[i] = call
	}
	return all
}

// virtual runs a plan in virtual time.
func virtual(t *testing.T, p Plan) *Recording {
	t.Helper()
	p.Clock = TimerClock{}
	rec, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	audit(t, rec)
	return rec
}

// audit checks the invariants of every recording.
func audit(t *testing.T, r *Recording) {
	t.Helper()
	if r.Sent != r.OK+r.Failures()+r.Interrupted {
		t.Errorf("sent %d != ok %d + failed %d + interrupted %d", r.Sent, r.OK, r.Failures(), r.Interrupted)
	}
	if r.Law != "" && r.Planned != r.Sent+r.Unsent {
		t.Errorf("planned %d != sent %d + unsent %d", r.Planned, r.Sent, r.Unsent)
	}
	if r.Response.Count() != r.OK || r.Service.Count() != r.OK || r.Failed.Count() != r.Failures()+r.Unsent {
		t.Errorf("histograms of %d, %d, %d with ok %d, failed %d, unsent %d", r.Response.Count(), r.Service.Count(),
			r.Failed.Count(), r.OK, r.Failures(), r.Unsent)
	}
	if parts := uint64(0); len(r.Parts) > 0 {
		for _, h := range r.Parts {
			parts += h.Count()
		}
		if parts != r.OK {
			t.Errorf("parts of the window hold %d times, ok %d", parts, r.OK)
		}
	}
	if r.Law != "" && r.Lag.Count() != r.Sent {
		t.Errorf("lag of %d, sent %d", r.Lag.Count(), r.Sent)
	}
}

// is fails unless a duration from a histogram is want, to within 0.1 %.
func is(t *testing.T, what string, got int64, want time.Duration) {
	t.Helper()
	if got < int64(want) || float64(got) > float64(want)*1.001 {
		t.Errorf("%s = %v, want %v", what, time.Duration(got), want)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := virtual(t, Plan{Callers: workers(2, takes(10*ms)), Duration: time.Second, Head: 100 * ms})
		// Each worker begins calls at 100, 110, … 990 ms, which end at 110 … 1000. The call that ends at 100 ends in
		// the window, the one at 1000 does not.
		equal(t, "sent", rec.Sent, 180)
		equal(t, "completed in the window", rec.CompletedInWindow, 180)
		equal(t, "throughput", rec.Throughput(), 200)
		equal(t, "window", rec.Window, 900*ms)
		equal(t, "drained", rec.Drained, 0)
		equal(t, "law", rec.Law, "")
		equal(t, "lags", rec.Lag.Count(), 0)
		is(t, "fastest", rec.Response.Min(), 10*ms)
		is(t, "slowest", rec.Response.Max(), 10*ms)
		if l := rec.InFlight(); math.Abs(l-2) > 0.002 {
			t.Errorf("Little's law: %v in flight, 2 workers", l)
		}
	})
}

// TestEdgesOfTheWindow has calls that cross both ends.
func TestEdgesOfTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := virtual(t, Plan{Callers: workers(1, takes(300*ms)), Duration: time.Second, Head: 100 * ms})
		// Calls begin at 0, 300, 600 and 900 ms. The first is not recorded, but its end at 300 counts for the
		// throughput. The last is recorded, and ends at 1200.
		equal(t, "sent", rec.Sent, 3)
		equal(t, "ok", rec.OK, 3)
		equal(t, "completed in the window", rec.CompletedInWindow, 3)
		equal(t, "drained", rec.Drained, 200*ms)
	})
}

func TestOpenLoopOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().Add(leadIn)
		var sent []time.Duration
		rec := virtual(t, Plan{
			Callers: []Call{func(ctx context.Context) error {
				sent = append(sent, time.Since(start))
				return sleep(ctx, 5*ms)
			}},
			Schedule: ConstantRate(100), Duration: time.Second, Head: 200 * ms,
		})
		for k, at := range sent {
			equal(t, "sent", at, time.Duration(k)*10*ms)
		}
		equal(t, "all sent", len(sent), 100)
		equal(t, "planned", rec.Planned, 80)
		equal(t, "expected", math.Round(rec.Expected*1e6)/1e6, 80)
		equal(t, "ok", rec.OK, 80)
		equal(t, "late", rec.Late, 0)
		equal(t, "throughput", rec.Throughput(), 100)
		equal(t, "law", rec.Law, Even)
		is(t, "slowest", rec.Response.Max(), 5*ms)
		equal(t, "lag", rec.Lag.Max(), 0)
		equal(t, "wake-ups", rec.Wake.Count(), 80)
		equal(t, "gaps", rec.Gaps.Count(), 79)
		if mean, sd := rec.Gaps.Mean(), rec.Gaps.StdDev(); math.Abs(mean-1e6) > 1000 || sd > 1000 {
			t.Errorf("gaps of %v ± %v millionths", mean, sd)
		}
	})
}

// TestLateCallsCountFromWhenTheyWereDue: there is one worker, and calls that are due every 10 ms take 15 ms, so call k
// waits 5k ms.
func TestLateCallsCountFromWhenTheyWereDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := virtual(t, Plan{Callers: workers(1, takes(15*ms)), Schedule: ConstantRate(100), Duration: 100 * ms})
		equal(t, "sent", rec.Sent, 10)
		equal(t, "late", rec.Late, 9)
		equal(t, "completed in the window", rec.CompletedInWindow, 6) // at 15, 30, … 90
		equal(t, "drained", rec.Drained, 50*ms)
		for k := range 10 {
			q := float64(k+1) / 10
			is(t, "response", rec.Response.Quantile(q), time.Duration(15+5*k)*ms)
			is(t, "lag", rec.Lag.Quantile(q), time.Duration(5*k)*ms)
			is(t, "service", rec.Service.Quantile(q), 15*ms)
		}
	})
}

// TestFrozenServer: a server that stops for 1 s of 10 makes a tenth of the calls wait, half of them for more than half
// a second. A closed loop does not see it, and an open loop must, however few workers it has.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	frozen := func(n int, s *Schedule) (rec *Recording) {
		synctest.Test(t, func(t *testing.T) {
			thaw := time.Now().Add(3 * time.Second)
			rec = virtual(t, Plan{
				Callers: workers(n, func(ctx context.Context) error {
					if left := time.Until(thaw); left > 0 && left <= time.Second {
						if err := sleep(ctx, left); err != nil {
							return err
						}
					}
					return sleep(ctx, ms)
				}),
				Schedule: s, Duration: 10 * time.Second,
			})
		})
		return rec
	}
	within := func(what string, got int64, want time.Duration) {
		t.Helper()
		if math.Abs(float64(got)-float64(want)) > 0.02*float64(want) {
			t.Errorf("%s: p95 is %v, want %v ± 2 %%", what, time.Duration(got), want)
		}
	}
	rec := frozen(1100, ConstantRate(1000))
	within("a worker for each call", rec.Response.Quantile(0.95), 501*ms)
	equal(t, "late", rec.Late, 0)
	// Ten workers send the 1,000 waiting calls at 10,000/s, so a call that was due x into the stop waits 1 − x + x/10
	// s.
	rec = frozen(10, ConstantRate(1000))
	within("ten workers", rec.Response.Quantile(0.95), 551*ms)
	equal(t, "unsent", rec.Unsent, 0)
	rec = frozen(10, PoissonRate(1000, 5))
	if p := rec.Response.Quantile(0.95); p < int64(400*ms) {
		t.Errorf("Poisson arrivals: p95 is %v", time.Duration(p))
	}
	rec = frozen(10, nil)
	if p := rec.Response.Quantile(0.95); p > int64(2*ms) {
		t.Errorf("closed loop: p95 is %v: this test would not see the difference", time.Duration(p))
	}
}

// TestQueueTruth is an M/M/1 queue at 70 %: one worker is the server, so the response time must be exponential with
// 1/(1−0.7) times the mean service time.
func TestQueueTruth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(41, 41))
		rec := virtual(t, Plan{
			Callers: []Call{func(ctx context.Context) error {
				return sleep(ctx, time.Duration(r.ExpFloat64()*float64(ms)))
			}},
			Schedule: PoissonRate(700, 42), Duration: 500 * time.Second, Head: 2 * time.Second,
		})
		for _, q := range []float64{0.5, 0.9, 0.99} {
			want := -math.Log(1-q) / 0.3 * float64(ms)
			if got := float64(rec.Response.Quantile(q)); math.Abs(got-want) > 0.05*want {
				t.Errorf("quantile %v is %v, the closed form %v", q, time.Duration(got), time.Duration(want))
			}
		}
		if n, want := float64(rec.Planned), rec.Expected; math.Abs(n-want) > 4*math.Sqrt(want) {
			t.Errorf("%v planned, %v expected", n, want)
		}
	})
}

func TestGapsShowTheLaw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ramp := []Stage{{Duration: 5 * time.Second, From: 100, To: 1000}, {From: 1000, To: 1000}}
		rec := virtual(t, Plan{
			Callers: workers(40, takes(ms)), Duration: 10 * time.Second,
			Schedule: &Schedule{Law: Poisson, Seed: 9, Stages: ramp},
		})
		if a2, plausible, err := stat.ExponentialFit(rec.Gaps); err != nil || !plausible {
			t.Errorf("gaps of a Poisson ramp: A² = %v, %v", a2, err)
		}
		rec = virtual(t, Plan{
			Callers: workers(40, takes(ms)), Duration: 10 * time.Second,
			Schedule: &Schedule{Stages: ramp},
		})
		if cv := rec.Gaps.StdDev() / rec.Gaps.Mean(); cv > 0.001 {
			t.Errorf("gaps of an even ramp vary by %v", cv)
		}
		// A single worker cannot keep up, and the gaps show it.
		rec = virtual(t, Plan{
			Callers: workers(1, takes(2*ms)), Duration: time.Second, Drain: time.Minute,
			Schedule: PoissonRate(600, 1),
		})
		if _, plausible, err := stat.ExponentialFit(rec.Gaps); err != nil || plausible {
			t.Errorf("gaps of a generator that is too slow pass for exponential (%v)", err)
		}
	})
}

// TestStarvation: the only worker hangs, so nothing else is sent. All arrivals are counted, with their age.
func TestStarvation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := virtual(t, Plan{
			Callers: workers(1, hangs), Schedule: ConstantRate(10), Duration: time.Second, Drain: 500 * ms,
		})
		equal(t, "planned", rec.Planned, 10)
		equal(t, "sent", rec.Sent, 1)
		equal(t, "unfinished", rec.Errors[Unfinished], 1)
		equal(t, "unsent", rec.Unsent, 9)
		equal(t, "drained", rec.Drained, 500*ms)
		for k := range 10 { // ages at 1.5 s of the arrivals due at 900 ms … 0
			is(t, "age", rec.Failed.Quantile(float64(k+1)/10), time.Duration(600+100*k)*ms)
		}
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := virtual(t, Plan{Callers: workers(3, hangs), Duration: time.Second, Deadline: 80 * ms})
		equal(t, "kinds", len(rec.Errors), 1)
		if n := rec.Errors["deadline exceeded"]; n < 3*11 || n > 3*13 {
			t.Errorf("%d calls of 80 to 90 ms failed in a second on 3 workers", n)
		}
		if low, high := rec.Failed.Min(), rec.Failed.Max(); low < int64(80*ms) || high > int64(91*ms) {
			t.Errorf("calls were given %v to %v", time.Duration(low), time.Duration(high))
		}
		// A slow call does not use up the next one's deadline.
		rec = virtual(t, Plan{Callers: workers(1, takes(79*ms)), Duration: 10 * time.Second, Deadline: 80 * ms})
		equal(t, "failures", rec.Failures(), 0)
	})
}

func TestDeadlineReachesTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		virtual(t, Plan{Duration: time.Second, Deadline: 80 * ms, Callers: workers(1, func(ctx context.Context) error {
			at, ok := ctx.Deadline()
			if left := time.Until(at); !ok || left < 80*ms || left > 90*ms {
				t.Errorf("the call has %v left (%v)", left, ok)
			}
			return sleep(ctx, 7*ms)
		})})
		virtual(t, Plan{Duration: time.Second, Callers: workers(1, func(ctx context.Context) error {
			if at, ok := ctx.Deadline(); ok {
				t.Errorf("a deadline at %v that the plan does not have", at)
			}
			return sleep(ctx, 7*ms)
		})})
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for name, schedule := range map[string]*Schedule{
		"closed": nil, "even": ConstantRate(100),
		"rare": ConstantRate(0.1),
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(555*ms+leadIn, func() { cancel(enough) })
			rec, err := Run(ctx, Plan{
				Callers: workers(3, takes(50*ms)), Schedule: schedule,
				Duration: time.Hour, Head: 100 * ms, Clock: TimerClock{},
			})
			if !errors.Is(err, enough) || rec == nil {
				t.Fatalf("%s: %v, %v", name, rec, err)
			}
			audit(t, rec)
			switch name {
			case "closed": // begun at 100, 150, … 550 ms; the last is in its first millisecond
				equal(t, name+": window", rec.Window, 456*ms)
				equal(t, name+": ok", rec.OK, 27)
				equal(t, name+": interrupted", rec.Interrupted, 3)
			case "even": // three workers with calls of 50 ms keep up with 60/s of 100
				equal(t, name+": window", rec.Window, 455*ms)
				equal(t, name+": planned", rec.Planned, 46) // due at 100 … 550
				equal(t, name+": interrupted", rec.Interrupted, 3)
				if rec.Unsent == 0 || rec.OK == 0 {
					t.Errorf("%d unsent, %d ok", rec.Unsent, rec.OK)
				}
			case "rare": // all are waiting for the next one
				equal(t, name+": planned", rec.Planned, 0)
			}
			if rec.Failures() != 0 {
				t.Errorf("%s: failures %v: an interrupted call did not fail", name, rec.Errors)
			}
		})
	}
}

func TestKindsOfFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		rec := virtual(t, Plan{
			Callers: workers(1, func(ctx context.Context) error {
				n++
				if err := sleep(ctx, ms); err != nil || n%10 == 0 {
					return err
				}
				return kindError(n % 90)
			}),
			Duration: 900 * ms, Classify: func(err error) string { return err.Error() },
		})
		equal(t, "ok", rec.OK, 90)
		equal(t, "failures", rec.Failures(), 810)
		equal(t, "kinds", len(rec.Errors), kindLimit+1)
		equal(t, "other kinds", rec.Errors[OtherKind], uint64(81-kindLimit)*10)
		is(t, "failed after", rec.Failed.Max(), ms)
	})
	for err, want := range map[error]string{
		context.DeadlineExceeded: "deadline exceeded", context.Canceled: "canceled", errors.New("x"): "error",
	} {
		equal(t, "kind", Classify(err), want)
	}
}

type kindError int

func (e kindError) Error() string { return string(rune('a'+int(e)/26)) + string(rune('a'+int(e)%26)) }

// TestOneCallAtATimePerCaller: callers keep buffers, so no caller may be called twice at the same time.
func TestOneCallAtATimePerCaller(t *testing.T) {
	t.Parallel()
	for _, schedule := range []*Schedule{nil, PoissonRate(2000, 3)} {
		synctest.Test(t, func(t *testing.T) {
			var callers []Call
			for range 8 {
				var inside atomic.Bool
				callers = append(callers, func(ctx context.Context) error {
					if !inside.CompareAndSwap(false, true) {
						t.Error("a caller was entered twice")
					}
					defer inside.Store(false)
					return sleep(ctx, 3*ms)
				})
			}
			virtual(t, Plan{Callers: callers, Schedule: schedule, Duration: time.Second})
		})
	}
}
