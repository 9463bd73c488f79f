package main

import (
	"context"

	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/cmd/internal/fleet"
	"wirelab/lab/databases"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/results/measure"
)

// conductOptions are the flags that every experiment has.
type conductOptions struct {
	json  bool
	quiet bool
	plan  bool // print the plan and do nothing else
	// certificate is the value of --certificate; see [measure.Measurer.Certificate].
	certificate string
	name        string // of the result
	network     desk.NetworkFlag
	hosts       fleet.Flags
	secure      desk.SecureFlags
	database    databases.Choice
	gate        desk.Gate
	// place adds to an error of the plan its place in the plan's file; nil without a file.
	place func(error) error
}

// placed returns an error of the plan with its place.
func (o *conductOptions) placed(err error) error {
	if o.place == nil {
		return err
	}
	return o.place(err)
}

func (o *conductOptions) register(a *app, flags *pflag.FlagSet) {
	a.AddFullFlag(flags)
	a.AddRefusedFlag(flags)
	flags.BoolVar(&o.json, "json", false, "print the result and its claims as JSON")
	flags.BoolVar(&o.plan, "print-plan", false, "print the whole plan as a file for wirelab run, and run nothing")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	desk.AddCertificateFlag(flags, &o.certificate)
	desk.AddNameFlag(flags, &o.name)
	o.network.Register(flags)
	o.secure.Register(flags)
	desk.RegisterDatabase(&o.database, flags)
	o.gate.Register(flags)
}

// conduct runs an experiment, stores its result and prints the report. The result is stored before anything is
// printed, also after Ctrl-C.
func (a *app) conduct(ctx context.Context, p plan.Plan, o conductOptions) error {
	o.database.Dry = o.plan
	p, err := a.Services.MakePlan(ctx, p)
	if err != nil {
		return o.placed(err)
	}
	p, err = o.database.Apply(ctx, &a.Databases, a.Catalog, o.network.Apply(o.secure.Apply(p)))
	if err != nil {
		return o.placed(err)
	}
	if p, err = o.hosts.Use(ctx, a.Desk, p, o.plan); err != nil {
		return err
	}
	p.Primary = metricID(p.Primary)
	if p, err = p.Complete(); err != nil {
		return o.placed(err)
	}
	arms, err := a.Arms(ctx, p)
	if err != nil {
		return o.placed(err)
	}
	if err := o.gate.Marks(a.Desk); err != nil {
		return err
	}
	if err := o.gate.Prepare(p, o.gate.FailIf, o.json); err != nil {
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
		return o.gate.NoWord(err)
	}
	return a.Incomplete(r, a.conclude(r, o))
}

// conclude prints a stored result, and returns an error that says how it ended.
func (a *app) conclude(r *result.Result, o conductOptions) error {
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
		return a.Interrupted(measure.SoFar(r), r.ID)
	case judged != nil:
		return desk.OutcomeError(r, judged, !o.json && !o.gate.OwnsOutput())
	case r.Ending == result.Failed:
		return cli.With(desk.ExitFailed, a.FewArms(r))
	}
	return a.Unanswered(r, &analysis)
}
