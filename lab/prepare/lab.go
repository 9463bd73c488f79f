// Package prepare makes a plan ready to be measured: it finds its arms, sees to it that their brokers, databases and
// tools are there, and joins all of it to a conductor. It knows who can do what, and must not know what was typed, or
// how it is shown.wn.
package prepare

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"wirelab/lab/databases"
	"wirelab/lab/experiment"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/progress"
	"wirelab/lab/result"
	"wirelab/lab/services"
	"wirelab/lab/trust"
	"wirelab/workload/catalog"
)

// Runner returns one for a plan, with child processes of this program.
func (l *Lab) Runner(ctx context.Context, p plan.Plan, arms []result.Arm) (*experiment.Runner, error) {
	program, err := experiment.Program()
	if err != nil {
		return nil, err
	}
	processes, err := experiment.NewProcesses(program, p)
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	for _, kind := range p.Databases() {
		if sources[kind], err = l.Databases.Source(ctx, kind); err != nil {
			return nil, err
		}
	}
	processes.Databases(sources)
	accounts, err := l.Databases.Accounts(ctx, p, processes)
	if err != nil {
		return nil, err
	}
	secure, err := l.readSecure(ctx, p.TLS)
	if err != nil {
		return nil, err
	}
	over := l.withPipelines(processes, program, p, sources)
	if kinds.OfPlan(p).Run.Cluster {
		if over, err = l.withBrokers(ctx, processes, program, p); err != nil {
			return nil, err
		}
	}
	over = l.Services.Bench(processes, over, p)
	var service json.RawMessage
	if l.Services.Made != nil && len(p.External) > 0 { // a calibration has work of ours
		service = l.Services.Made.Prepared
	}
	return &experiment.Runner{
		External: service,
		Plan:     p, Arms: arms, Bench: over, Databases: accounts, Environment: probe.Environment(),
		Trusted: secure.Authority, TLS: secure.TLS,
	}, nil
}

// Checked completes a plan and finds its arms.
func (l *Lab) Checked(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	done, err := p.Complete()
	if err != nil {
		return p, err
	}
	_, err = l.Arms(ctx, done)
	return done, err
}

// Whole completes a plan that says itself which databases it needs.
func (l *Lab) Whole(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	var none databases.Choice
	p, err := none.Apply(ctx, &l.Databases, l.Catalog, p)
	if err != nil {
		return p, err
	}
	return p.Complete()
}

// Lab is what experiments are prepared with: what can be run, and where what it needs is found.
type Lab struct {
	catalog.Catalog
	Getenv    func(string) string
	Tell      progress.Teller
	Now       func() time.Time
	Services  services.Services // that are not ours
	Databases databases.Databases
	Limits    func() probe.Limits // nil: those of this machine
	// absences say of arms that they are absent, and why.
	Absences func([]result.Absent) []string
	// watch shows what is done before an experiment.
	Watching func(what string) Watch
	// what is said of TLS, and what the files of that say, once they were read: what was checked is what is used.
	secure  plan.TLS
	secured trust.Secured
}

// Watch shows the steps of a conductor.
type Watch interface {
	Observe(e experiment.Event)
	ObserveAs(what string) func(e experiment.Event)
	Step(what string)
	Done()
}

// ErrInterrupted is how a look ends that was interrupted.
var ErrInterrupted = errors.New("interrupted before anything was measured")

// RoomFor looks at the limits of the system before anything runs: it refuses what cannot be
// measured, and warns of what may spoil it.
func (l *Lab) RoomFor(p plan.Plan, arms []result.Arm) error {
	limits, need := l.systemLimits(), experiment.Needs(p, arms)
	if err := need.Refused(limits); err != nil {
		return err
	}
	for _, text := range need.Warnings(limits) {
		l.Tell.Note("%s", text) // also with --quiet: it is no progress
	}
	return nil
}

// systemLimits are those of this machine.
func (l *Lab) systemLimits() probe.Limits {
	if l.Limits != nil {
		return l.Limits()
	}
	return probe.ReadLimits(os.DirFS("/"))
}
