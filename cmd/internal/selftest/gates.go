package selftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/internal/fault"
	"wirelab/lab/inject"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
)

// Gates tests the gates as a classifier of numbers into true and false ones. It takes long, and runs only if it is
// named.
func Gates() Test {
	return Test{
		Name: "gates",
		Shows: "the checks refuse numbers that are false, and few that are true: fast and slow servers, alone and " +
			"next to another process",
		Required: "at most 5 % of the runs with true numbers are refused, and at least 99 % of those with a false " +
			"one, but for chance",
		Short: 1500e9, Long: 5400e9,
		run: runGates,
	}
}

// pace is a server with a known law under one load.
type pace struct {
	inject string
	load   plan.Load
	slice  time.Duration
	driver string // as in a plan
}

// paces range from 50 µs of work to calls of 2 s. A delay uses no processor time, so calls do not wait for each
// other. Work does, and so calls with work run one at a time. Slices have at least about 40 calls, and laws are so
// narrow that chance moves the mean of so few calls by at most 1 %. driver is as in a plan.
func paces(driver string) []pace {
	rate := func(perSecond float64, inFlight int) plan.Load {
		return plan.Load{Rate: perSecond, Arrivals: plan.Constant, InFlight: inFlight}
	}
	return []pace{
		{"spin 50us", plan.Load{InFlight: 1}, 600 * time.Millisecond, driver},
		{"spin 50us", rate(200, 16), time.Second, driver},
		{"spin 50us", rate(900, 16), time.Second, driver},
		{"constant 1ms", plan.Load{InFlight: 1}, 600 * time.Millisecond, driver},
		{"constant 1ms", rate(200, 16), time.Second, driver},
		{"constant 2.6ms", rate(400, 16), time.Second, driver},
		{"bimodal 15ms 20ms 0.8", plan.Load{InFlight: 8}, 600 * time.Millisecond, driver},
		{"bimodal 15ms 20ms 0.8", rate(90, 16), time.Second, driver},
		{"constant 150ms", plan.Load{InFlight: 8}, time.Second, driver},
		{"constant 150ms", rate(40, 32), 1200 * time.Millisecond, driver},
		{"constant 2s", plan.Load{InFlight: 16}, 6 * time.Second, driver},
	}
}

// verdicts counts runs and their numbers, by whether they were true and whether they were refused. A run is true if
// all its numbers are true, published or refused. A true run is refused if one of its numbers is refused. A false run
// is refused if each of its false numbers is refused.
type verdicts struct {
	trueRuns, trueRunsRefused, falseRuns, falseRunsPublished int

	truePublished, trueRefused, falsePublished, falseRefused int

	wrong  []string // false and published
	strict []string // true and refused
}

func (v *verdicts) add(w verdicts) {
	v.trueRuns += w.trueRuns
	v.trueRunsRefused += w.trueRunsRefused
	v.falseRuns += w.falseRuns
	v.falseRunsPublished += w.falseRunsPublished
	v.truePublished += w.truePublished
	v.trueRefused += w.trueRefused
	v.falsePublished += w.falsePublished
	v.falseRefused += w.falseRefused
	v.wrong = append(v.wrong, w.wrong...)
	v.strict = append(v.strict, w.strict...)
}

func (v *verdicts) trues() int  { return v.truePublished + v.trueRefused }
func (v *verdicts) falses() int { return v.falsePublished + v.falseRefused }

// run counts the numbers judged since the last call as one run.
func (v *verdicts) run() {
	switch {
	case v.falses() > 0:
		v.falseRuns++
		v.falseRunsPublished += min(v.falsePublished, 1)
	case v.trues() > 0:
		v.trueRuns++
		v.trueRunsRefused += min(v.trueRefused, 1)
	}
}

func (v verdicts) String() string {
	return fmt.Sprintf("of %d true runs %d refused, of %d false ones %d published (numbers: %d of %d, %d of %d)",
		v.trueRuns, v.trueRunsRefused, v.falseRuns, v.falseRunsPublished, v.trueRefused, v.trues(), v.falsePublished,
		v.falses())
}

