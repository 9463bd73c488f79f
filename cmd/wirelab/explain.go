package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
	"wirelab/lab/factorial"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/explain"
	"wirelab/results/measure"
	"wirelab/results/report"
	"wirelab/results/report/forms"
	"wirelab/workload/catalog"
)

// explainFlags are the flags of "explain".
type explainFlags struct {
	compareFlags
	factors factorial.Factors
	corners plan.Corners
	format  string
}

func newExplainCommand(a *app) *cobra.Command {
	var f explainFlags
	command := &cobra.Command{
		Use:     "explain WORKLOAD.OPERATION | RESULT",
		Short:   "Split a difference into the shares of framing, encoding and TLS",
		Long:    desk.HelpText("explain"),
		Example: desk.HelpText("explain.examples"),
		Args: a.OperationArgument("an operation such as directory.GetPerson, or a result",
			func(protocol string) string {
				return "explain takes an operation, such as directory.GetPerson, and chooses the protocols; to " +
					"start from " +
					"this one, write --from " + protocol
			}),
		ValidArgsFunction: a.CompleteIDs,
	}
	flags := command.Flags()
	f.register(a, command)
	a.AddRefusedFlag(flags)
	command.MarkFlagsMutuallyExclusive("in-flight", "rate")
	command.MarkFlagsMutuallyExclusive("json", "format")
	command.RunE = func(c *cobra.Command, args []string) error {
		if f.conduct.json {
			f.format = forms.JSON
		}
		if !slices.Contains(forms.ExplainFormats(), f.format) {
			return wirelab.UnknownName("format", f.format, forms.ExplainFormats())
		}
		if f.format == forms.CSV { // its rows are effects, which have no refused values
			if err := a.CannotMark("the csv of explain",
				"text, markdown and json have one, and wirelab report --format csv"); err != nil {
				return err
			}
		}
		workload, operation, dotted := strings.Cut(args[0], ".")
		if known := slices.Contains(a.WorkloadNames(), workload); known && (dotted || !measure.IsFile(args[0])) {
			if !dotted {
				return cli.Usage("%s is a workload: name an operation of it, such as %s", workload,
					a.AnOperation(workload))
			}
			return a.runExplain(c.Context(), workload, operation, &f)
		}
		r, err := a.Find(c.Context(), args[0])
		if err != nil {
			return err
		}
		if set := changed(flags, "from", "to", "json", "format", "quiet", "full", "show-refused"); set != "" {
			return cli.Usage("--%s is for an experiment to run; %s is a result that was measured", set, args[0])
		}
		return a.printExplanation(r, f.corners, f.format)
	}
	return command
}

// changed returns the first flag that was given and is not allowed.
func changed(flags *pflag.FlagSet, allowed ...string) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if name == "" && !slices.Contains(allowed, f.Name) {
			name = f.Name
		}
	})
	return name
}

func (f *explainFlags) register(a *app, command *cobra.Command) {
	flags := command.Flags()
	flags.StringSliceVar(&f.factors.Transports, "transport", nil,
		"levels of transport and framing, such as http1,http2,grpc,connect (default http1,http2,grpc)")
	flags.StringSliceVar(&f.factors.Encodings, "encoding", nil,
		"levels of encoding: "+strings.Join(factorial.Encodings(a.Catalog),
			",")+" (default: those of json,proto,avro that the workload has)")
	flags.StringSliceVar(&f.factors.TLS, "tls", nil, "levels of TLS: off,on (default both)")
	flags.IntSliceVar(&f.factors.Connections, "connections", nil,
		"levels of connections, such as 1,4 (default: as many as each transport needs)")
	flags.StringSliceVar(&f.factors.Data, "data", nil,
		"levels of data set, such as 4,100,10000 (default: the workload's first)")
	flags.StringSliceVar(&f.factors.Drivers, "driver", nil, "levels of the driver: client,raw (default client)")
	flags.StringVar(&f.corners.From, "from", "",
		"the arm, or protocol, where the difference starts (default: plain HTTP/1.1 with JSON)")
	flags.StringVar(&f.corners.To, "to", "",
		"the arm, or protocol, where it ends (default: plain gRPC with Protocol Buffers)")
	flags.StringVar(&f.format, "format", forms.Text, "what to print: "+strings.Join(forms.ExplainFormats(), ", "))
	flags.IntSliceVar(&f.inFlight, "in-flight", nil,
		"closed loop: calls in flight; several `numbers` are several loads (default 1, or the most connections)")
	flags.StringVar(&f.rate, "rate", "",
		"open loop: arrivals per second in all; several `rates`, separated by commas, are several loads")
	registerArrivals(&f.arrivals, command)
	flags.StringVar(&f.until, "until", "", "stop when the primary metric's widest interval is as narrow as `±2%`")
	flags.DurationVar((*time.Duration)(&f.plan.For), "for", 0,
		"start no more rounds after this time, once the fewest rounds are done")
	flags.IntVar(&f.plan.Rounds.Min, "rounds", 0,
		"fewest rounds (default: as many as are needed to prove an effect; with fewer than 10 nothing is claimed)")
	flags.IntVar(&f.plan.Rounds.Max, "max-rounds", 0, "most rounds (default 100)")
	flags.IntVar(&f.plan.Slices, "slices", 0, "slices of each arm and load in a round (default 5; 3 in the open loop)")
	flags.DurationVar((*time.Duration)(&f.plan.Slice), "slice", 0,
		"length of a slice (default 30ms, or as long as ten calls take; 1s in the open loop)")
	desk.AddDeadlineFlag(flags, &f.plan.Deadline, "10s")
	flags.StringVar(&f.plan.Requests, "requests", "",
		"how requests are chosen; see wirelab matrix (default: the operation's first way)")
	flags.StringVar(&f.plan.Primary, "primary", "",
		"metric that sentences are about (default server-cpu; response-p99 in the open loop)")
	flags.Uint64Var(&f.plan.Seed, "seed", 0, "seed of the random order and requests (default: random, and printed)")
	flags.StringVar(&f.plan.Pin, "pin", "", "auto: server and driver on different cores; none (default auto)")
	desk.AddNameFlag(flags, &f.conduct.name)
	flags.BoolVar(&f.conduct.json, "json", false, "print the result and the explanation as JSON")
	flags.BoolVar(&f.conduct.plan, "print-plan", false,
		"print the whole plan as a file for wirelab run, and run nothing")
	flags.BoolVarP(&f.conduct.quiet, "quiet", "q", false, "no progress on standard error")
	desk.AddCertificateFlag(flags, &f.conduct.certificate)
	a.AddFullFlag(flags)
	f.conduct.network.Register(flags)
	desk.RegisterDatabase(&f.conduct.database, flags)
}

