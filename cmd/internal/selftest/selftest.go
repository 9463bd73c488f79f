// Package selftest tries wirelab itself: it measures what is known beforehand,
// or cannot be there, the way that users measure, with real child processes,
// the conductor and the analysis, and tells what was found beside what must
// be. It knows the rooms that an experiment goes through, and no wire.
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

// Env is what tests need of the world.
type Env struct {
	// Program is the path of wirelab, with the commands serve, drive and hog.
	Program string
	// Arms describes a plan's arms, or tells what is wrong with them.
	Arms func(plan.Plan) ([]result.Arm, error)
	// External is routeguide described as a service that is not ours, for drivers: its GetFeature over wires that have
	// the names of ours.
	External func(context.Context) (json.RawMessage, error)
	// Broker makes benches of brokers that do what is known beforehand.
	Broker Broker
	// Wires are the usual cells of routeguide that carry GetFeature, and Feeds those that carry ListFeatures as events.
	Wires, Feeds []wirelab.Cell
	Environment  result.Environment
	// Keep stores a result that tells more about a failure, and returns its id.
	Keep func(context.Context, *result.Result) (string, error)
	// Say is told what a test is doing, a line at a time, from any goroutine.
	Say func(line string)
	// Long asks for the long form.
	Long bool
	// Loads, Busy and Driver choose runs of [Gates]: those whose names have one of the words in them, and by which
	// driver they are made. nil is all of them, and "" the usual driver.
	Loads, Busy []string
	Driver      string
	// Seed draws what is drawn in computed tests.
	Seed uint64

	external json.RawMessage // what drivers call in place of their cell; nil: that
}

// Test is one of the trials.
type Test struct {
	Name     string // as --only takes it
	Shows    string // what it is for, in a sentence
	Required string // what must be found
	// Takes is about how long the short and the long form take.
	Short, Long time.Duration
	run         func(ctx context.Context, e Env) (finding, error)
}

// finding is what a test found.
type finding struct {
	found   string
	pass    bool
	refused bool // if not pass: the gates let too little be said
	figures []result.Figure
	kept    []string
}

// judged is a finding that passes if all its figures do.
func judged(found string, figures ...result.Figure) finding {
	f := finding{found: found, pass: len(figures) > 0, figures: figures}
	for _, one := range figures {
		f.pass = f.pass && one.OK()
	}
	return f
}

// Tests returns all tests, in the order they are run: what is computed first.
func Tests() []Test {
	return []Test{
		queueTest(), mergeTest(), derivationTest(),
		truthTest(), externalTest(), starvedTest(), stoppedTest(), flippedTest(), messagesTest(),
		equalArmsTest(), driftTest(),
	}
}

// Run runs a test and tells what it found. A test that could not be run has
// failed, with the reason; ctx's end is the only error.
func (t Test) Run(ctx context.Context, e Env) (result.Tested, error) {
	began := time.Now()
	done := result.Tested{Name: t.Name, Shows: t.Shows, Required: t.Required}
	f, err := t.run(ctx, e)
	done.Took = plan.Duration(time.Since(began).Round(time.Millisecond))
	if ctx.Err() != nil {
		if err == nil { // it tells what it found until then
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

// conduct runs a plan with real processes. arrange, unless nil, changes the
// bench; observe, unless nil, is told of every step.
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

// run runs a plan over a bench that is made of the usual one.
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

// newID returns an id for a result, of the form that stores take.
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

// falseShare is the share of n comparisons that may be false where share of
// them are: four standard deviations of the binomial law above it. With two, one
// run in forty would fail by chance, for each of the two tests and metrics that
// come near to share, however many comparisons are made.
func falseShare(share float64, n int) float64 {
	return share + 4*math.Sqrt(share*(1-share)/float64(max(n, 1)))
}

// milliseconds is a duration as a figure has it.
func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
