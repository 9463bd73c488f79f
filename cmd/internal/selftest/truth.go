package selftest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/inject"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/stat"
)

// truthTest measures servers whose response times are known.
func truthTest() Test {
	return Test{
		Name:     "truth",
		Shows:    "figures of a server with known response times are true, over every wire",
		Required: "every published quantile and mean within 2 % + 100 µs of the closed form",
		Short:    85e9, Long: 1800e9,
		run: runTruth,
	}
}

// law is a behaviour to measure, and the settings that this takes.
type law struct {
	inject string
	warmUp time.Duration
	// window is the measured time: a whole number of periods of a server that stops periodically.
	window time.Duration
	rate   float64 // calls per second
	// inFlight is the limit of calls in flight, about twice the usual number. As many calls are also made one after
	// the other before the warm-up.
	inFlight int
}

// usualRate keeps about ten calls in flight. It is not a multiple of any period's frequency, so that arrivals fall at
// different places in successive periods.
const usualRate = 120.9

// laws returns the behaviours. Their delays are long, so that the time a wire takes on an idle virtual machine, 0.2
// to 0.9 ms, is within the allowed error. No published quantile lies where a law jumps. The short form makes enough
// calls for medians and means, the long form for the 99th percentile.
func laws(e Env) []law {
	usual := choose(e, 2600*time.Millisecond, 45*time.Second)
	frozen, every := "frozen 50ms 20ms 200ms", 200*time.Millisecond
	if e.Long {
		frozen, every = "frozen 50ms 50ms 500ms", 500*time.Millisecond
	}
	return []law{
		{"constant 50ms", 400 * time.Millisecond, usual, usualRate, 20},
		{"bimodal 50ms 120ms 0.8", 400 * time.Millisecond, usual, usualRate, 20},
		// With n calls the shares agree with the law to about 2/n. At the median of this law that is 0.3 ms for n =
		// 1,000; for the other laws it is negligible.
		{"exponential 70ms", 400 * time.Millisecond, 2 * usual, 200.9, 32},
		// A warm-up has twenty windows. Each must be one period; otherwise the windows differ because of the server's
		// own behaviour.
		{frozen, 20 * every, usual, usualRate, 20},
	}
}

// attempts is the greatest number of measurements of one wire. repeatsMax is the greatest number of repeats in all.
// Only a machine that is busy with something else needs repeats. One that is always busy would otherwise take three
// times as long to show nothing.
const (
	attempts   = 3
	repeatsMax = 10
)

// beside is the number of experiments that run at once. Their calls mostly wait, so that all of them together keep two
// processors a quarter busy.
const beside = 4

// job is one experiment of a truth test.
type job struct {
	env       Env
	wire      wirelab.Cell
	law       law
	operation string // "": GetFeature
}

func runTruth(ctx context.Context, e Env) (finding, error) {
	var jobs []job
	for k, l := range laws(e) {
		for i, wire := range e.Wires {
			// The short form tries two laws on each wire: one of the first two and one of the others.
			if e.Long || k%2 == i%2 {
				jobs = append(jobs, job{env: e, wire: wire, law: l})
			}
		}
	}
	var all truths
	all.measure(ctx, e, jobs, beside)
	return all.finding(), nil
}

// measure runs all jobs, atOnce of them at a time.
func (t *truths) measure(ctx context.Context, e Env, jobs []job, atOnce int) {
	of := t.done + len(jobs)
	// The frozen laws take longest. They are last in the list, and are started first.
	next := make(chan job, len(jobs))
	for i := len(jobs) - 1; i >= 0; i-- {
		next <- jobs[i]
	}
	close(next)
	var mu sync.Mutex      // guards t
	var again atomic.Int64 // number of repeats
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for j := range next {
				if ctx.Err() != nil {
					return
				}
				one := measureTruth(ctx, j, &again)
				mu.Lock()
				t.add(one)
				e.Say(fmt.Sprintf("%d of %d: %s", t.done, of, one))
				mu.Unlock()
			}
		})
	}
	workers.Wait()
}

// truths collects what was found on all wires.
type truths struct {
	done, again   int
	figures       []result.Figure
	wrong, silent []string
	worst         float64 // share of the allowed error
	worstAt       string
	published     int
}

func (t *truths) add(one truthful) {
	t.done++
	t.figures = append(t.figures, one.figures...)
	if one.attempts > 1 {
		t.again++
	}
	t.published += one.published
	if one.published == 0 {
		t.silent = append(t.silent, one.name+" ("+one.why+")")
	}
	for _, f := range one.figures {
		middle := (f.High + f.Low) / 2
		if off := math.Abs(f.Found-middle) / (f.High - middle); off > t.worst {
			t.worst, t.worstAt = off, f.Name
		}
		if !f.OK() {
			t.wrong = append(t.wrong,
				fmt.Sprintf("%s is %.4g %s, not %.4g to %.4g", f.Name, f.Found, f.Unit, f.Low, f.High))
		}
	}
}

