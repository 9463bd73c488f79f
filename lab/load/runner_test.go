package load

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wirelab/lab/stat"
)

func TestRunnerForgetsTheLastRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		took := 40 * ms
		runner := NewRunner(workers(4, func(ctx context.Context) error {
			if err := sleep(ctx, took); err != nil {
				return err
			}
			if took > 20*ms {
				return errors.New("slow")
			}
			return nil
		}))
		run := func(p Plan) *Recording {
			p.Clock = TimerClock{}
			rec, err := runner.Run(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			audit(t, rec)
			return rec
		}
		slow := run(Plan{Schedule: ConstantRate(200), Duration: time.Second, Deadline: time.Second})
		took = 10 * ms
		fast := run(Plan{Schedule: ConstantRate(200), Duration: time.Second, Workers: 3})
		equal(t, "slow failures", slow.Failures(), 200)
		equal(t, "fast failures", fast.Failures(), 0)
		equal(t, "fast sent", fast.Sent, 200)
		equal(t, "fast workers", fast.Workers, 3)
		is(t, "slowest", fast.Response.Max(), 10*ms)
		equal(t, "gaps", fast.Gaps.Count(), 199)
		closed := run(Plan{Duration: 100 * ms})
		equal(t, "closed sent", closed.Sent, 40)
		equal(t, "closed lags", closed.Lag.Count()+closed.Gaps.Count()+closed.Planned, 0)
		equal(t, "slow failures still", slow.Failures(), 200) // a later run does not change a returned recording
	})
}

func TestPlansThatAreRefused(t *testing.T) {
	t.Parallel()
	one, good := workers(1, hangs), Plan{Duration: time.Second}
	with := func(change func(*Plan)) Plan {
		p := good
		p.Callers = one
		change(&p)
		return p
	}
	for name, p := range map[string]Plan{
		"no callers":          good,
		"no duration":         with(func(p *Plan) { p.Duration = 0 }),
		"a negative duration": with(func(p *Plan) { p.Duration = -1 }),
		"two days":            with(func(p *Plan) { p.Duration = 48 * time.Hour }),
		"all head":            with(func(p *Plan) { p.Head = time.Second }),
		"a negative head":     with(func(p *Plan) { p.Head = -1 }),
		"a negative deadline": with(func(p *Plan) { p.Deadline = -1 }),
		"a negative drain":    with(func(p *Plan) { p.Drain = -1 }),
		"a bad schedule":      with(func(p *Plan) { p.Schedule = &Schedule{} }),
		"too many workers":    with(func(p *Plan) { p.Workers = 2 }),
		"negative workers":    with(func(p *Plan) { p.Workers = -1 }),
	} {
		if rec, err := Run(t.Context(), p); !errors.Is(err, ErrPlan) || rec != nil {
			t.Errorf("%s: %v, %v", name, rec, err)
		}
	}
	if _, err := NewRunner(one).Run(t.Context(), with(func(*Plan) {})); !errors.Is(err, ErrPlan) {
		t.Errorf("callers for a runner: %v", err)
	}
}

func TestRunnerRunsOnceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runner *Runner
		var second error
		runner = NewRunner(workers(1, func(ctx context.Context) error {
			_, second = runner.Run(ctx, Plan{Duration: ms})
			return sleep(ctx, 20*ms)
		}))
		if _, err := runner.Run(t.Context(), Plan{Duration: 10 * ms, Clock: TimerClock{}}); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(second, ErrPlan) {
			t.Errorf("a run inside a run: %v", second)
		}
	})
}

func TestRecordingsAddUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slice := func(d time.Duration) *Recording {
			return virtual(t, Plan{
				Callers: workers(2, takes(d)), Schedule: ConstantRate(50), Duration: time.Second,
				Head: 100 * ms,
			})
		}
		first := slice(10 * ms)
		second := slice(20 * ms)
		round := NewRecording()
		round.Append(first)
		round.Append(second)
		equal(t, "window", round.Window, 1800*ms)
		equal(t, "workers", round.Workers, 2)
		equal(t, "throughput", round.Throughput(), 50)
		equal(t, "began", round.Began, first.Began)
		is(t, "median", round.Response.Quantile(0.5), 10*ms)
		is(t, "maximum", round.Response.Max(), 20*ms)
		audit(t, round)
		both := first.Clone()
		both.Join(second)
		equal(t, "joined window", both.Window, 900*ms)
		equal(t, "joined workers", both.Workers, 4)
		equal(t, "joined throughput", both.Throughput(), 100)
		equal(t, "the clone's original", first.OK, 45)
		audit(t, both)
	})
}

