package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/cmd/internal/selftest"
	"wirelab/internal/fault"
	"wirelab/lab/result"
	"wirelab/results/measure"
	reportjson "wirelab/results/report/json"
	"wirelab/results/report/terminal"
	"wirelab/results/store"
)

// selfTestOptions are the flags of "selftest".
type selfTestOptions struct {
	selftest.Asked
	list, json, quiet, gates bool
	only                     []string
}

func newSelfTestCommand(a *app) *cobra.Command {
	var o selfTestOptions
	c := &cobra.Command{
		Use:     "selftest",
		Short:   "Check wirelab against servers with known behaviour",
		Long:    desk.HelpText("self-test"),
		Example: desk.HelpText("self-test.examples"),
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	c.Flags().BoolVar(&o.Long, "long", false, "run longer tests")
	c.Flags().BoolVar(&o.list, "list", false, "list the tests and run none")
	c.Flags().BoolVar(&o.gates, "gates", false,
		"count how many true numbers the checks refuse, and how many false ones they let pass")
	c.Flags().StringSliceVar(&o.only, "only", nil, "run only these tests, by `name`, separated by commas")
	c.Flags().StringSliceVar(&o.Loads, "loads", nil,
		"with --gates: only the loads with one of these `words` in their name")
	c.Flags().StringSliceVar(&o.Busy, "busy", nil,
		"with --gates: the `core` that another program uses too: none, driver or server")
	c.Flags().StringVar(&o.Driver, "driver", "", "with --gates: the `driver`, client or raw")
	c.Flags().BoolVar(&o.json, "json", false, "print the report as JSON")
	c.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the random numbers")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !o.gates && (len(o.Loads) > 0 || len(o.Busy) > 0 || o.Driver != "") {
			return wirelab.Errorf(wirelab.InvalidArgument, "--loads, --busy and --driver choose runs of --gates")
		}
		if err := (selftest.Env{Loads: o.Loads, Busy: o.Busy, Driver: o.Driver}).CheckGates(); err != nil {
			return err
		}
		if o.gates {
			o.only = append(o.only, selftest.Gates().Name)
		}
		tests, err := selftest.Choose(o.only)
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

// listTests lists the tests.
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
	// Open the store first: without it the report would be lost.
	results, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = fault.Both(err, results.Close()) }()
	e, err := selftest.NewEnv(ctx, &a.Lab, o.Asked)
	if err != nil {
		return err
	}
	var saying sync.Mutex // several goroutines report what tests do
	e.Keep = func(ctx context.Context, r *result.Result) (string, error) { return r.ID, results.Put(ctx, r) }
	e.Say = func(line string) {
		saying.Lock()
		defer saying.Unlock()
		if !o.quiet {
			a.Note("%s", line)
		}
	}
	report, err := selftest.Blank(ctx, &a.Lab, e, o.Asked)
	if err != nil {
		return err
	}
	report.Command, report.ID = a.CommandLine(),
		store.NewID(report.Began, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	news := measure.TellOf(results, store.StartRunning(report.ID, report.Began, report.Plan, report.Environment.Host))
	defer news.Close()
	for i, t := range tests {
		news.Test(t.Name, i, len(tests))
		e.Say(fmt.Sprintf("test %d of %d, %s: about %v", i+1, len(tests), t.Name, selftest.Takes(t, o.Long)))
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
	// After Ctrl-C ctx is done, but what was found must still be stored.
	a.Unkept = a.Keep(context.WithoutCancel(ctx), results, report)
	if o.json {
		err = reportjson.Write(a.Stdout, report)
	} else {
		err = terminal.Write(a.Stdout, report, a.Style())
	}
	switch {
	case err != nil:
		return err
	case report.Ending == result.Interrupted:
		return a.Interrupted(fmt.Sprintf("%d of %d tests", len(report.SelfTest.Tests), len(tests)), report.ID)
	case len(report.SelfTest.Failed()) > 0:
		return cli.With(desk.ExitFailed,
			errors.New("the self-test failed: "+strings.Join(report.SelfTest.Failed(), ", ")))
	case len(report.SelfTest.Refused()) > 0:
		return cli.With(desk.ExitNoWord,
			fmt.Errorf("no error was found, but %s could show nothing because the machine was busy: run them again "+
				"when it is quiet",
				strings.Join(report.SelfTest.Refused(), ", ")))
	}
	return nil
}
