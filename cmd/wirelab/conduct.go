package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/databases"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/results/report"
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
	gate        gate
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
	if err := o.gate.prepare(p, o.json); err != nil {
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
		return a.interrupted(soFar(r), r.ID)
	case judged != nil:
		return outcomeError(r, judged, !o.json && !o.gate.ownsOutput())
	case r.Ending == result.Failed:
		return cli.With(exitFailed, a.fewArms(r))
	}
	return a.unanswered(r, &analysis)
}

// fewArms says why an experiment ended that has too few arms left.
func (a *app) fewArms(r *result.Result) error {
	why := ""
	for i := range r.Arms {
		if out := r.Arms[i].Out; out != "" {
			why = fmt.Sprintf(": %s %s", r.ArmName(i), out)
			break
		}
	}
	what := "too few arms are left to compare"
	if len(r.Plan.Arms) == 1 {
		what = "the measurement was given up"
	}
	return fmt.Errorf("%s%s%s", what, why, a.Stored("what was measured is ", r.ID))
}

// soFar says how far an experiment got that was interrupted.
func soFar(r *result.Result) string {
	whole := len(r.Rounds)
	if whole > 0 && r.Rounds[whole-1].Cut {
		whole--
		return fmt.Sprintf("%s and %d trials of the next", completeRounds(whole), len(r.Rounds[whole].Trials))
	}
	return completeRounds(whole)
}

// completeRounds is "1 complete round", or another number of them.
func completeRounds(n int) string { return strings.Replace(report.Rounds(n), " r", " complete r", 1) }

// interrupted is how an experiment ends that was interrupted: with what was measured, and
// where it is.
func (a *app) interrupted(measured, id string) error {
	return cli.With(exitNoWord, fmt.Errorf("interrupted%s: %s", a.Stored("", id), measured))
}

// unanswered is the error of a result that does not answer for some arm: nil where the metric
// that decides has a figure everywhere. That there is none must not pass for an answer: a check
// refuses it, nothing was measured, or there were too few calls, which more rounds mend.
func (a *app) unanswered(r *result.Result, found *result.Analysis) error {
	var refused, lacking missing
	for i := range found.Loads {
		l := &found.Loads[i]
		primary := result.Primary(r.Plan, r.Plan.Loads[l.Load])
		row := l.Row(primary.ID)
		for n, arm := range l.Arms {
			switch why := arm.Why(primary); {
			case why != "":
				refused.add(arm.Name, l.Name, why)
			case row == nil:
				lacking.add(arm.Name, l.Name, primary.Title+" was not measured")
			case !row.Cells[n].Estimate.Known && arm.Rounds > 0:
				lacking.add(arm.Name, l.Name, primary.Title+": "+row.Cells[n].Estimate.Why)
			}
		}
	}
	switch {
	case refused.n > 0:
		return cli.With(exitNoWord, fmt.Errorf("checks failed, so that there is no valid answer: %v%s", refused, a.Stored("the result is ", r.ID)))
	case lacking.n > 0:
		return cli.With(exitUndecided, fmt.Errorf("too little was measured for an answer: %v%s", lacking, a.Stored("the result is ", r.ID)))
	}
	return nil
}

// missing are arms without an answer, told by the first reason: the report has them all.
type missing struct {
	first string
	n     int
}

func (m *missing) add(arm, load, why string) {
	if m.n++; m.n == 1 {
		m.first = fmt.Sprintf("%s (%s): %s", arm, load, why)
	}
}

// String implements fmt.Stringer.
func (m missing) String() string {
	if m.n > 1 {
		return fmt.Sprintf("%s (and %d more)", m.first, m.n-1)
	}
	return m.first
}