// TestEveryFieldAddsUp appends a recording with all fields set to a copy of itself. All counts must double, so that no
// field can be forgotten.
func TestEveryFieldAddsUp(t *testing.T) {
	t.Parallel()
	filled := func() *Recording {
		rec := NewRecording()
		v := reflect.ValueOf(rec).Elem()
		for i := range v.NumField() {
			switch f := v.Field(i).Addr().Interface().(type) {
			case **stat.Histogram:
				if *f == nil {
					*f = stat.NewHistogram()
				}
				(*f).RecordN(int64(i), 7)
			case *uint64:
				*f = uint64(i)
			case *float64:
				*f = float64(i)
			case *time.Duration:
				*f = time.Duration(i)
			}
		}
		rec.Errors["x"] = 5
		return rec
	}
	sum, one := filled(), filled()
	sum.Append(one)
	v, w := reflect.ValueOf(sum).Elem(), reflect.ValueOf(one).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch f := v.Field(i).Interface().(type) {
		case *stat.Histogram:
			equal(t, name, f.Count(), 14)
		case uint64:
			equal(t, name, f, 2*w.Field(i).Interface().(uint64))
		case float64:
			equal(t, name, f, 2*w.Field(i).Interface().(float64))
		case time.Duration:
			if name != "Drained" { // the longest
				equal(t, name, f, 2*w.Field(i).Interface().(time.Duration))
			}
		}
	}
	equal(t, "errors", sum.Errors["x"], 10)
	var read Recording // as decoded from {}
	read.Append(one)
	equal(t, "appended to nothing", read.Gaps.Count(), 7)
	if f := new(Recording).InFlight(); f != 0 {
		t.Errorf("%v in flight of nothing", f)
	}
}

// TestRecordingCrossesPipes sends one with every field set.
func TestRecordingCrossesPipes(t *testing.T) {
	t.Parallel()
	rec := NewRecording()
	v := reflect.ValueOf(rec).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i).Addr().Interface().(type) {
		case *uint64:
			*f = uint64(i) + 1<<60
		case *int:
			*f = i + 1
		case *float64:
			*f = 1 / float64(i+3)
		case *time.Duration:
			*f = time.Duration(i) * time.Minute
		}
	}
	rec.Law, rec.Began = Poisson, time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	rec.Errors = map[string]uint64{"conflict": 3, Unfinished: 1}
	rec.Response.Record(int64(3 * ms))
	rec.Gaps.Record(999_999)
	text, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	var back Recording
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	// A decoded histogram has less capacity than a new one, so the counts are compared.
	sent, came := *rec, back
	for i := range v.NumField() {
		of, is := reflect.ValueOf(&sent).Elem().Field(i), reflect.ValueOf(&came).Elem().Field(i)
		if was, ok := of.Interface().(*stat.Histogram); ok {
			if !reflect.DeepEqual(was.Buckets(), is.Interface().(*stat.Histogram).Buckets()) {
				t.Errorf("%s came back different", v.Type().Field(i).Name)
			}
			of.SetZero()
			is.SetZero()
		}
	}
	if !reflect.DeepEqual(sent, came) {
		t.Errorf("came back different:\n%+v\n%+v", sent, came)
	}
	back.Append(rec) // and can be added to
	equal(t, "appended", back.Response.Count(), 2)
	for field := range strings.SplitSeq("Response Service Lag Wake Failed Gaps", " ") {
		if reflect.ValueOf(back).FieldByName(field).IsNil() {
			t.Errorf("%s is nil", field)
		}
	}
}

