package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/databases"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/results/measure"
)

// conductOptions are the flags that every experiment has.
type conductOptions struct {
	json  bool
	quiet bool
	plan  bool // print the plan and do nothing
	// certificate is what --certificate says; see [app.certificate].
	certificate string
	name        string // of the result
	network     networkFlag
	secure      secureFlags
	database    databases.Choice
	gate        gateFlags
	// place says of an error of the plan where it is in the plan's file; nil where there is none.
	place func(error) error
}

// placed is an error of the plan with its place.
func (o *conductOptions) placed(err error) error {
	if o.place == nil {
		return err
	}
	return o.place(err)
}

func (o *conductOptions) register(a *app, flags *pflag.FlagSet) {
	a.addFullFlag(flags)
	a.addRefusedFlag(flags)
	flags.BoolVar(&o.json, "json", false, "print the result and its claims as JSON")
	flags.BoolVar(&o.plan, "print-plan", false, "print the whole plan as a file for wirelab run, and run nothing")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	addCertificateFlag(flags, &o.certificate)
	addNameFlag(flags, &o.name)
	o.network.register(flags)
	o.secure.register(flags)
	registerDatabase(&o.database, flags)
	o.gate.register(flags)
}

// conduct runs an experiment, stores its result and prints the report. What
// was measured is stored before anything is printed, also after Ctrl-C.
func (a *app) conduct(ctx context.Context, p plan.Plan, o conductOptions) error {
	o.database.Dry = o.plan
	p, err := a.Services.MakePlan(ctx, p)
	if err != nil {
		return o.placed(err)
	}
	p, err = o.database.Apply(ctx, &a.Databases, a.Catalog, o.network.apply(o.secure.apply(p)))
	if err != nil {
		return o.placed(err)
	}
	p.Primary = metricID(p.Primary)
	if p, err = p.Complete(); err != nil {
		return o.placed(err)
	}
	arms, err := a.Arms(ctx, p)
	if err != nil {
		return o.placed(err)
	}
	if err := o.gate.marks(a); err != nil {
		return err
	}
	if err := o.gate.Prepare(p, o.gate.failIf, o.json); err != nil {
		return err
	}
	if err := a.Named(o.name); err != nil {
		return err
	}
	if o.plan {
		return a.PrintJSON(p)
	}
	r, err := a.Measure(ctx, p, arms, o.certificate, o.quiet)
	if err != nil {
		return o.gate.noWord(err)
	}
	return a.incomplete(r, a.conclude(r, o))
}

// conclude prints a result that is stored, and says by its error how it ended.
func (a *app) conclude(r *result.Result, o conductOptions) error {
	analysis := result.Analyse(r)
	judged := o.gate.Judge(r, &analysis)
	if err := o.gate.Write(a.Stdout, r, &analysis, judged); err != nil {
		return o.gate.noWord(err)
	}
	if !o.gate.OwnsOutput() {
		if err := a.printResult(r, &analysis, judged, o.json); err != nil {
			return o.gate.noWord(err)
		}
	}
	switch {
	case r.Ending == result.Interrupted:
		return a.interrupted(measure.SoFar(r), r.ID)
	case judged != nil:
		return outcomeError(r, judged, !o.json && !o.gate.OwnsOutput())
	case r.Ending == result.Failed:
		return cli.With(exitFailed, a.fewArms(r))
	}
	return a.unanswered(r, &analysis)
}

// interrupted is how an experiment ends that was interrupted: with what was measured, and
// where it is.
func (a *app) interrupted(measured, id string) error {
	return cli.With(exitNoWord, fmt.Errorf("interrupted%s: %s", a.Stored("", id), measured))
}

// unanswered is the error of a result that does not answer for some arm; nil if it answers for all.
func (a *app) unanswered(r *result.Result, found *result.Analysis) error {
	switch refused, lacking := measure.Unanswered(r, found); {
	case refused != "":
		return cli.With(exitNoWord, fmt.Errorf("checks failed, so that there is no valid answer: %v%s", refused, a.Stored("the result is ", r.ID)))
	case lacking != "":
		return cli.With(exitUndecided, fmt.Errorf("too little was measured for an answer: %v%s", lacking, a.Stored("the result is ", r.ID)))
	}
	return nil
}

// fewArms is the error of an experiment that has too few arms left.
func (a *app) fewArms(r *result.Result) error {
	return fmt.Errorf("%s%s", measure.FewArms(r), a.Stored("what was measured is ", r.ID))
}
