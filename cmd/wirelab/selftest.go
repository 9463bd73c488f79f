package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/selftest"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/results/measure"
	"wirelab/results/report/json"
	"wirelab/results/report/terminal"
	"wirelab/results/store"
)

// selfTestOptions are the flags of "selftest".
type selfTestOptions struct {
	long, list, json, quiet bool
	gates                   bool
	only, loads, busy       []string
	driver                  string
	seed                    uint64
}

func newSelfTestCommand(a *app) *cobra.Command {
	var o selfTestOptions
	c := &cobra.Command{
		Use:     "selftest",
		Short:   "Check wirelab against servers with known behaviour",
		Long:    helpText("self-test"),
		Example: helpText("self-test.examples"),
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	c.Flags().BoolVar(&o.long, "long", false, "run longer tests")
	c.Flags().BoolVar(&o.list, "list", false, "list the tests and run none")
	c.Flags().BoolVar(&o.gates, "gates", false, "count how many true numbers the checks refuse, and how many false ones they let pass")
	c.Flags().StringSliceVar(&o.only, "only", nil, "run only these tests, by `name`, separated by commas")
	c.Flags().StringSliceVar(&o.loads, "loads", nil, "with --gates: only the loads with one of these `words` in their name")
	c.Flags().StringSliceVar(&o.busy, "busy", nil, "with --gates: the `core` that another program uses too: none, driver or server")
	c.Flags().StringVar(&o.driver, "driver", "", "with --gates: the `driver`, client or raw")
	c.Flags().BoolVar(&o.json, "json", false, "print the report as JSON")
	c.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	c.Flags().Uint64Var(&o.seed, "seed", 1, "seed of the random numbers")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !o.gates && (len(o.loads) > 0 || len(o.busy) > 0 || o.driver != "") {
			return wirelab.Errorf(wirelab.InvalidArgument, "--loads, --busy and --driver choose runs of --gates")
		}
		if err := (selftest.Env{Loads: o.loads, Busy: o.busy, Driver: o.driver}).CheckGates(); err != nil {
			return err
		}
		if o.gates {
			o.only = append(o.only, selftest.Gates().Name)
		}
		tests, err := chooseTests(o.only)
		if err != nil {
			return err
		}
		if o.list {
			if len(o.only) == 0 {
				tests = append(tests, selftest.Gates())
			}
			return a.listTests(tests, o.json)
		}
		return a.selfTest(c.Context(), tests, o)
	}
	return c
}

// chooseTests returns the tests with these names, all if there are none.
func chooseTests(only []string) ([]selftest.Test, error) {
	all := selftest.Tests()
	if len(only) == 0 {
		return all, nil
	}
	all = append(all, selftest.Gates()) // it takes long: only where it is asked for
	known := make([]string, len(all))
	for i, t := range all {
		known[i] = t.Name
	}
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, wirelab.UnknownName("test", name, known, "wirelab selftest --list")
		}
	}
	return slices.DeleteFunc(all, func(t selftest.Test) bool { return !slices.Contains(only, t.Name) }), nil
}

// listTests prints what tests there are.
func (a *app) listTests(tests []selftest.Test, asJSON bool) error {
	if asJSON {
		type listed struct{ Name, Shows, Required string }
		all := make([]listed, len(tests))
		for i, t := range tests {
			all[i] = listed{t.Name, t.Shows, t.Required}
		}
		return a.PrintJSON(all)
	}
	rows := [][]string{{"NAME", "SHORT", "LONG", "SHOWS THAT"}}
	for _, t := range tests {
		rows = append(rows, []string{t.Name, t.Short.String(), t.Long.String(), t.Shows})
	}
	return a.PrintTable(rows)
}