// TestWarm: a service that settles is found steady, one that never does is given up, and one that fails is an error.
func TestWarm(t *testing.T) {
	t.Parallel()
	warm := func(n int, call Call, w Warming) (warmth *Warmth, err error) {
		synctest.Test(t, func(t *testing.T) {
			w.Plan.Clock = TimerClock{}
			warmth, err = NewRunner(workers(n, call)).Warm(t.Context(), w)
		})
		return warmth, err
	}
	calls := 0
	cold := func(ctx context.Context) error { // 100 calls to warm up, from 20 ms down to 10 ms
		calls++
		return sleep(ctx, time.Duration(10+max(0, 10-calls/10))*ms+time.Duration(calls%7)*10*time.Microsecond)
	}
	w, err := warm(1, cold, Warming{})
	if err != nil || !w.Steady || w.Cut == 0 || w.Took == 0 || len(w.Median) != w.Windows {
		t.Errorf("a cold start: %+v, %v", w, err)
	}
	slower := func(ctx context.Context) error { // for ever
		calls++
		return sleep(ctx, time.Duration(calls)*100*time.Microsecond)
	}
	w, err = warm(1, slower, Warming{Plan: Plan{Duration: 30 * ms}})
	if err != nil || w.Steady || w.Extensions != 3 || w.Windows != 160 {
		t.Errorf("slower and slower: %+v, %v", w, err)
	}
	w, err = warm(1, slower, Warming{Extensions: -1})
	if err != nil || w.Steady || w.Windows != 20 {
		t.Errorf("without extensions: %+v, %v", w, err)
	}
	// MSER-5 does not see a step in the last fifth, but the test for a trend does.
	w, err = warm(1, func() Call {
		made := 0
		return func(ctx context.Context) error {
			made++
			if made > 160 {
				return sleep(ctx, 12*ms)
			}
			return sleep(ctx, 10*ms)
		}
	}(), Warming{})
	if err != nil || !w.Steady || !w.Drifting {
		t.Errorf("a late step: %+v, %v", w, err)
	}
	if _, err = warm(1, func(ctx context.Context) error {
		return errors.Join(errors.New("down"), sleep(ctx, ms))
	}, Warming{}); err == nil {
		t.Error("a service that is down got warm")
	}
	if _, err = warm(1, takes(ms), Warming{Windows: 5}); !errors.Is(err, ErrPlan) {
		t.Errorf("5 windows: %v", err)
	}
}

func TestWarmEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 550*ms)
		defer cancel()
		w, err := NewRunner(workers(1, takes(ms))).Warm(ctx, Warming{Plan: Plan{Clock: TimerClock{}}})
		if !errors.Is(err, context.DeadlineExceeded) || w == nil || w.Windows != 5 {
			t.Errorf("%+v, %v", w, err)
		}
	})
}

// steppingClock advances by a microsecond whenever it is read, so that a run makes a known number of calls.
type steppingClock struct{ now atomic.Int64 }

func (c *steppingClock) Now() int64 { return c.now.Add(1000) }

func (c *steppingClock) SleepUntil(context.Context, int64) time.Duration { return 0 }

// TestCallsAllocateNothing compares a run of 100 calls with one of 20,000.
func TestCallsAllocateNothing(t *testing.T) {
	runner, clock := NewRunner(workers(1, func(context.Context) error { return nil })), &steppingClock{}
	for _, deadline := range []time.Duration{0, time.Second} {
		allocated := func(d time.Duration) float64 {
			return testing.AllocsPerRun(20, func() {
				if _, err := runner.Run(t.Context(), Plan{Duration: d, Deadline: deadline, Clock: clock}); err != nil {
					t.Fatal(err)
				}
			})
		}
		// The deadline is renewed every 125 ms, which does not happen within 20 ms.
		if few, many := allocated(100*time.Microsecond), allocated(20*ms); many-few > 20 {
			t.Errorf("deadline %v: 100 calls allocate %v times, 20,000 %v", deadline, few, many)
		}
	}
}

// BenchmarkRecord measures what the engine adds to a call in the closed loop: a reading of the clock and the recording.
func BenchmarkRecord(b *testing.B) {
	p, err := Plan{Duration: time.Hour, Deadline: time.Second}.normal(1)
	if err != nil {
		b.Fatal(err)
	}
	w, s := newWorker(0, func(context.Context) error { return nil }), newSlice(b.Context(), p, nil)
	defer w.release()
	b.ReportAllocs()
	begin := s.clock.Now()
	for range b.N {
		begin = w.perform(s, begin, begin)
	}
}

// BenchmarkOpen measures what it adds in the open loop when calls are always due.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{1, 16} {
		b.Run(map[int]string{1: "1 worker", 16: "16 workers"}[n], func(b *testing.B) {
			b.ReportAllocs()
			rate := 1e8
			d := time.Duration(float64(b.N) * 1e9 / rate)
			if _, err := Run(b.Context(), Plan{
				Callers: workers(n, func(context.Context) error { return nil }), Schedule: ConstantRate(rate),
				Duration: max(d, 1), Drain: time.Hour,
			}); err != nil {
				b.Fatal(err)
			}
		})
	}
}
