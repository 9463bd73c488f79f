package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/loads"
	"wirelab/lab/plan"
	"wirelab/lab/services"
)

// compareFlags are the flags of "compare". parse makes a plan from them.
type compareFlags struct {
	plan                  plan.Plan // the fields that flags set directly
	drivers               []string
	workload, until, rate string
	arrivals              loads.Arrivals
	streams               loads.Streams
	messages              loads.Messages
	external              services.Choice
	inFlight              []int
	conduct               conductOptions
}

func newCompareCommand(a *app) *cobra.Command {
	var f compareFlags
	command := &cobra.Command{
		Use:     "compare ARM ARM…",
		Short:   "Compare protocols: what differs, and is it real?",
		Long:    desk.HelpText("compare"),
		Example: desk.HelpText("compare.examples"),
		Args:    a.ArmArguments("arms to compare, such as grpc http1-json"),
		RunE: func(command *cobra.Command, args []string) error {
			p, said, err := f.parse(command.Context(), a, args)
			if err != nil {
				return err
			}
			a.sayDriver(said, f.conduct.quiet)
			return a.conduct(command.Context(), p, f.conduct)
		},
	}
	f.register(a, command)
	cli.Explain(command, desk.HelpText("compare.details")+desk.HelpText("fail-if"))
	return command
}

func (f *compareFlags) register(a *app, command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&f.workload, "workload", "w", "", "the `work`, as WORKLOAD.OPERATION")
	flags.IntSliceVar(&f.inFlight, "in-flight", nil,
		"closed loop: calls in flight; several `numbers`, separated by commas, are several loads (default 1)")
	flags.StringVar(&f.rate, "rate", "",
		"open loop: arrivals per second in all, such as 500 or 2k; several `rates`, separated by commas, are "+
			"several loads")
	registerArrivals(&f.arrivals, command)
	registerExternal(&f.external, flags)
	registerVersions(&f.external, flags)
	registerStreams(&f.streams, flags)
	registerMessages(&f.messages, flags, &f.plan)
	flags.StringSliceVar(&f.drivers, "driver", nil,
		"which client makes the calls: client, raw, or both as `client,raw` (default client)")
	flags.StringVar(&f.until, "until", "", "stop when the primary metric's interval is as narrow as `±2%`")
	flags.DurationVar((*time.Duration)(&f.plan.For), "for", 0,
		"start no more rounds after this time, once the fewest rounds are done")
	flags.IntVar(&f.plan.Rounds.Min, "rounds", 0, "fewest rounds (default 10; with fewer than 10 nothing is claimed)")
	flags.IntVar(&f.plan.Rounds.Max, "max-rounds", 0, "most rounds (default 100)")
	flags.IntVar(&f.plan.Slices, "slices", 0, "slices of each arm and load in a round (default 10; 3 in the open loop)")
	flags.DurationVar((*time.Duration)(&f.plan.Slice), "slice", 0,
		"length of a slice (default 30ms; 1s in the open loop, more at rates below 3; 2s with streams)")
	desk.AddDeadlineFlag(flags, &f.plan.Deadline, "10s")
	flags.StringVar(&f.plan.Requests, "requests", "",
		"how requests are chosen; see wirelab matrix (default: the operation's first way)")
	flags.StringVar(&f.plan.Data, "data", "",
		"data `set` of the arms without data=; see wirelab matrix (default: the first of the workload)")
	flags.StringVar(&f.plan.Primary, "primary", "",
		"metric that decides, for --until and the ranking (default server-cpu; response-p99 in the open loop, "+
			"event-server-cpu with streams)")
	flags.Uint64Var(&f.plan.Seed, "seed", 0, "seed of the random order and requests (default: random, and printed)")
	flags.StringVar(&f.plan.Pin, "pin", "", "auto: server and driver on different cores; none (default auto)")
	f.conduct.register(a, flags)
	f.conduct.hosts.Register(flags)
	command.MarkFlagsMutuallyExclusive("in-flight", "rate")
	command.MarkFlagsMutuallyExclusive("in-flight", "streams")
}

// parse returns the plan that the flags and the arms ask for.
func (f *compareFlags) parse(ctx context.Context, a *app, arms []string) (p plan.Plan, said string, err error) {
	p = f.plan
	p.Name = "compare"
	if arms, err = f.external.Work(ctx, &a.Services, &p, f.workload, arms); err != nil {
		return p, "", err
	}
	for _, text := range arms {
		arm, err := plan.ParseArm(text)
		if err != nil {
			return p, "", err
		}
		p.Arms = append(p.Arms, arm)
	}
	p.Arms = loads.DrivenBy(p.Arms, f.drivers)
	p.Arms, said = a.Services.Arms(p)
	if f.until != "" {
		var err error
		if p.Until, err = plan.ParseUntil(f.until); err != nil {
			return p, "", err
		}
	}
	return p, said, f.parseLoads(&p)
}

// parseLoads sets a plan's loads.
func (f *compareFlags) parseLoads(p *plan.Plan) error {
	for _, n := range f.inFlight {
		if n < 1 {
			return cli.Usage("--in-flight %d: want 1 or more", n)
		}
		p.Loads = append(p.Loads, plan.Load{InFlight: n})
	}
	loads, err := f.arrivals.Loads(f.rate)
	if err != nil {
		return err
	}
	if loads, err = f.streams.Loads(loads); err != nil {
		return err
	}
	p.Loads = append(p.Loads, loads...)
	return f.messages.Loads(p)
}
