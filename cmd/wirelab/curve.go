package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/result"
	"wirelab/results/report"
)

// curveFlags are what is typed after "wirelab curve".
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
		Long:    helpText("curve"),
		Example: helpText("curve.examples"),
		Args:    a.armArguments("an ARM, such as grpc"),
		RunE:    func(command *cobra.Command, args []string) error { return f.run(command.Context(), a, args) },
	}
	f.register(command)
	flags := command.Flags()
	flags.StringVar(&f.rates, "rates", "", "the `rates` to measure, in calls per second, such as 500,1k,2k")
	flags.StringVar(&f.to, "to", "", "measure rates up to this `rate`, at equal distances; see --steps")
	flags.IntVar(&f.steps, "steps", curveSteps, fmt.Sprintf("how many rates, 3 to %d; fewer if they would be too close together", plan.LevelsMax))
	flags.StringVar(&f.arrivals, "arrivals", "", "how calls arrive: poisson or constant (default poisson)")
	flags.DurationVar((*time.Duration)(&f.plan.For), "for", 0, "start no more rounds after this time, once the fewest rounds are done")
	flags.IntVar(&f.plan.Rounds.Min, "rounds", 0, "fewest rounds (default 10; with fewer than 10 nothing is claimed)")
	flags.IntVar(&f.plan.Rounds.Max, "max-rounds", 0, "most rounds (default 100)")
	flags.IntVar(&f.plan.Slices, "slices", curveSlices, "slices of each arm and rate in a round")
	flags.DurationVar((*time.Duration)(&f.plan.Slice), "slice", 0, "length of a slice (default 1s; more at rates below 3)")
	f.conduct.register(a, flags)
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

// measure measures the curve of a plan without loads. said is which driver was chosen.
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
	p, err := f.conduct.database.Apply(ctx, &a.Databases, a.Catalog, f.conduct.network.apply(f.conduct.secure.apply(p)))
	if err != nil {
		return err
	}
	rates, err := f.given()
	if err != nil {
		return err
	}
	if err := f.conduct.gate.marks(a); err != nil {
		return err
	}
	if _, _, err := a.Present(ctx, p); err != nil && !f.conduct.plan {
		return err
	}
	if rates != nil {
		return f.conducted(ctx, a, f.at(p, rates), nil, said)
	}
	if f.conduct.plan {
		return cli.Usage("--print-plan runs nothing, and without --rates or --to the rates are found by running: give them")
	}
	// What cannot be is said before anything is run, on a rate that stands for those to come.
	if _, err := a.Checked(ctx, f.at(p, []float64{1})); err != nil {
		return err
	}
	if err := f.conduct.gate.prepare(f.at(p, []float64{1}), f.conduct.json); err != nil {
		return err
	}
	a.sayDriver(said, f.conduct.quiet)
	calibrated, err := f.calibrate(ctx, a, p)
	if err != nil {
		return f.conduct.gate.noWord(err)
	}
	most := make([]float64, 0, len(p.Arms))
	for arm := range p.Arms {
		best := 0.0
		for _, c := range calibrated {
			if c.Arm == arm {
				best = max(best, c.Rate)
			}
		}
		if best > 0 {
			most = append(most, best)
		}
	}
	return f.conducted(ctx, a, f.at(p, plan.Levels(most, f.steps)), calibrated, "")
}

// given are the rates that flags tell; nil where they are to be found.
func (f *curveFlags) given() ([]float64, error) {
	if f.to != "" {
		to, err := plan.ParseRate(f.to)
		if err != nil {
			return nil, err
		}
		return plan.EvenLevels(to, f.steps), nil
	}
	if f.rates == "" {
		return nil, nil
	}
	var rates []float64
	for text := range strings.SplitSeq(f.rates, ",") {
		rate, err := plan.ParseRate(text)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	if len(rates) < result.LeastLevels {
		return nil, cli.Usage("--rates has %d; a curve needs %d", len(rates), result.LeastLevels)
	}
	return rates, nil
}

// at is the plan with rates for loads.
func (f *curveFlags) at(p plan.Plan, rates []float64) plan.Plan {
	p.Loads = nil
	for _, rate := range rates {
		p.Loads = append(p.Loads, plan.Load{Rate: rate, Arrivals: f.arrivals, InFlight: f.inFlight})
	}
	return p
}

// calibrate looks once, shortly, at what each arm does in the closed loop with
// few and with many calls in flight.
func (f *curveFlags) calibrate(ctx context.Context, a *app, p plan.Plan) ([]result.Calibrated, error) {
	const few = 32
	p.Loads = []plan.Load{{InFlight: f.inFlight}}
	if f.inFlight > few {
		p.Loads = append(p.Loads, plan.Load{InFlight: few})
	}
	p.Slices, p.Slice, p.Primary = 5, plan.Duration(100*time.Millisecond), ""
	r, err := a.Look(ctx, p, "looking for the rates")
	if err != nil {
		return nil, err
	}
	found := prepare.Calibrations(r)
	if len(found) == 0 {
		return nil, errors.New("no arm answered a call in the closed loop, so there are no rates to choose")
	}
	return found, nil
}

// conducted runs the curve's plan and prints what came of it.
func (f *curveFlags) conducted(ctx context.Context, a *app, p plan.Plan, calibrated []result.Calibrated, said string) error {
	o := f.conduct
	p, err := p.Complete()
	if err != nil {
		return err
	}
	arms, err := a.Arms(ctx, p)
	if err != nil {
		return err
	}
	if err := o.gate.prepare(p, o.json); err != nil {
		return err
	}
	if o.plan {
		return a.PrintJSON(p)
	}
	a.sayDriver(said, o.quiet)
	if err := a.Named(o.name); err != nil {
		return err
	}
	r, err := a.MeasureBy(ctx, p, arms, o.certificate, o.quiet, func(c *experiment.Conductor, ctx context.Context) (*result.Result, error) {
		r, err := c.Run(ctx)
		if err == nil {
			r.Calibration = calibrated
		}
		return r, err
	})
	if err != nil {
		return o.gate.noWord(err)
	}
	return a.incomplete(r, a.concludeCurve(r, o))
}

// concludeCurve prints a curve that is stored, and says by its error how it
// ended. Overload is no failure: only where an arm has no figure at all, since
// the generator or the machine spoiled each, there is no answer.
func (a *app) concludeCurve(r *result.Result, o conductOptions) error {
	analysis := result.Analyse(r)
	judged := o.gate.judge(r, &analysis)
	if err := o.gate.write(a, r, &analysis, judged); err != nil {
		return o.gate.noWord(err)
	}
	if !o.gate.ownsOutput() {
		if err := a.printResult(r, &analysis, judged, o.json); err != nil {
			return o.gate.noWord(err)
		}
	}
	switch {
	case r.Ending == result.Interrupted:
		return a.interrupted(completeRounds(len(r.Rounds)), r.ID)
	case judged != nil:
		return outcomeError(r, judged, !o.json && !o.gate.ownsOutput())
	}
	if spoiled := report.CurveSpoiled(&analysis); spoiled != "" {
		return cli.With(exitNoWord, fmt.Errorf("checks failed, so that there is no valid answer: %s%s", spoiled, a.Stored("the result is ", r.ID)))
	}
	return nil
}