// figures returns the shares, with what chance allows for so many runs.
func (v *verdicts) figures() []result.Figure {
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	return []result.Figure{
		{
			Name: "true runs that were refused", Unit: "%", Found: share(v.trueRunsRefused, v.trueRuns),
			High: 100 * falseShare(0.05, v.trueRuns), Note: fmt.Sprintf("%d of %d", v.trueRunsRefused, v.trueRuns),
		},
		{
			Name: "false runs that were published", Unit: "%", Found: share(v.falseRunsPublished, v.falseRuns),
			High: 100 * falseShare(0.01, v.falseRuns), Note: fmt.Sprintf("%d of %d", v.falseRunsPublished, v.falseRuns),
		},
	}
}

// company says what else runs while a pace is measured.
type company string

const (
	alone        company = "alone"
	besideDriver company = "next to a process on the driver's core"
	besideServer company = "next to a process on the server's core"
)

// cores returns the cores that the company uses; none if there is no company.
func (c company) cores(at result.Placement) []int {
	switch c {
	case besideDriver:
		return at.DriverCPUs
	case besideServer:
		return at.ServerCPUs
	}
	return nil
}

// runGates measures every pace alone and next to a process that uses the processor of driver or server. It judges
// each number by the law and by the time of the wire here, which it measures in between.
func runGates(ctx context.Context, e Env) (finding, error) {
	var all verdicts
	by := map[company]*verdicts{alone: {}, besideDriver: {}, besideServer: {}}
	var rows []result.Figure
	var unable []string
	chosen, companies, err := e.gates()
	if err != nil {
		return finding{}, err
	}
	whole := len(e.Loads) == 0 && len(e.Busy) == 0 // a whole test has both kinds of runs
	for repeat := range choose(e, 1, 5) {
		for i, p := range chosen {
			wire, err := wireTimes(ctx, e, p)
			if err != nil {
				unable = append(unable, fmt.Sprintf("%s: %s", p, fault.Text(err)))
				continue
			}
			for _, with := range companies {
				one, err := p.classify(ctx, e, wire, with)
				if ctx.Err() != nil {
					return gatesFound(ctx, all, by, rows, unable, whole)
				}
				if err != nil {
					unable = append(unable, fmt.Sprintf("%s, %s: %s", p, with, fault.Text(err)))
					continue
				}
				all.add(one)
				by[with].add(one)
				rows = append(rows, result.Figure{
					Name: fmt.Sprintf("%s, %s: true numbers that were refused", p, with), Unit: "numbers",
					Found: float64(one.trueRefused), High: float64(one.trues()),
					Note: strings.Join(slices.Concat([]string{one.String()}, one.strict, one.wrong), "; "),
				})
				e.Say(fmt.Sprintf("%d of %d: %s, %s: %s", repeat*len(chosen)+i+1, choose(e, 1, 5)*len(chosen), p, with,
					one))
			}
		}
	}
	return gatesFound(ctx, all, by, rows, unable, whole)
}

// gatesFound judges the runs that were made, also after an interruption. whole reports that no run was left out by
// choice.
func gatesFound(
	ctx context.Context, all verdicts, by map[company]*verdicts, rows []result.Figure, unable []string, whole bool,
) (finding, error) {
	if len(rows) == 0 && ctx.Err() != nil {
		return finding{}, context.Cause(ctx)
	}
	f := judged(fmt.Sprintf("%s: %s; %s: %s; %s: %s", alone, by[alone], besideDriver, by[besideDriver], besideServer,
		by[besideServer]), append(all.figures(), rows...)...)
	f.pass = f.pass && (!whole || all.trueRuns > 0 && all.falseRuns > 0)
	if ctx.Err() != nil {
		f.found = fmt.Sprintf("interrupted after %d runs; %s", len(rows), f.found)
	}
	for _, list := range []struct {
		what string
		of   []string
	}{{"false and published", all.wrong}, {"true and refused", all.strict}, {"not measured", unable}} {
		if n := len(list.of); n > 0 {
			f.found += fmt.Sprintf("; %d %s, such as %s", n, list.what, list.of[0])
		}
	}
	return f, nil
}

func (p pace) String() string {
	if p.load.Open() {
		return fmt.Sprintf("%s at %g/s", p.inject, p.load.Rate)
	}
	return fmt.Sprintf("%s with %d in flight", p.inject, p.load.InFlight)
}

