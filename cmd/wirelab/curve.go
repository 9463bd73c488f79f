package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/results/measure"
	"wirelab/results/report"
)

// curveFlags are the flags of "curve".
type curveFlags struct {
	ratedFlags
	rates, to, arrivals string
	steps               int
	conduct             conductOptions
}

// The defaults of a curve.
const (
	curveSteps    = 12
	curveSlices   = 1
	curveWarmUp   = plan.Duration(100 * time.Millisecond)
	curveDeadline = plan.Duration(10 * time.Second)
)

func newCurveCommand(a *app) *cobra.Command {
	var f curveFlags
	command := &cobra.Command{
		Use:     "curve ARM…",
		Short:   "Measure response times at rising request rates, up to overload",
		Long:    desk.HelpText("curve"),
		Example: desk.HelpText("curve.examples"),
		Args:    a.ArmArguments("an ARM, such as grpc"),
		RunE:    func(command *cobra.Command, args []string) error { return f.run(command.Context(), a, args) },
	}
	f.register(command)
	flags := command.Flags()
	flags.StringVar(&f.rates, "rates", "", "the `rates` to measure, in calls per second, such as 500,1k,2k")
	flags.StringVar(&f.to, "to", "", "measure rates up to this `rate`, at equal distances; see --steps")
	flags.IntVar(&f.steps, "steps", curveSteps,
		fmt.Sprintf("how many rates, 3 to %d; fewer if they would be too close together", plan.LevelsMax))
	flags.StringVar(&f.arrivals, "arrivals", "", "how calls arrive: poisson or constant (default poisson)")
	flags.DurationVar((*time.Duration)(&f.plan.For), "for", 0,
		"start no more rounds after this time, once the fewest rounds are done")
	flags.IntVar(&f.plan.Rounds.Min, "rounds", 0, "fewest rounds (default 10; with fewer than 10 nothing is claimed)")
	flags.IntVar(&f.plan.Rounds.Max, "max-rounds", 0, "most rounds (default 100)")
	flags.IntVar(&f.plan.Slices, "slices", curveSlices, "slices of each arm and rate in a round")
	flags.DurationVar((*time.Duration)(&f.plan.Slice), "slice", 0,
		"length of a slice (default 1s; more at rates below 3)")
	f.conduct.register(a, flags)
	f.conduct.hosts.Register(flags)
	command.MarkFlagsMutuallyExclusive("rates", "to")
	return command
}

func (f *curveFlags) run(ctx context.Context, a *app, args []string) error {
	p, said, err := f.parse(ctx, a, "curve", args)
	if err != nil {
		return err
	}
	return f.measure(ctx, a, p, said)
}

// measure measures the curve of a plan without loads. said names the driver if it was chosen automatically.
func (f *curveFlags) measure(ctx context.Context, a *app, p plan.Plan, said string) error {
	if f.steps < 3 || f.steps > plan.LevelsMax {
		return cli.Usage("--steps %d: want 3 to %d", f.steps, plan.LevelsMax)
	}
	p.Floor = plan.FloorNone
	if p.WarmUp == 0 {
		p.WarmUp = curveWarmUp
	}
	if p.Deadline == 0 {
		p.Deadline = curveDeadline
	}
	f.conduct.database.Dry = f.conduct.plan
	p, err := f.conduct.database.Apply(ctx, &a.Databases, a.Catalog, f.conduct.network.Apply(f.conduct.secure.Apply(p)))
	if err != nil {
		return err
	}
	if p, err = f.conduct.hosts.Use(ctx, a.Desk, p, f.conduct.plan); err != nil {
		return err
	}
	rates, err := prepare.Levels(f.to, f.rates, f.steps)
	if err != nil {
		return err
	}
	if err := f.conduct.gate.Marks(a.Desk); err != nil {
		return err
	}
	if _, _, err := a.Present(ctx, p); err != nil && !f.conduct.plan {
		return err
	}
	if rates != nil {
		return f.conducted(ctx, a, prepare.AtRates(p, f.arrivals, f.inFlight, rates), nil, said)
	}
	if f.conduct.plan {
		return cli.Usage("--print-plan runs nothing, and without --rates or --to the rates are found by running: " +
			"give them")
	}
	// Mistakes in the plan are reported before anything runs, with one rate in place of those to be found.
	if _, err := a.Checked(ctx, prepare.AtRates(p, f.arrivals, f.inFlight, []float64{1})); err != nil {
		return err
	}
	if err := f.conduct.gate.Prepare(prepare.AtRates(p, f.arrivals, f.inFlight, []float64{1}), f.conduct.gate.FailIf,
		f.conduct.json); err != nil {
		return err
	}
	a.sayDriver(said, f.conduct.quiet)
	calibrated, err := prepare.Calibrate(ctx, &a.Lab, p, f.inFlight)
	if err != nil {
		return f.conduct.gate.NoWord(err)
	}
	return f.conducted(ctx, a,
		prepare.AtRates(p, f.arrivals, f.inFlight, plan.Levels(prepare.MostOf(p, calibrated), f.steps)), calibrated, "")
}

// conducted runs the curve's plan and prints the outcome.
func (f *curveFlags) conducted(ctx context.Context, a *app, p plan.Plan, calibrated []result.Calibrated,
	said string,
) error {
	o := f.conduct
	p, err := p.Complete()
	if err != nil {
		return err
	}
	arms, err := a.Arms(ctx, p)
	if err != nil {
		return err
	}
	if err := o.gate.Prepare(p, o.gate.FailIf, o.json); err != nil {
		return err
	}
	if o.plan {
		return a.PrintJSON(p)
	}
	a.sayDriver(said, o.quiet)
	if err := a.Named(o.name); err != nil {
		return err
	}
	r, err := a.MeasureBy(ctx, p, arms, o.certificate, o.quiet,
		func(c *experiment.Runner, ctx context.Context) (*result.Result, error) {
			r, err := c.Run(ctx)
			if err == nil {
				r.Calibration = calibrated
			}
			return r, err
		})
	if err != nil {
		return o.gate.NoWord(err)
	}
	return a.Incomplete(r, a.concludeCurve(r, o))
}

// concludeCurve prints a stored curve, and returns an error that says how it ended. Overload is no failure. There is
// no answer only if an arm has no figure at all, because the generator or the machine spoiled every one.
func (a *app) concludeCurve(r *result.Result, o conductOptions) error {
	analysis := analyse.Result(r)
	judged := o.gate.Judge(r, &analysis)
	if err := o.gate.Write(a.Stdout, r, &analysis, judged); err != nil {
		return o.gate.NoWord(err)
	}
	if !o.gate.OwnsOutput() {
		if err := a.PrintResult(r, &analysis, judged, o.json); err != nil {
			return o.gate.NoWord(err)
		}
	}
	switch {
	case r.Ending == result.Interrupted:
		return a.Interrupted(measure.CompleteRounds(len(r.Rounds)), r.ID)
	case judged != nil:
		return desk.OutcomeError(r, judged, !o.json && !o.gate.OwnsOutput())
	}
	if spoiled := report.CurveSpoiled(&analysis); spoiled != "" {
		return cli.With(desk.ExitNoWord,
			fmt.Errorf("checks failed, so that there is no valid answer: %s%s", spoiled,
				a.Stored("the result is ", r.ID)))
	}
	return nil
}
