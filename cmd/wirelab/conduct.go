package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/databases"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/trust"
	"wirelab/results/report"
	"wirelab/results/store"
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
	if err := a.named(o.name); err != nil {
		return err
	}
	if o.plan {
		return a.PrintJSON(p)
	}
	r, err := a.measure(ctx, p, arms, o.certificate, o.quiet)
	if err != nil {
		return o.gate.noWord(err)
	}
	return a.incomplete(r, a.conclude(r, o))
}

// measure runs an experiment and stores its result, with the certificate that
// is wanted; see [app.certificate].
func (a *app) measure(ctx context.Context, p plan.Plan, arms []result.Arm, wanted string, quiet bool) (*result.Result, error) {
	return a.measureBy(ctx, p, arms, wanted, quiet, (*experiment.Conductor).Run)
}

// measureBy is [app.measure] for what a conductor can do beside running a plan.
func (a *app) measureBy(
	ctx context.Context, p plan.Plan, arms []result.Arm, wanted string, quiet bool,
	run func(*experiment.Conductor, context.Context) (*result.Result, error),
) (r *result.Result, err error) {
	// The store is opened first: better no experiment than one with nowhere to go.
	results, err := a.openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = cli.Both(err, results.Close()) }()
	defer func() { err = cli.Both(err, a.Services.Made.Release()) }()
	if p, err = a.Services.Build(ctx, p); err != nil {
		return nil, err
	}
	a.noteRoom()
	p, absent, err := a.Present(ctx, p)
	if err != nil {
		return nil, err
	}
	if len(absent) > 0 {
		if arms, err = a.Arms(ctx, p); err != nil {
			return nil, err
		}
		a.Note("%s; going on with the others", // also with --quiet: it is no progress
			strings.Join(report.Absences(absent), "; "))
	}
	if err := a.RoomFor(p, arms); err != nil {
		return nil, err
	}
	certificate, err := a.certificate(ctx, results, p, wanted, quiet)
	if err != nil {
		return nil, err
	}
	watch := a.watch("preparing the experiment")
	defer watch.Done()
	conductor, err := a.Conductor(ctx, p, arms)
	if err != nil {
		return nil, err
	}
	a.identify(conductor)
	conductor.Absent = absent
	news := a.watched(conductor, results, watch.Observe)
	defer news.close()
	r, err = run(conductor, ctx)
	watch.Step("storing what was measured")
	news.stop() // the store is for the result now
	if err != nil {
		return nil, trust.Untrusted(p, err)
	}
	r.Certificate = certificate
	// After Ctrl-C ctx is over, and storing what was measured must not be.
	ctx = context.WithoutCancel(ctx)
	if a.Services.Made != nil {
		r.Hide(a.Services.Made.Secrets) // first: then they are as they were given
	}
	r.Harmless() // the reasons of failures may be the words of a server
	if a.unkept = a.keep(ctx, results, r); a.unkept != nil {
		return r, nil // first it is printed; see [app.unkept]
	}
	return r, a.beside(ctx, results, r)
}

// identify gives what a conductor measures an id, and says what was typed for it.
func (a *app) identify(c *experiment.Conductor) {
	c.ID = store.NewID(time.Now(), rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	c.Command = a.commandLine()
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
	return fmt.Errorf("%s%s%s", what, why, a.stored("what was measured is ", r.ID))
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
	return cli.With(exitNoWord, fmt.Errorf("interrupted%s: %s", a.stored("", id), measured))
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
		return cli.With(exitNoWord, fmt.Errorf("checks failed, so that there is no valid answer: %v%s", refused, a.stored("the result is ", r.ID)))
	case lacking.n > 0:
		return cli.With(exitUndecided, fmt.Errorf("too little was measured for an answer: %v%s", lacking, a.stored("the result is ", r.ID)))
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

// keep stores a result; if the store cannot, it puts the result in a file.
func (a *app) keep(ctx context.Context, results store.Store, r *result.Result) error {
	err := results.Put(ctx, r)
	if err == nil {
		return nil
	}
	for _, dir := range []string{".", os.TempDir(), inMemory} {
		path, rescueErr := store.Rescue(dir, r)
		if rescueErr != nil {
			err = errors.Join(err, rescueErr)
			continue
		}
		said := ""
		if dir == inMemory {
			said = ", which is memory, and gone when the machine is started again"
		}
		return cli.With(exitFailed, fmt.Errorf("%w; so the result is in %s%s, and not in the store: once that is mended, run wirelab results import %s", err, path, said, path))
	}
	return cli.With(exitFailed, fmt.Errorf("%w; so it is not stored: all that is left of it is what was printed", err))
}

// inMemory is a folder in memory on Linux: the last place where a result can be put when all disks are full.
const inMemory = "/dev/shm"
