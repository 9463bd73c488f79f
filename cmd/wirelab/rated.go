package main

import (
	"context"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/services"
)

// ratedFlags are the flags that the commands which try rates share.
type ratedFlags struct {
	plan             plan.Plan // the fields that flags set directly
	workload, driver string
	inFlight         int
	external         services.Choice
}

// inFlightUsual limits the calls in flight in an open loop. A service that keeps up never reaches the limit, and one
// that does not is not buried under unanswered calls.
const inFlightUsual = 256

func (f *ratedFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&f.workload, "workload", "w", "", "the `work`, as WORKLOAD.OPERATION")
	flags.StringVar(&f.driver, "driver", "",
		"which client makes the calls: `client` or raw (default: raw if the protocol has it, because it is on time at "+
			"higher rates)")
	flags.IntVar(&f.inFlight, "in-flight", inFlightUsual,
		"most calls in flight; further calls wait, and this time counts")
	flags.StringVar(&f.plan.Requests, "requests", "",
		"how requests are chosen; see wirelab matrix (default: the operation's first way)")
	flags.StringVar(&f.plan.Data, "data", "",
		"data `set` of the arms without data=; see wirelab matrix (default: the first of the workload)")
	desk.AddDeadlineFlag(flags, &f.plan.Deadline, "5s; with capacity 10 times the objective, at least 1s")
	flags.Uint64Var(&f.plan.Seed, "seed", 0, "seed of the random order and requests (default: random, and printed)")
	flags.StringVar(&f.plan.Pin, "pin", "", "auto: server and driver on different cores; none (default auto)")
	registerExternal(&f.external, flags)
}

// parse returns the plan that the flags and the arms ask for, without loads. Arms that name no driver get the driver
// of --driver, or else the raw one if their protocol has it. said names the driver if it was chosen automatically.
func (f *ratedFlags) parse(ctx context.Context, a *app, name string,
	arms []string,
) (p plan.Plan, said string, err error) {
	p = f.plan
	p.Name = name
	if arms, err = f.external.Work(ctx, &a.Services, &p, f.workload, arms); err != nil {
		return p, "", err
	}
	if f.driver != "" && f.driver != plan.DriverClient && f.driver != plan.DriverRaw {
		return p, "", cli.Usage("--driver %q: want client or raw", f.driver)
	}
	if f.inFlight < 1 {
		return p, "", cli.Usage("--in-flight %d: want 1 or more", f.inFlight)
	}
	p, said, err = prepare.Driven(&a.Lab, p, arms, f.driver)
	return p, said, err
}

// sayDriver says which driver was chosen.
func (a *app) sayDriver(said string, quiet bool) {
	if said != "" && !quiet {
		a.Note("driver: %s", said)
	}
}
