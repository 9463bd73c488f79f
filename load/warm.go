package load

import (
	"context"
	"fmt"
	"time"

	"wirelab/stat"
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
	// Observe gives further figures of a window that must be steady too, such
	// as the server's CPU time; always as many. nil: none.
	Observe func(*Recording) []float64
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
	// calls per second.
	Median, Throughput []float64
}

// emptyLimit is how many windows of a warm-up may pass without a call sent.
const emptyLimit = 50

// driftAlpha is the p below which a trend counts.
const driftAlpha = 0.01

// Warm runs windows until the median response time, the throughput, and what
// Observe adds are steady, each by [stat.MSER5]. It returns early, with what
// it has, when ctx ends; and with an error when a window completes no call.
func (r *Runner) Warm(ctx context.Context, warming Warming) (*Warmth, error) {
	p := warming.Plan
	if p.Duration == 0 {
		p.Duration = 100 * time.Millisecond
	}
	return warming.warm(func() (*Recording, error) { return r.Run(ctx, p) })
}

// Warm is as that of [Runner], with p in the place of warming.Plan: each window
// opens streams of its own, as a slice does, so that opening them is warmed up too.
func (r *FeedRunner) Warm(ctx context.Context, warming Warming, p FeedPlan) (*Warmth, error) {
	return warming.warm(func() (*Recording, error) {
		rec, err := r.Run(ctx, p)
		if err != nil {
			return nil, err
		}
		return rec.Recording, nil
	})
}

// warm runs windows until they are steady.
func (warming Warming) warm(run func() (*Recording, error)) (*Warmth, error) {
	goal, extensions := warming.Windows, warming.Extensions
	if goal == 0 {
		goal = 20
	}
	if goal < 20 {
		return nil, fmt.Errorf("%w: %d windows are too few to judge, want 20", ErrPlan, goal)
	}
	if extensions == 0 {
		extensions = 3
	}
	w := &Warmth{}
	var more [][]float64 // one series for each of Observe's figures
	began := time.Now()
	empty := 0
	for {
		for len(w.Median) < goal {
			rec, err := run()
			if err != nil {
				w.Windows, w.Took = len(w.Median), time.Since(began)
				return w, err
			}
			if rec.OK == 0 {
				// A short window in which the machine never came to send is
				// no fault of the service: it is run again, a few times.
				if empty++; rec.Sent == 0 && empty <= emptyLimit {
					continue
				}
				return w, fmt.Errorf("no call of the warm-up succeeded: %s", Kinds(rec.Errors))
			}
			w.Median = append(w.Median, float64(rec.Response.Quantile(0.5)))
			w.Throughput = append(w.Throughput, rec.Throughput())
			if warming.Observe != nil {
				more = observe(more, warming.Observe(rec))
			}
		}
		w.judge(append([][]float64{w.Median, w.Throughput}, more...))
		w.Windows, w.Took = goal, time.Since(began)
		if w.Steady || w.Extensions >= extensions {
			return w, nil
		}
		w.Extensions++
		goal *= 2
	}
}

// observe appends figure i to series i.
func observe(series [][]float64, figures []float64) [][]float64 {
	for i, v := range figures {
		if i == len(series) {
			series = append(series, nil)
		}
		series[i] = append(series[i], v)
	}
	return series
}

// judge sets Steady, Cut and Drifting from all series.
func (w *Warmth) judge(series [][]float64) {
	w.Steady, w.Cut, w.Drifting = true, 0, false
	for _, x := range series {
		cut, steady := stat.MSER5(x)
		w.Cut = max(w.Cut, cut)
		w.Steady = w.Steady && steady
	}
	for _, x := range series {
		if len(x) > w.Cut && stat.MannKendall(x[w.Cut:]) < driftAlpha {
			w.Drifting = w.Steady
		}
	}
}
