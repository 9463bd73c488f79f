// Package selftest tests wirelab itself. It measures quantities that are known beforehand, or that must not be found,
// in the way that users measure: with real child processes, the runner and the analysis. It reports the found
// and the required values. It knows the packages that an experiment uses. It must not know how a wire works.
package selftest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Env is what tests need from outside.
type Env struct {
	// Program is the path of wirelab, with the commands serve, drive and hog.
	Program string
	// Arms describes a plan's arms, or returns an error if they are wrong.
	Arms func(plan.Plan) ([]result.Arm, error)
	// External returns a description of routeguide as an external service, for drivers: its GetFeature over wires
	// with the names of ours.
	External func(context.Context) (json.RawMessage, error)
	// Broker makes benches of brokers with known behaviour.
	Broker Broker
	// Wires are the usual cells of routeguide that have GetFeature. Feeds are those that have ListFeatures as events.
	Wires, Feeds []wirelab.Cell
	Environment  result.Environment
	// Keep stores a result that shows more about a failure, and returns its id.
	Keep func(context.Context, *result.Result) (string, error)
	// Say receives lines on what a test does. It may be called from any goroutine.
	Say func(line string)
	// Long selects the long form.
	Long bool
	// Loads, Busy and Driver choose runs of [Gates]: those whose names contain one of the words, and the driver that
	// makes them. nil selects all runs, and "" the usual driver.
	Loads, Busy []string
	Driver      string
	// Seed is the seed of computed tests.
	Seed uint64

	external json.RawMessage // what drivers call instead of their cell; nil: the cell
}

// Test is one test.
type Test struct {
	Name     string // name for --only
	Shows    string // purpose of the test, in a sentence
	Required string // what must be found
	// Short and Long are about how long the two forms take.
	Short, Long time.Duration
	run         func(ctx context.Context, e Env) (finding, error)
}

// finding is the outcome of a test.
type finding struct {
	found   string
	pass    bool
	refused bool // if it did not pass: the gates refused too much for a verdict
	figures []result.Figure
	kept    []string
}

// judged returns a finding that passes if all its figures do.
func judged(found string, figures ...result.Figure) finding {
	f := finding{found: found, pass: len(figures) > 0, figures: figures}
	for _, one := range figures {
		f.pass = f.pass && one.OK()
	}
	return f
}

// Tests returns all tests in the order in which they run: computed tests first.
func Tests() []Test {
	return []Test{
		queueTest(), mergeTest(), derivationTest(),
		truthTest(), externalTest(), starvedTest(), stoppedTest(), flippedTest(), messagesTest(),
		equalArmsTest(), driftTest(),
	}
}

// Run runs a test and returns its outcome. A test that could not run counts as failed, with the reason. The only
// error is the end of ctx.
func (t Test) Run(ctx context.Context, e Env) (result.Tested, error) {
	began := time.Now()
	done := result.Tested{Name: t.Name, Shows: t.Shows, Required: t.Required}
	f, err := t.run(ctx, e)
	done.Took = plan.Duration(time.Since(began).Round(time.Millisecond))
	if ctx.Err() != nil {
		if err == nil { // keep what was found up to the error
			done.Found, done.Figures, done.Refused = f.found, f.figures, true
		}
		return done, context.Cause(ctx)
	}
	done.Found, done.Pass, done.Figures, done.Kept = f.found, f.pass && err == nil, f.figures, f.kept
	done.Refused = !done.Pass && err == nil && f.refused
	if err != nil {
		done.Found = "could not be run: " + fault.Text(err)
	}
	return done, nil
}

// conduct runs a plan with real processes. arrange may change the bench, and observe receives every step; both may be
// nil.
func (e Env) conduct(
	ctx context.Context, p plan.Plan,
	arrange func(experiment.Bench) experiment.Bench, observe func(experiment.Event),
) (*result.Result, error) {
	p.Workload, p.Operation, p.Floor = "routeguide", cmp.Or(p.Operation, "GetFeature"), plan.FloorNone
	return e.run(ctx, p, func(usual *experiment.Processes, _ plan.Plan) (experiment.Bench, error) {
		if arrange == nil {
			return usual, nil
		}
		return arrange(usual), nil
	}, observe)
}

// run runs a plan with the bench that over makes from the usual one.
func (e Env) run(
	ctx context.Context, p plan.Plan,
	over func(*experiment.Processes, plan.Plan) (experiment.Bench, error), observe func(experiment.Event),
) (*result.Result, error) {
	p, err := p.Complete()
	if err != nil {
		return nil, err
	}
	arms, err := e.Arms(p)
	if err != nil {
		return nil, err
	}
	processes, err := experiment.NewProcesses(e.Program, p)
	if err != nil {
		return nil, err
	}
	bench, err := over(processes, p)
	if err != nil {
		return nil, err
	}
	runner := &experiment.Runner{
		Plan: p, Arms: arms, Bench: bench, Environment: e.Environment, Observe: observe,
		ID: newID(), Command: "wirelab selftest", External: e.external,
	}
	r, err := runner.Run(ctx)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case len(r.Rounds) == 0:
		return nil, errors.New("no round was complete")
	}
	return r, nil
}

// newID returns an id for a result, in the form that stores require.
func newID() string {
	return fmt.Sprintf("r-%s-%04x", time.Now().UTC().Format("20060102-150405"), rand.IntN(1<<16))
}

// keep stores the result of an experiment that failed a test.
func (e Env) keep(ctx context.Context, f *finding, r *result.Result) error {
	if f.pass || r == nil || e.Keep == nil {
		return nil
	}
	id, err := e.Keep(ctx, r)
	if err == nil {
		f.kept = append(f.kept, id)
	}
	return err
}

// choose returns short, or long in the long form.
func choose[T any](e Env, short, long T) T {
	if e.Long {
		return long
	}
	return short
}

// falseShare is the share of n comparisons that may be wrong if the true share is the given one: four standard
// deviations of the binomial distribution above it. With two, one run in forty would fail by chance, for each of the
// two tests and each metric that comes near the limit, however many comparisons are made.
func falseShare(share float64, n int) float64 {
	return share + 4*math.Sqrt(share*(1-share)/float64(max(n, 1)))
}

// milliseconds converts a duration for a figure.
func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
