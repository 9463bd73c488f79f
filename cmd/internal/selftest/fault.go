package selftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/lab/experiment"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// faultWire is the wire on which faults are tried. Its replies are text.
const faultWire = "http1-json"

// starvedTest takes the processor away from the driver.
func starvedTest() Test {
	return Test{
		Name: "starved",
		Shows: "a generator without enough processor time says so, instead of reporting its own lateness as the " +
			"server's",
		Required: "no response or service time is published",
		Short:    5e9, Long: 10e9,
		run: func(ctx context.Context, e Env) (f finding, err error) {
			const count = 6
			p := plan.Plan{
				Arms:   []plan.Arm{{Protocol: faultWire}},
				Loads:  []plan.Load{{Rate: 2000, Arrivals: plan.Constant, InFlight: 64}},
				Rounds: plan.Rounds{Min: 1, Max: 1}, Slices: 1,
				Slice: plan.Duration(choose(e, 2*time.Second, 5*time.Second)),
			}
			r, err := e.crowded(ctx, p, count, besideDriver.cores)
			if err != nil {
				return finding{}, err
			}
			load := analyse.Result(r).Loads[0]
			shown := published(load)
			f = judged("nothing is published: "+strings.Join(why(load), "; "), result.Figure{
				Name: "times published", Unit: "numbers", Found: float64(len(shown)),
				Note: "with " + fmt.Sprint(count) + " processes on the driver's core that do nothing but use it",
			})
			if !f.pass {
				f.found = "published all the same: " + strings.Join(shown, ", ")
			}
			return f, e.keep(ctx, &f, r)
		},
	}
}

// published names the times that an analysis publishes for the first arm.
func published(load claim.LoadAnalysis) []string {
	var all []string
	for _, row := range load.Rows {
		m, err := kinds.MetricByID(row.Metric)
		if err == nil && m.Dimension == metric.Time && (m.Quantile > 0 || m.ID == plan.ResponseMean) &&
			row.Cells[0].Estimate.Known {
			all = append(all, m.ID)
		}
	}
	return all
}

// why returns the checks that the first arm failed.
func why(load claim.LoadAnalysis) []string {
	var all []string
	for _, c := range load.Arms[0].Checks {
		if !c.OK {
			all = append(all, c.Detail)
		}
	}
	return all
}

// strained reports whether the machine delayed the first arm's experiment, according to the gates that check only
// this.
func strained(load claim.LoadAnalysis) bool {
	return slices.ContainsFunc(load.Arms[0].Checks, func(c claim.Check) bool {
		switch c.Gate {
		case result.GeneratorWaits, result.Steal, result.Neighbours, result.Throttling:
			return !c.OK
		}
		return false
	})
}

// The length of the server's stop, and the response time from which on a call counts as slow.
const (
	stopRate  = 400 // calls per second
	stopTime  = 500 * time.Millisecond
	slowAfter = 20 * time.Millisecond
)

// slowDue is how many calls are due early enough in the stop to become slow.
var slowDue = stopRate * (stopTime - slowAfter).Seconds()

// stoppedTest stops the server's process under a constant rate.
func stoppedTest() Test {
	return Test{
		Name: "stopped",
		Shows: "a server that stops for half a second is charged for every call that came during this time, not " +
			"only for one per connection",
		Required: fmt.Sprintf("of %d calls/s, as many take over %v as are due in the standstill less that: %.0f "+
			"± 10 %%", stopRate, slowAfter, slowDue),
		Short: 5e9, Long: 5e9,
		run: func(ctx context.Context, e Env) (finding, error) {
			for attempt := 1; ; attempt++ {
				r, err := stopOnce(ctx, e)
				if err != nil {
					return finding{}, err
				}
				load := analyse.Result(r).Loads[0]
				f := charged(r.Rounds[0].Trials[0].Response, strained(load))
				if f.pass || !f.refused || attempt == attempts {
					f.found = strings.Join(append([]string{f.found}, why(load)...), "; ")
					return f, e.keep(ctx, &f, r)
				}
			}
		},
	}
}

// charged judges the response times of calls during which a server was stopped. A busy machine makes other calls slow
// too, but never makes a slow call fast. So on such a machine too many slow calls are no error of wirelab, and too
// few always are.
func charged(h *stat.Histogram, busy bool) finding {
	found, longest := float64(h.Count()-h.CountAtMost(int64(slowAfter))), float64(h.Max())/1e6
	slow := result.Figure{
		Name: "calls that took over " + slowAfter.String(), Unit: "calls", Found: found,
		Low: 0.9 * slowDue, High: 1.1 * slowDue,
	}
	slowest := result.Figure{Name: "the slowest call", Unit: "ms", Found: longest, Low: 490, High: 600}
	f := judged(fmt.Sprintf("%.0f slow calls, the slowest %.0fms", found, longest), slow, slowest)
	f.refused = busy && slow.Found >= slow.Low && slowest.Found >= slowest.Low
	return f
}

