package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"wirelab/lab/stat"
)

// Warming says how a warm-up is made and when it is over.
type Warming struct {
	// Plan is what is run, again and again; its Duration is one window's
	// length and 0 means 100 ms.
	Plan Plan
	// Windows is how many are run before the first judgement, >= 20. 0 means 20.
	Windows int
	// Extensions is how often the number of windows is doubled while it is
	// not steady. 0 means 3; negative: never.
	Extensions int
	// Limit is how long the warm-up may take: after it no window is begun. What is
	// judged is what there is then; fewer than 20 windows are an error. 0: no limit.
	Limit time.Duration
	// Served tells the CPU time that the server has used so far. What a call costs it must
	// be steady too. It is asked before the first window, and after each. nil: nobody knows.
	Served func(context.Context) (time.Duration, error)
}

// Warmth is how a warm-up went. A service that never is steady is a
// legitimate result, and not an error.
type Warmth struct {
	Steady bool
	// Drifting is whether, though steady, a figure still had a trend over the
	// windows kept (Mann-Kendall, p < 0.01).
	Drifting   bool
	Windows    int // that were run
	Cut        int // that were not steady yet, at the start
	Extensions int // that were made
	Took       time.Duration
	// Median is each window's median response time in ns, Throughput its
	// calls per second, Cost the server's CPU time for each call in ns; nil where nobody knows.
	Median, Throughput, Cost []float64
}

// windowsLeast is how many windows can be judged.
const windowsLeast = 20

// emptyLimit is how many windows of a warm-up may pass without a call sent.
const emptyLimit = 50

// driftAlpha is the p below which a trend counts.
const driftAlpha = 0.01

// driftShare is by how much the second half of the windows kept must differ from the first for a trend in what a call
// costs to matter: of many windows the test sees trends that nobody would look at.
const driftShare = 0.03

// Warm runs windows until the median response time, the throughput, and what a
// call costs the server are steady, each by [stat.MSER5]. It returns early, with what
// it has, when ctx ends; and with an error when a window completes no call.
func (r *Runner) Warm(ctx context.Context, warming Warming) (*Warmth, error) {
	p := warming.Plan
	if p.Duration == 0 {
		p.Duration = 100 * time.Millisecond
	}
	var slowest time.Duration // call, if calls take longer than windows
	return warming.warm(ctx, func(n int) ([]window, error) {
		if slowest > 0 {
			// As many as fit into the time that one waits for calls anyhow: more are judged better.
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

// Warm is as that of [Runner], with p in the place of warming.Plan: each window
// opens streams of its own, as a slice does, so that opening them is warmed up too.
func (r *FeedRunner) Warm(ctx context.Context, warming Warming, p FeedPlan) (*Warmth, error) {
	return warming.warm(ctx, func(int) ([]window, error) {
		rec, err := r.Run(ctx, p)
		if err != nil {
			return nil, err
		}
		return []window{windowOf(rec.Recording)}, nil
	})
}

// window is what a window of a warm-up showed.
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

// warm runs windows until they are steady. run is asked for so many, and runs one at
// least.
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

// made is what the windows of a warm-up have come to.
type made struct {
	began  time.Time
	limit  time.Duration // 0: none
	empty  int           // windows without a call
	sent   uint64
	errors map[string]uint64
	served func(context.Context) (time.Duration, error) // nil: nobody knows
	used   time.Duration                                // what it told last

	spentInAll time.Duration // since the first window began
}

// over reports whether the time is.
func (m *made) over() bool { return m.limit > 0 && time.Since(m.began) > m.limit }

// spent is what the server has used since this was asked last.
func (m *made) spent(ctx context.Context) (time.Duration, error) {
	if m.served == nil {
		return 0, nil
	}
	now, err := m.served(ctx)
	since := now - m.used
	m.used = now
	return max(0, since), err
}

// add takes windows in that ended just now. A short one in which the machine never came to send is no
// fault of the service, and not counted: it is run again, a few times. Windows that were run together share what they
// cost: calls of several were under way at once.
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

// late says what a warm-up waited for whose time was over before it could be judged.
func (m *made) late(w *Warmth) error {
	failed := "none failed"
	if len(m.errors) > 0 {
		failed = "failed: " + Kinds(m.errors)
	}
	return fmt.Errorf("warm-up not over within %v: it waited for the calls of %d windows, and those of %d have ended; "+
		"%d calls, %s",
		m.limit.Round(time.Millisecond), windowsLeast, len(w.Median), m.sent, failed)
}

// busyShare is the share of one CPU from which on what a call costs the server is judged. Of a server that is idle
// most of the time it is a few microseconds of timers and of waking up, which say nothing of whether it is warm: a
// service of 50 ms was never steady for that. What is claimed of the cost is held to its own check over rounds all the
// same.
const busyShare = 0.1

// judge sets Steady, Cut and Drifting. What a call costs the server is what is claimed of it in the end, and goes on
// falling in a server that compiles while it runs when calls are long as quick as the generator is: a trend in
// that is not steady, whatever MSER-5 says, which does not see a late step.
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

// late reports whether the last windows of a series are on another level than all before, which is too late for a
// trend: by more than [driftShare], and by more than such a few are ever apart that are alike.
func late(x []float64) bool {
	const few, surely = 5, 4 // windows; standard errors
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