// plan returns the plan for measuring a pace.
func (p pace) plan(behaviour string) plan.Plan {
	return plan.Plan{
		Arms: []plan.Arm{{Protocol: faultWire, Inject: behaviour, Driver: p.driver}}, Loads: []plan.Load{p.load},
		Rounds: plan.Rounds{Min: 3, Max: 3}, Slices: 1, Slice: plan.Duration(p.slice),
		WarmUp: plan.Duration(400 * time.Millisecond),
	}
}

// wireTimes measures a server that does nothing under the same load: the time that wire and machine add to the law.
func wireTimes(ctx context.Context, e Env, p pace) (*stat.Histogram, error) {
	if p.slice > time.Second { // a pace with calls of seconds does not need slices of that length
		p.slice = time.Second
	}
	r, err := e.conduct(ctx, p.plan(""), nil, nil)
	if err != nil {
		return nil, err
	}
	return calmest(r)
}

// calmest returns the round with the shortest times of the wire. Other programs make calls longer and never shorter.
// If their effect were added to the law, a false number would count as true.
func calmest(r *result.Result) (*stat.Histogram, error) {
	var least *stat.Histogram
	for _, round := range r.Rounds {
		for _, trial := range round.Trials {
			if h := trial.Response; h.Count() > 0 && (least == nil || h.Mean() < least.Mean()) {
				least = h
			}
		}
	}
	if least == nil {
		return nil, errors.New("the server that does nothing answered nothing")
	}
	return least, nil
}

// classify measures a pace, and records for each number whether it is true and whether it was published.
func (p pace) classify(ctx context.Context, e Env, wire *stat.Histogram, with company) (v verdicts, err error) {
	var r *result.Result
	if with == alone {
		r, err = e.conduct(ctx, p.plan(p.inject), nil, nil)
	} else {
		r, err = e.crowded(ctx, p.plan(p.inject), 1, with.cores)
	}
	if err != nil {
		return v, err
	}
	truth, err := p.law()
	if err != nil {
		return v, err
	}
	load := analyse.Result(r).Loads[0]
	for _, row := range load.Rows {
		m, err := kinds.MetricByID(row.Metric)
		if err != nil || m.Quantile == 0 && m.ID != plan.ResponseMean ||
			!slices.Contains([]float64{0, 0.5, 0.9, 0.99}, m.Quantile) || m.Service {
			continue
		}
		// For laws this narrow, a quantile is that of the law plus that of the wire.
		want := truth.Mean() + time.Duration(wire.Mean())
		if m.Quantile > 0 {
			want = truth.Quantile(m.Quantile) + time.Duration(wire.Quantile(m.Quantile))
		}
		v.judge(fmt.Sprintf("%s, %s: %s", p, with, m.ID), row.Cells[0].Estimate, want)
	}
	v.run()
	return v, nil
}

// law returns how long a pace's calls take without the wire. A server that works for a time takes that time, since no
// call waits for another.
func (p pace) law() (inject.Truth, error) {
	behaviour, err := inject.Parse(p.inject)
	if spin := behaviour.Spin(); err == nil && spin > 0 {
		behaviour, err = inject.Parse("constant " + spin.String())
	}
	truth, known := behaviour.Truth()
	if err == nil && !known {
		err = fmt.Errorf("%s has no law", p.inject)
	}
	return truth, err
}

// truthShare and truthFloor are the allowed errors of a number: the effect of lateness and pauses, and the varying
// time in which a virtual machine wakes up.
const (
	truthShare = 0.05
	truthFloor = 100 * time.Microsecond
)

// judge counts a number.
func (v *verdicts) judge(name string, found claim.Estimate, want time.Duration) {
	value := found.Value
	if !found.Known {
		if found.Refused == nil {
			return // nothing was measured, so nothing can be refused
		}
		value = found.Refused.Value
	}
	off := (time.Duration(value) - want).Abs()
	right := off <= time.Duration(truthShare*float64(want))+truthFloor
	text := fmt.Sprintf("%s is %.3g ms, by its law %.3g ms", name, value/1e6, milliseconds(want))
	switch {
	case right && found.Known:
		v.truePublished++
	case right:
		v.trueRefused++
		v.strict = append(v.strict, text+" ("+found.Why+")")
	case found.Known:
		v.falsePublished++
		v.wrong = append(v.wrong, text)
	default:
		v.falseRefused++
	}
}
