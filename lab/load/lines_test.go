package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// look is how long a Turn that only checks takes in virtual time. Nothing else makes time pass there.
const look = 10 * time.Microsecond

// stagedLines are lines over callers, with a goroutine for each call: slow, and exactly as late as the calls are.
type stagedLines struct {
	callers []Call
	ends    chan lineEnd
	cancels []context.CancelCauseFunc
	broken  error // the error of Turn
}

type lineEnd struct {
	slot int
	err  error
}

func newStagedLines(callers []Call) *stagedLines {
	return &stagedLines{
		callers: callers,
		ends:    make(chan lineEnd, len(callers)),
		cancels: make([]context.CancelCauseFunc, len(callers)),
	}
}

func (l *stagedLines) Slots() int { return len(l.callers) }

func (l *stagedLines) Begin(slot int) {
	ctx, cancel := context.WithCancelCause(context.Background())
	l.cancels[slot] = cancel
	go func() { // Turn waits for it
		err := l.callers[slot](ctx)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		l.ends <- lineEnd{slot, err}
	}()
}

func (l *stagedLines) Turn(wait time.Duration, ended func(int, error)) error {
	if l.broken != nil {
		return l.broken
	}
	timer := time.NewTimer(max(wait, look))
	defer timer.Stop()
	select {
	case end := <-l.ends:
		l.cancels[end.slot](nil)
		ended(end.slot, end.err)
	case <-timer.C:
	}
	return nil
}

func (l *stagedLines) Cancel(slot int, cause error) { l.cancels[slot](cause) }

// TestLinesRecordAsCallersDo runs the same plans over both. They may differ only by the time that a Turn of lines takes
// in virtual time.
func TestLinesRecordAsCallersDo(t *testing.T) {
	t.Parallel()
	// Every caller draws its own times, equal in both runs.
	drawn := func(n int, mean time.Duration) []Call {
		all := make([]Call, n)
		for i := range all {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			all[i] = func(ctx context.Context) error {
				return sleep(ctx, time.Duration(r.ExpFloat64()*float64(mean)))
			}
		}
		return all
	}
	for name, test := range map[string]struct {
		callers func() []Call
		plan    Plan
	}{
		"closed": {
			func() []Call { return workers(2, takes(10*ms)) },
			Plan{Duration: time.Second, Head: 100 * ms},
		},
		"closed, drawn": {func() []Call { return drawn(5, 7*ms) }, Plan{Duration: time.Second}},
		"fewer than there are": {
			func() []Call { return drawn(5, 7*ms) },
			Plan{Duration: time.Second, Workers: 2},
		},
		"ends after the window": {
			func() []Call { return workers(1, takes(300*ms)) },
			Plan{Duration: time.Second, Head: 100 * ms},
		},
		"open, with slots to spare": {
			func() []Call { return workers(20, takes(15*ms)) },
			Plan{Schedule: ConstantRate(1000), Duration: time.Second, Head: 100 * ms},
		},
		"open, late for want of some": {
			func() []Call { return workers(1, takes(15*ms)) },
			Plan{Schedule: ConstantRate(100), Duration: time.Second},
		},
		"poisson": {
			func() []Call { return workers(30, takes(3*ms)) },
			Plan{Schedule: PoissonRate(500, 3), Duration: 2 * time.Second},
		},
		"deadline": {
			func() []Call { return workers(3, hangs) },
			Plan{Duration: time.Second, Deadline: 80 * ms},
		},
		"never ends": {
			func() []Call { return workers(3, hangs) },
			Plan{Schedule: ConstantRate(100), Duration: 500 * ms, Drain: 200 * ms},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			test.plan.Clock = TimerClock{}
			want, err := NewRunner(test.callers()).Run(t.Context(), test.plan)
			if err != nil {
				t.Fatal(err)
			}
			got, err := NewLinesRunner(newStagedLines(test.callers())).Run(t.Context(), test.plan)
			if err != nil {
				t.Fatal(err)
			}
			audit(t, got)
			near := func(what string, got, want, slack float64) {
				if got < want-slack || got > want+slack {
					t.Errorf("%s: %s: lines %v, callers %v", name, what, got, want)
				}
			}
			few := max(3, float64(want.Sent)/50) // deadlines are checked only now and then
			near("planned", float64(got.Planned), float64(want.Planned), 0)
			near("sent", float64(got.Sent), float64(want.Sent), few)
			near("ok", float64(got.OK), float64(want.OK), few)
			near("failed", float64(got.Failures()), float64(want.Failures()), few)
			near("unsent", float64(got.Unsent), float64(want.Unsent), few)
			near("completed in the window", float64(got.CompletedInWindow), float64(want.CompletedInWindow), few)
			near("late", float64(got.Late), float64(want.Late), few)
			for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
				slack := float64(2*look) + 0.01*float64(want.Response.Quantile(q))
				near("response", float64(got.Response.Quantile(q)), float64(want.Response.Quantile(q)), slack)
				near("service", float64(got.Service.Quantile(q)), float64(want.Service.Quantile(q)), slack)
			}
			if got.Failures() > 0 {
				for kind := range want.Errors {
					if got.Errors[kind] == 0 {
						t.Errorf("%s: lines failed with %v, callers with %v", name, got.Errors, want.Errors)
					}
				}
			}
		})
	}
}

