package selftest

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"wirelab"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Asked says how to run the tests.
type Asked struct {
	Long        bool
	Loads, Busy []string
	Driver      string
	Seed        uint64
}

// Choose returns the tests with these names, or all if there are none.
func Choose(only []string) ([]Test, error) {
	all := Tests()
	if len(only) == 0 {
		return all, nil
	}
	all = append(all, Gates()) // it takes long, and so runs only if it is named
	known := make([]string, len(all))
	for i, t := range all {
		known[i] = t.Name
	}
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, wirelab.UnknownName("test", name, known, "wirelab selftest --list")
		}
	}
	return slices.DeleteFunc(all, func(t Test) bool { return !slices.Contains(only, t.Name) }), nil
}

// Takes returns how long a test takes, in its short or its long form.
func Takes(t Test, long bool) time.Duration {
	if long {
		return t.Long
	}
	return t.Short
}

// NewEnv returns what tests need.
func NewEnv(ctx context.Context, l *prepare.Lab, o Asked) (Env, error) {
	program, err := experiment.Program()
	if err != nil {
		return Env{}, err
	}
	work, err := l.Work("routeguide")
	if err != nil {
		return Env{}, err
	}
	e := Env{
		Program: program, Arms: func(p plan.Plan) ([]result.Arm, error) { return l.Arms(ctx, p) },
		External: func(ctx context.Context) (json.RawMessage, error) { return describedGuide(ctx, l) },
		Broker:   prepare.NullBrokers(program), Environment: probe.Environment(), Long: o.Long, Seed: o.Seed,
		Loads: o.Loads, Busy: o.Busy, Driver: o.Driver,
	}
	for _, cell := range work.Cells {
		if _, hole := cell.Holes["GetFeature"]; cell.Usual && !hole {
			e.Wires = append(e.Wires, cell)
		}
		if cell.Usual && cell.Protocol.Name == "sse" {
			e.Feeds = append(e.Feeds, cell)
		}
	}
	return e, nil
}

// Blank returns the report before any test has run. Its plan names the protocols under test, so that filters of
// results find it.
func Blank(ctx context.Context, l *prepare.Lab, e Env, o Asked) (*result.Result, error) {
	p := plan.Plan{
		Name: "selftest", About: "Does wirelab report known quantities correctly?",
		Workload: "routeguide", Operation: "GetFeature", Seed: max(o.Seed, 1), Floor: plan.FloorNone,
	}
	for _, cell := range e.Wires {
		p.Arms = append(p.Arms, plan.Arm{Protocol: cell.Protocol.Name})
	}
	p, err := p.Complete()
	if err != nil {
		return nil, err
	}
	arms, err := l.Arms(ctx, p)
	began := time.Now()
	return &result.Result{
		Schema: result.Schema, Minor: result.Minor,
		Began: began, Plan: p, Arms: arms, Environment: e.Environment, Rounds: []result.Round{},
		Ending:   result.RoundsDone,
		SelfTest: &result.SelfTest{Long: o.Long, Tests: []result.Tested{}},
	}, err
}