// stopOnce makes one measurement of a server that is stopped during it.
func stopOnce(ctx context.Context, e Env) (*result.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var pid int
	arrange := func(b experiment.Bench) experiment.Bench {
		return watched{b, func(server experiment.Child) (experiment.Child, error) {
			var err error
			pid, err = pidOf(server)
			return server, err
		}}
	}
	var stopping sync.WaitGroup
	var failed error
	once := sync.Once{}
	r, err := e.conduct(ctx, plan.Plan{
		Arms:   []plan.Arm{{Protocol: faultWire}},
		Loads:  []plan.Load{{Rate: stopRate, Arrivals: plan.Constant, InFlight: 256}},
		Rounds: plan.Rounds{Min: 1, Max: 1}, Slices: 1, Slice: plan.Duration(3 * time.Second),
	}, arrange, func(event experiment.Event) {
		if event.Phase == experiment.Measuring {
			once.Do(func() {
				stopping.Go(func() { failed = standstill(ctx, pid, 1500*time.Millisecond, stopTime) })
			})
		}
	})
	stopping.Wait()
	return r, errors.Join(err, failed)
}

// spoilEvery is the number of replies for each one that is changed.
const spoilEvery = 10_000

// flippedTest changes one byte in ten thousand replies on their way.
func flippedTest() Test {
	return Test{
		Name:     "flipped",
		Shows:    "every reply is checked: one wrong digit in 10,000 replies disqualifies the arm",
		Required: "every changed reply is counted as wrong, and no number of the arm is published",
		Short:    8e9, Long: 30e9,
		run: func(ctx context.Context, e Env) (finding, error) {
			for slice := choose(e, 5*time.Second, 25*time.Second); ; slice *= 4 {
				r, replies, changed, err := flipOnce(ctx, e, slice)
				if err != nil {
					return finding{}, err
				}
				if f := spoilt(r, replies, changed); f.pass || !f.refused || slice >= time.Minute {
					return f, e.keep(ctx, &f, r)
				}
			}
		},
	}
}

// spoilt judges a result with the given number of replies, of which some were changed. If there were too few calls
// for one to be changed, the test shows nothing.
func spoilt(r *result.Result, replies, changed uint64) finding {
	trial, load := r.Rounds[0].Trials[0], analyse.Result(r).Loads[0]
	shown := 0
	for _, row := range load.Rows {
		if row.Cells[0].Estimate.Known {
			shown++
		}
	}
	made, wrong := float64(changed), float64(trial.Errors[result.WrongReply])
	f := judged(
		fmt.Sprintf("%d replies, %d changed, %.0f found wrong: %s", replies, changed, wrong,
			strings.Join(why(load), "; ")),
		result.Figure{Name: "replies changed", Unit: "replies", Found: made, Low: 1, High: max(made, 1)},
		result.Figure{Name: "replies found wrong", Unit: "replies", Found: wrong, Low: made, High: made},
		result.Figure{Name: "numbers published", Unit: "numbers", Found: float64(shown)},
	)
	f.refused = changed == 0 && wrong == 0
	return f
}

// flipOnce measures a server some of whose replies are changed. It returns how many replies there were, and how many
// of the measured ones were changed.
func flipOnce(ctx context.Context, e Env, slice time.Duration) (r *result.Result, seen, made uint64, err error) {
	var replies, changed atomic.Uint64
	arrange := func(b experiment.Bench) experiment.Bench {
		return watched{b, func(server experiment.Child) (experiment.Child, error) {
			proxy, err := newProxy(server.Ready().Address, spoilEvery, &replies, &changed)
			return proxied{server, proxy}, err
		}}
	}
	var before uint64 // changed in the warm-up
	once := sync.Once{}
	r, err = e.conduct(ctx, plan.Plan{
		Arms:   []plan.Arm{{Protocol: faultWire}},
		Rounds: plan.Rounds{Min: 1, Max: 1}, Slices: 1, Slice: plan.Duration(slice),
	}, arrange, func(event experiment.Event) {
		if event.Phase == experiment.Measuring {
			once.Do(func() { before = changed.Load() })
		}
	})
	return r, replies.Load(), changed.Load() - before, err
}