// TestLinesEndWithTheContext: calls in flight are cut short and counted separately.
func TestLinesEndWithTheContext(t *testing.T) {
	t.Parallel()
	for _, schedule := range []*Schedule{nil, ConstantRate(100)} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 300*ms)
			defer cancel()
			rec, err := NewLinesRunner(newStagedLines(workers(4, hangs))).Run(ctx, Plan{
				Schedule: schedule, Duration: time.Hour, Clock: TimerClock{},
			})
			if !errors.Is(err, context.DeadlineExceeded) || rec == nil {
				t.Fatalf("%v, %v", rec, err)
			}
			audit(t, rec)
			if rec.Interrupted != 4 || rec.Window > 400*ms {
				t.Errorf("interrupted %d in a window of %v", rec.Interrupted, rec.Window)
			}
		})
	}
}

// TestLinesThatBreakEndTheRun: a run cannot continue without lines.
func TestLinesThatBreakEndTheRun(t *testing.T) {
	t.Parallel()
	for _, schedule := range []*Schedule{nil, ConstantRate(100)} {
		synctest.Test(t, func(t *testing.T) {
			gone := errors.New("no more sockets")
			lines := newStagedLines(workers(1, takes(ms)))
			lines.broken = gone
			runner := NewLinesRunner(lines)
			rec, err := runner.Run(t.Context(), Plan{Schedule: schedule, Duration: time.Second, Clock: TimerClock{}})
			if rec != nil || !errors.Is(err, gone) {
				t.Errorf("%v, %v", rec, err)
			}
			time.Sleep(2 * ms) // until the abandoned call has ended
		})
	}
}

// timedLines record the calls of their methods.
type timedLines struct {
	*stagedLines
	begin, end int64
	due        []int64
	before     int64 // how long before Ended is called the calls had ended
}

func (l *timedLines) Window(begin, end int64) { l.begin, l.end = begin, end }
func (l *timedLines) Due(_ int, due int64)    { l.due = append(l.due, due) }
func (l *timedLines) Ended(int) int64         { return TimerClock{}.Now() - l.before }

// TestTimedLinesAreTold: each call's due time comes before it begins, in both loops.
func TestTimedLinesAreTold(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Plan{
		"open":   {Schedule: ConstantRate(1000), Duration: 100 * ms, Head: 10 * ms},
		"closed": {Duration: 100 * ms, Head: 10 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines := &timedLines{stagedLines: newStagedLines(workers(2, takes(ms)))}
				p.Clock = TimerClock{}
				rec, err := NewLinesRunner(lines).Run(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				if lines.end-lines.begin != int64(90*ms) {
					t.Errorf("window is %v", time.Duration(lines.end-lines.begin))
				}
				inside := uint64(0)
				for _, due := range lines.due {
					if due >= lines.begin {
						inside++
					}
				}
				if inside != rec.Sent {
					t.Errorf("%d calls due in the window, %d recorded", inside, rec.Sent)
				}
			})
		})
	}
}

// TestTimedLinesTellWhenCallsEnded: a call ends when the lines say, however late they report it. The generator's own
// lateness is in Response and not in Punctual.
func TestTimedLinesTellWhenCallsEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := &timedLines{stagedLines: newStagedLines(workers(4, takes(5*ms))), before: int64(2 * ms)}
		rec, err := NewLinesRunner(lines).Run(t.Context(),
			Plan{Clock: TimerClock{}, Schedule: ConstantRate(100), Duration: 200 * ms})
		if err != nil {
			t.Fatal(err)
		}
		if p50 := time.Duration(rec.Response.Quantile(0.5)); p50 < 3*ms || p50 > 3*ms+ms/10 {
			t.Errorf("calls that had ended after 3 ms are recorded with %v", p50)
		}
		equal(t, "punctual times", rec.Punctual.Count(), rec.OK)
		if is, lag := rec.Response.Quantile(0.5)-rec.Punctual.Quantile(0.5), rec.Lag.Quantile(0.5); is < lag/2 ||
			is > 2*lag+int64(ms/100) {
			t.Errorf("lateness is %v in the median, and sends were %v late", time.Duration(is), time.Duration(lag))
		}
	})
}