func (t *truths) finding() finding {
	f := finding{
		figures: t.figures, pass: len(t.wrong) == 0 && len(t.silent) == 0 && t.done > 0,
		refused: len(t.wrong) == 0,
	}
	f.found = fmt.Sprintf("%d numbers of %d servers", t.published, t.done)
	if t.published > 0 {
		f.found += fmt.Sprintf("; the worst is off by %.0f %% of the allowed error (%s)", 100*t.worst, t.worstAt)
	}
	if t.again > 0 {
		f.found += fmt.Sprintf("; %d servers were measured again, since the machine was busy", t.again)
	}
	if len(t.wrong) > 0 {
		f.found = fmt.Sprintf("%d numbers are wrong, %d were published; first: %s", len(t.wrong), t.published,
			t.wrong[0])
	}
	if n := len(t.silent); n > 0 {
		f.found += fmt.Sprintf("; nothing was published of %d servers, such as %s", n, t.silent[0])
	}
	return f
}

// truthful is what was found about one server over one wire.
type truthful struct {
	name      string
	figures   []result.Figure
	published int
	attempts  int
	why       string // why nothing was published
}

func (t truthful) String() string {
	bad := 0
	for _, f := range t.figures {
		if !f.OK() {
			bad++
		}
	}
	text := fmt.Sprintf("%s: %d numbers, %d of them wrong", t.name, t.published, bad)
	if t.published == 0 {
		text = t.name + ": nothing published: " + t.why
	}
	if t.attempts > 1 {
		text += fmt.Sprintf(", attempt %d", t.attempts)
	}
	return text
}

// sound reports whether something was published, and all of it is right.
func (t truthful) sound() bool {
	for _, f := range t.figures {
		if !f.OK() {
			return false
		}
	}
	return t.published > 0
}

// measureTruth measures a wire until it is sound, or until there were too many attempts.
func measureTruth(ctx context.Context, j job, again *atomic.Int64) truthful {
	var last truthful
	for attempt := 1; attempt <= attempts && ctx.Err() == nil; attempt++ {
		last = measureOnce(ctx, j)
		last.attempts = attempt
		// If a busy machine publishes nothing, the wire is tried again, up to a total number of repeats. A wrong
		// number is always tried again: of a hundred random numbers some are outside once by chance, but an error is
		// outside each time.
		if last.sound() || last.published == 0 && again.Add(1) > repeatsMax {
			break
		}
	}
	return last
}

func measureOnce(ctx context.Context, j job) truthful {
	e, wire, l := j.env, j.wire, j.law
	t := truthful{name: wire.Protocol.Name + ", " + l.inject}
	if e.external != nil {
		t.name = wire.Protocol.Name + " by " + e.Driver + ", " + l.inject
	}
	r, err := e.conduct(ctx, plan.Plan{
		Operation: j.operation,
		Arms:      []plan.Arm{{Protocol: wire.Protocol.Name, Inject: l.inject, Driver: e.Driver}},
		Loads:     []plan.Load{{Rate: l.rate, Arrivals: plan.Constant, InFlight: l.inFlight}},
		Rounds:    plan.Rounds{Min: choose(e, 1, 2), Max: choose(e, 1, 2)},
		// The first tenth of a slice is not recorded.
		Slices: 1, Slice: plan.Duration(l.window * 10 / 9), WarmUp: plan.Duration(l.warmUp),
	}, nil, nil)
	if err != nil {
		t.why = fault.Text(err)
		return t
	}
	behaviour, err := inject.Parse(l.inject)
	if err != nil {
		t.why = fault.Text(err)
		return t
	}
	truth, _ := behaviour.Truth()
	load := analyse.Result(r).Loads[0]
	for _, row := range load.Rows {
		m, err := kinds.MetricByID(row.Metric)
		if err != nil || m.Quantile == 0 && m.ID != plan.ResponseMean {
			continue // other metrics than times
		}
		want := truth.Mean()
		if m.Quantile > 0 {
			want = truth.Quantile(m.Quantile)
		}
		if found := row.Cells[0].Estimate; found.Known {
			t.published++
			t.figures = append(t.figures, near(t.name+": "+m.ID, found.Value, want, "published"))
		} else if t.why == "" {
			t.why = found.Why
		}
	}
	if t.published == 0 {
		t.pooled(r, truth)
	}
	return t
}

// pooled checks the raw histogram if nothing was published. On a busy machine the histogram is late, which the gates
// noticed. But nothing makes a call faster than its server, so a median below the true one is wrong in any case.
func (t *truthful) pooled(r *result.Result, truth inject.Truth) {
	pool := &stat.Histogram{}
	for _, round := range r.Rounds {
		for _, trial := range round.Trials {
			pool.Merge(trial.Response)
		}
	}
	if pool.Count() > 0 {
		f := near(t.name+": median of the raw histogram", float64(pool.Quantile(0.5)), truth.Quantile(0.5),
			"not published")
		if f.Found < f.Low {
			t.figures = append(t.figures, f)
		}
		t.why += fmt.Sprintf("; the raw median is %.3g ms, the true one %.3g ms", f.Found,
			milliseconds(truth.Quantile(0.5)))
	}
}

// near compares a time in ns with its expected value, and gives the allowed range.
func near(name string, found float64, want time.Duration, note string) result.Figure {
	allowed := 0.02*milliseconds(want) + 0.1
	return result.Figure{
		Name: name, Unit: "ms", Found: found / 1e6,
		Low: milliseconds(want) - allowed, High: milliseconds(want) + allowed, Note: note,
	}
}
