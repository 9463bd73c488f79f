package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"wirelab/lab/stat"
)

// Warming says how to warm up, and when a warm-up is over.
type Warming struct {
	// Plan is run again and again. Its Duration is the length of one window; 0 means 100 ms.
	Plan Plan
	// Windows is how many are run before steadiness is first judged, >= 20. 0 means 20.
	Windows int
	// Extensions is how often the number of windows is doubled while it is not steady. 0 means 3; negative: never.
	Extensions int
	// Limit is how long the warm-up may take. After it no window begins, and the windows so far are judged; fewer than
	// 20 windows are an error. 0: no limit.
	Limit time.Duration
	// Served returns the CPU time that the server has used so far. The server's cost of a call must then be steady too.
	// It is called before the first window, and after each. nil: the cost is unknown.
	Served func(context.Context) (time.Duration, error)
}

// Warmth is the result of a warm-up. A service that never becomes steady is a legitimate result, and not an error.
type Warmth struct {
	Steady bool
	// Drifting says whether, though steady, a figure still had a trend over the windows kept (Mann-Kendall, p < 0.01).
	Drifting   bool
	Windows    int // that were run
	Cut        int // how many at the start were not steady yet
	Extensions int // that were made
	Took       time.Duration
	// Median is the median response time of each window in ns, Throughput its calls per second, and Cost the server's
	// CPU time for each call in ns; nil if it is unknown.
	Median, Throughput, Cost []float64
}

// windowsLeast is the least number of windows that can be judged.
const windowsLeast = 20

// emptyLimit is how many windows of a warm-up may pass without a call sent.
const emptyLimit = 50

// driftAlpha is the p below which a trend counts.
const driftAlpha = 0.01

// driftShare is by how much the second half of the windows kept must differ from the first for a trend in the cost of a
// call to matter. With many windows the test detects trends that are too small to matter.
const driftShare = 0.03

// Warm runs windows until the median response time, the throughput, and the server's cost of a call are steady, each by
// [stat.MSER5]. If ctx is done it returns early with the windows so far. If a window completes no call it returns an
// error.
func (r *Runner) Warm(ctx context.Context, warming Warming) (*Warmth, error) {
	p := warming.Plan
	if p.Duration == 0 {
		p.Duration = 100 * time.Millisecond
	}
	var slowest time.Duration // longest call, if calls take longer than windows
	return warming.warm(ctx, func(n int) ([]window, error) {
		if slowest > 0 {
			// Run as many as fit into the time that waiting for calls takes anyway: more windows give a better
			// judgement.
			n = max(n, min(int(slowest/p.Duration), togetherUsual))
			all, took, err := r.together(ctx, p, slowest, n)
			slowest = max(slowest, took)
			return all, err
		}
		rec, err := r.Run(ctx, p)
		if err != nil {
			return nil, err
		}
		if p.Schedule != nil && rec.Response.Quantile(0.5) > int64(p.Duration) {
			slowest = time.Duration(rec.Response.Max())
		}
		return []window{windowOf(rec)}, nil
	})
}

// Warm is like that of [Runner], with p instead of warming.Plan. Each window opens new streams, as a slice does, so
// that opening them is warmed up too.
func (r *FeedRunner) Warm(ctx context.Context, warming Warming, p FeedPlan) (*Warmth, error) {
	return warming.warm(ctx, func(int) ([]window, error) {
		rec, err := r.Run(ctx, p)
		if err != nil {
			return nil, err
		}
		return []window{windowOf(rec.Recording)}, nil
	})
}

// window is the result of one window of a warm-up.
type window struct {
	sent, ok           uint64
	median, throughput float64
	errors             map[string]uint64
}

func windowOf(rec *Recording) window {
	return window{
		sent: rec.Sent, ok: rec.OK, errors: rec.Errors,
		median: float64(rec.Response.Quantile(0.5)), throughput: rec.Throughput(),
	}
}

// warm runs windows until they are steady. run is asked for n windows, and runs at least one.
func (warming Warming) warm(ctx context.Context, run func(n int) ([]window, error)) (*Warmth, error) {
	goal, extensions := warming.Windows, warming.Extensions
	if goal == 0 {
		goal = windowsLeast
	}
	if goal < windowsLeast {
		return nil, fmt.Errorf("%w: %d windows are too few to judge, want %d", ErrPlan, goal, windowsLeast)
	}
	if extensions == 0 {
		extensions = 3
	}
	w, most := &Warmth{}, goal<<max(extensions, 0)
	made := &made{began: time.Now(), limit: warming.Limit, errors: map[string]uint64{}, served: warming.Served}
	if _, err := made.spent(ctx); err != nil {
		return nil, err
	}
	for {
		for len(w.Median) < goal {
			if made.over() {
				break
			}
			all, err := run(goal - len(w.Median))
			if err == nil {
				err = made.add(ctx, w, all)
			}
			if err != nil {
				w.Windows, w.Took = len(w.Median), time.Since(made.began)
				return w, err
			}
		}
		w.Windows, w.Took = len(w.Median), time.Since(made.began)
		if w.Windows < windowsLeast {
			return w, made.late(w)
		}
		w.judge(made.spentInAll >= time.Duration(busyShare*float64(w.Took)))
		if w.Steady || w.Extensions >= extensions || w.Windows >= most || made.over() {
			return w, nil
		}
		w.Extensions++
		goal = min(2*max(goal, w.Windows), most)
	}
}