// selfTest runs tests one after the other, stores the report and prints it.
func (a *app) selfTest(ctx context.Context, tests []selftest.Test, o selfTestOptions) (err error) {
	// The store is opened first: better no test than one with nowhere to go.
	results, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = cli.Both(err, results.Close()) }()
	e, err := a.selfTestEnv(ctx, results, o)
	if err != nil {
		return err
	}
	report, err := a.blankReport(ctx, e, o)
	if err != nil {
		return err
	}
	news := measure.TellOf(results, store.StartRunning(report.ID, report.Began, report.Plan, report.Environment.Host))
	defer news.Close()
	for i, t := range tests {
		news.Test(t.Name, i, len(tests))
		e.Say(fmt.Sprintf("test %d of %d, %s: about %v", i+1, len(tests), t.Name, takes(t, o.long)))
		testing := a.Doing(fmt.Sprintf("test %d of %d, %s", i+1, len(tests), t.Name))
		done, err := t.Run(ctx, e)
		testing.Done()
		if err != nil {
			report.Ending = result.Interrupted
			if done.Found != "" {
				report.SelfTest.Tests = append(report.SelfTest.Tests, done)
			}
			break
		}
		report.SelfTest.Tests = append(report.SelfTest.Tests, done)
		e.Say(t.Name + ": " + terminal.Tested(done) + ", " + done.Found)
	}
	news.Stop()
	report.Ended = time.Now()
	// After Ctrl-C ctx is over, and storing what was found must not be.
	a.Unkept = a.Keep(context.WithoutCancel(ctx), results, report)
	if o.json {
		err = json.Write(a.Stdout, report)
	} else {
		err = terminal.Write(a.Stdout, report, a.style())
	}
	switch {
	case err != nil:
		return err
	case report.Ending == result.Interrupted:
		return a.interrupted(fmt.Sprintf("%d of %d tests", len(report.SelfTest.Tests), len(tests)), report.ID)
	case len(report.SelfTest.Failed()) > 0:
		return cli.With(exitFailed, errors.New("the self-test failed: "+strings.Join(report.SelfTest.Failed(), ", ")))
	case len(report.SelfTest.Refused()) > 0:
		return cli.With(exitNoWord, fmt.Errorf("nothing was found wrong, but %s could show nothing on a machine so busy: run them again when it is quiet",
			strings.Join(report.SelfTest.Refused(), ", ")))
	}
	return nil
}

func takes(t selftest.Test, long bool) time.Duration {
	if long {
		return t.Long
	}
	return t.Short
}

// selfTestEnv is what tests need.
func (a *app) selfTestEnv(ctx context.Context, results store.Store, o selfTestOptions) (selftest.Env, error) {
	program, err := experiment.Program()
	if err != nil {
		return selftest.Env{}, err
	}
	work, err := a.Work("routeguide")
	if err != nil {
		return selftest.Env{}, err
	}
	var saying sync.Mutex // tests say what they do from several goroutines
	e := selftest.Env{
		Program: program, Arms: func(p plan.Plan) ([]result.Arm, error) { return a.Arms(ctx, p) },
		External: a.describedGuide, Broker: prepare.NullBrokers(program), Environment: probe.Environment(), Long: o.long, Seed: o.seed,
		Loads: o.loads, Busy: o.busy, Driver: o.driver,
		Keep: func(ctx context.Context, r *result.Result) (string, error) { return r.ID, results.Put(ctx, r) },
		Say: func(line string) {
			saying.Lock()
			defer saying.Unlock()
			if !o.quiet {
				a.Note("%s", line)
			}
		},
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

// blankReport is the report before any test has run. Its plan names what the
// tests are tried on, so that it is found among the results.
func (a *app) blankReport(ctx context.Context, e selftest.Env, o selfTestOptions) (*result.Result, error) {
	p := plan.Plan{
		Name: "selftest", About: "Is what wirelab tells of things that are known true?",
		Workload: "routeguide", Operation: "GetFeature", Seed: max(o.seed, 1), Floor: plan.FloorNone,
	}
	for _, cell := range e.Wires {
		p.Arms = append(p.Arms, plan.Arm{Protocol: cell.Protocol.Name})
	}
	p, err := p.Complete()
	if err != nil {
		return nil, err
	}
	arms, err := a.Arms(ctx, p)
	began := time.Now()
	return &result.Result{
		Schema: result.Schema, Minor: result.Minor, ID: store.NewID(began, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))), Command: a.commandLine(),
		Began: began, Plan: p, Arms: arms, Environment: e.Environment, Rounds: []result.Round{}, Ending: result.RoundsDone,
		SelfTest: &result.SelfTest{Long: o.long, Tests: []result.Tested{}},
	}, err
}