// A round has fewer slices than a comparison's. With so many arms every effect is already a mean over arms, and
// intervals depend on the number of rounds.
const explainSlices = 5

// parse makes the plan. left names the combinations that no protocol has.
func (f *explainFlags) parse(a *app, work wirelab.Work, operation string) (p plan.Plan, left []string, err error) {
	p = f.plan
	p.Workload, p.Operation, p.Explain = work.Name, operation, f.corners
	if f.until != "" {
		if p.Until, err = plan.ParseUntil(f.until); err != nil {
			return p, nil, err
		}
	}
	if err := f.parseLoads(&p); err != nil {
		return p, nil, err
	}
	for _, set := range f.factors.Data {
		if !slices.Contains(work.Data, set) {
			return p, nil, wirelab.UnknownName("data set of "+work.Name, set, work.Data)
		}
	}
	most := 0
	for _, n := range f.factors.Connections {
		if n < 1 {
			return p, nil, cli.Usage("--connections %d: want 1 or more", n)
		}
		most = max(most, n)
	}
	if len(p.Loads) == 0 && most > 0 {
		p.Loads = []plan.Load{{InFlight: most}}
	}
	for _, l := range p.Loads {
		if !l.Open() && l.InFlight < most {
			return p, nil, cli.Usage("--connections %d is more than the %d in flight, so that some would never be used",
				most, l.InFlight)
		}
	}
	if p.Slices == 0 && (len(p.Loads) == 0 || !p.Loads[0].Open()) {
		p.Slices = explainSlices
	}
	p.Name, f.factors.Works = report.ExplainPlan, a.Catalog
	return f.factors.Plan(p, work)
}

// runExplain runs a factorial experiment and prints its explanation.
func (a *app) runExplain(ctx context.Context, workload, name string, f *explainFlags) error {
	work, err := a.Work(workload)
	if err != nil {
		return err
	}
	o, err := catalog.OperationOf(work, name)
	if err != nil {
		return err
	}
	p, left, err := f.parse(a, work, o.Name)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		a.Note("left out, since nothing carries %s over them: %s", o.Name, strings.Join(left, "; "))
	}
	f.conduct.database.Dry = f.conduct.plan
	written, err := f.conduct.database.Apply(ctx, &a.Databases, a.Catalog, f.conduct.network.Apply(p))
	if err != nil {
		return err
	}
	written.Primary = metricID(written.Primary)
	if p, err = written.Complete(); err != nil {
		return err
	}
	arms, err := a.Arms(ctx, p)
	if err != nil {
		return err
	}
	if f.conduct.plan {
		return a.PrintJSON(p)
	}
	if err := a.Wholly(ctx, p); err != nil {
		return err
	}
	if written.Slice == 0 && !p.Loads[0].Open() {
		slice, err := a.SliceFor(ctx, written)
		if err != nil {
			return err
		}
		if slice > p.Slice {
			a.Note("slices of %s, so that each holds calls enough; --slice sets another length", slice)
			p.Slice = slice
		}
	}
	if err := a.Named(f.conduct.name); err != nil {
		return err
	}
	r, err := a.Measure(ctx, p, arms, f.conduct.certificate, f.conduct.quiet)
	if err != nil {
		return err
	}
	return a.concludeExplained(r, f.format)
}

// concludeExplained prints the explanation of a stored result, and returns an error that says how it ended.
func (a *app) concludeExplained(r *result.Result, format string) error {
	analysis := analyse.Result(r)
	e, err := explain.Between(r, &analysis, "", "")
	if err != nil {
		return fault.Both(err, desk.ErrPartial)
	}
	if err := forms.WriteExplanation(a.Stdout, r, &analysis, e, format, a.Full, a.Style()); err != nil {
		return err
	}
	switch r.Ending {
	case result.Interrupted:
		return a.Interrupted(measure.CompleteRounds(len(r.Rounds)), r.ID)
	case result.Failed:
		return cli.With(desk.ExitFailed, a.FewArms(r))
	}
	for _, l := range e.Loads {
		// Arms that a check refuses are left out and named. Without any arm there is no answer.
		if why := l.Metrics[0].Why; why != "" {
			return cli.With(desk.ExitNoWord,
				fmt.Errorf("there is no valid answer: %s: %s%s", l.Name, why, a.Stored("the result is ", r.ID)))
		}
	}
	return nil
}

// printExplanation prints why a result's arms differ.
func (a *app) printExplanation(r *result.Result, c plan.Corners, format string) error {
	analysis := analyse.Result(r)
	e, err := explain.Between(r, &analysis, c.From, c.To)
	if err != nil {
		return err
	}
	return forms.WriteExplanation(a.Stdout, r, &analysis, e, format, a.Full, a.Style())
}