// made is the state of a warm-up.
type made struct {
	began  time.Time
	limit  time.Duration // 0: none
	empty  int           // windows without a call
	sent   uint64
	errors map[string]uint64
	served func(context.Context) (time.Duration, error) // nil: the cost is unknown
	used   time.Duration                                // as served last returned

	spentInAll time.Duration // since the first window began
}

// over reports whether the time limit has passed.
func (m *made) over() bool { return m.limit > 0 && time.Since(m.began) > m.limit }

// spent returns what the server has used since the last call of spent.
func (m *made) spent(ctx context.Context) (time.Duration, error) {
	if m.served == nil {
		return 0, nil
	}
	now, err := m.served(ctx)
	since := now - m.used
	m.used = now
	return max(0, since), err
}

// add adds windows that just ended. A short window in which the machine made no call is not the service's fault, so it
// does not count and is run again, up to emptyLimit times. Windows that were run together share their cost, since calls
// of several were in flight at the same time.
func (m *made) add(ctx context.Context, w *Warmth, all []window) error {
	spent, err := m.spent(ctx)
	if err != nil {
		return err
	}
	m.spentInAll += spent
	sent := uint64(0)
	for _, x := range all {
		sent += x.sent
	}
	m.sent += sent
	for _, x := range all {
		for kind, n := range x.errors {
			m.errors[kind] += n
		}
		if x.ok == 0 {
			if m.empty++; x.sent == 0 && m.empty <= emptyLimit {
				continue
			}
			return fmt.Errorf("no call of the warm-up succeeded: %s", Kinds(x.errors))
		}
		w.Median, w.Throughput = append(w.Median, x.median), append(w.Throughput, x.throughput)
		if m.served != nil {
			w.Cost = append(w.Cost, float64(spent)/float64(sent))
		}
	}
	return nil
}

// late returns the error of a warm-up whose time was over before it could be judged. It says what the warm-up waited
// for.
func (m *made) late(w *Warmth) error {
	failed := "none failed"
	if len(m.errors) > 0 {
		failed = "failed: " + Kinds(m.errors)
	}
	return fmt.Errorf("warm-up not over within %v: it waited for the calls of %d windows, and those of %d have ended; "+
		"%d calls, %s",
		m.limit.Round(time.Millisecond), windowsLeast, len(w.Median), m.sent, failed)
}

// busyShare is the share of one CPU above which the server's cost of a call is judged. If the server is idle most of
// the time, the cost is a few microseconds of timers and wake-ups, which do not show whether it is warm: because of
// them a service of 50 ms was never steady. Claims about the cost have a separate check over rounds in any case.
const busyShare = 0.1

// judge sets Steady, Cut and Drifting. The server's cost of a call matters for the final claims, and it may still fall
// in a server that compiles while it runs, although calls no longer get faster for the generator. So a trend in the
// cost means not steady, whatever MSER-5 says, which does not see a late step.
func (w *Warmth) judge(busy bool) {
	w.Steady, w.Cut, w.Drifting = true, 0, false
	series := [][]float64{w.Median, w.Throughput}
	if len(w.Cost) > 0 && busy {
		series = append(series, w.Cost)
	}
	for _, x := range series {
		cut, steady := stat.MSER5(x)
		w.Cut = max(w.Cut, cut)
		w.Steady = w.Steady && steady
	}
	trend := func(x []float64) bool { return len(x) > w.Cut && stat.MannKendall(x[w.Cut:]) < driftAlpha }
	if kept := w.Cost[min(w.Cut, len(w.Cost)):]; !busy {
		w.Drifting = w.Steady && slices.ContainsFunc(series, trend)
		return
	} else if trend(w.Cost) && apart(kept) || late(kept) {
		w.Steady = false
	}
	w.Drifting = w.Steady && slices.ContainsFunc(series, trend)
}

// apart reports whether the halves of a series differ by more than [driftShare].
func apart(x []float64) bool {
	first, second := mean(x[:len(x)/2]), mean(x[len(x)/2:])
	return math.Abs(second-first) > driftShare*min(first, second)
}

// late reports whether the last windows of a series are on a different level from all before, which is too late for a
// trend test. They must differ by more than [driftShare], and by more than a few windows of a constant series ever do.
func late(x []float64) bool {
	const few, surely = 5, 4 // number of windows; number of standard errors
	if len(x) < 3*few {
		return false
	}
	before, last := x[:len(x)-few], mean(x[len(x)-few:])
	level, squares := mean(before), 0.0
	for _, v := range before {
		squares += (v - level) * (v - level)
	}
	off := math.Abs(last - level)
	return off > driftShare*level && off > surely*math.Sqrt(squares/float64(len(before)-1)/few)
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}
