package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/plan"
	"wirelab/lab/services"
)

// ratedFlags are what the commands that try rates have in common.
type ratedFlags struct {
	plan             plan.Plan // the fields that flags set as they are
	workload, driver string
	inFlight         int
	external         services.Choice
}

// inFlightUsual is how many calls may be under way in an open loop: so many
// that a service which keeps up never meets the bound, and one that does not is
// not buried under what it has not answered.
const inFlightUsual = 256

func (f *ratedFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&f.workload, "workload", "w", "", "the `work`, as WORKLOAD.OPERATION")
	flags.StringVar(&f.driver, "driver", "", "which client makes the calls: `client` or raw (default: raw if the protocol has it, because it is on time at higher rates)")
	flags.IntVar(&f.inFlight, "in-flight", inFlightUsual, "most calls in flight; further calls wait, and this time counts")
	flags.StringVar(&f.plan.Requests, "requests", "", "how requests are chosen; see wirelab matrix (default: the operation's first way)")
	flags.StringVar(&f.plan.Data, "data", "", "data `set` of the arms without data=; see wirelab matrix (default: the first of the workload)")
	addDeadlineFlag(flags, &f.plan.Deadline, "5s; with capacity 10 times the objective, at least 1s")
	flags.Uint64Var(&f.plan.Seed, "seed", 0, "seed of the random order and requests (default: random, and printed)")
	flags.StringVar(&f.plan.Pin, "pin", "", "auto: server and driver on different cores; none (default auto)")
	registerExternal(&f.external, flags)
}

// parse returns the plan that the flags and the arms ask for, without loads.
// Arms that name no driver get the one asked for, else raw where there is one;
// said tells which, where that was chosen.
func (f *ratedFlags) parse(ctx context.Context, a *app, name string, arms []string) (p plan.Plan, said string, err error) {
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
	var raw, client []string
	for _, text := range arms {
		arm, err := plan.ParseArm(text)
		if err != nil {
			return p, "", err
		}
		if arm.Tool() != "" {
			return p, "", cli.Usage("arm %s: another load generator makes calls in a closed loop only: see wirelab compare", text)
		}
		if arm.Driver == "" {
			if arm.Name == "" && f.driver == "" {
				arm.Name = text // as it was typed: the choice is told once for all
			}
			switch {
			case f.driver != "":
				arm.Driver = f.driver
			case a.RawFor(p, arm):
				arm.Driver = plan.DriverRaw
				raw = append(raw, text)
			default:
				client = append(client, text)
			}
		}
		if len(p.External) > 0 {
			arm = a.Services.Reached(arm)
		}
		p.Arms = append(p.Arms, arm)
	}
	if len(raw) > 0 {
		said = "raw for " + strings.Join(raw, ", ")
	}
	if len(client) > 0 {
		said = strings.TrimPrefix(said+"; the client library, which is later at high rates, for "+strings.Join(client, ", "), "; ")
	}
	return p, said, nil
}

// sayDriver tells which driver was chosen.
func (a *app) sayDriver(said string, quiet bool) {
	if said != "" && !quiet {
		a.Note("driver: %s", said)
	}
}
