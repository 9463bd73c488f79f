// Package prepare makes a plan ready to be measured. It finds the plan's arms, makes sure that their brokers,
// databases and tools are available, and connects all of it to a runner. It knows which package can do what, and must
// not know what the user typed, or how anything is shown.
package prepare

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"wirelab/lab/databases"
	"wirelab/lab/experiment"
	"wirelab/lab/hosts"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/progress"
	"wirelab/lab/result"
	"wirelab/lab/services"
	"wirelab/lab/trust"
	"wirelab/workload/catalog"
)

// Runner returns a runner for a plan. Its child processes run this program.
func (l *Lab) Runner(ctx context.Context, p plan.Plan, arms []result.Arm) (*experiment.Runner, error) {
	if p.Hosts.Used() {
		return l.overHosts(ctx, p, arms)
	}
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
	if l.Services.Made != nil && len(p.External) > 0 { // a calibration uses a workload of our own
		service = l.Services.Made.Prepared
	}
	return &experiment.Runner{
		External: service,
		Plan:     p, Arms: arms, Bench: over, Databases: accounts, Environment: probe.Environment(),
		Trusted: secure.Authority, TLS: secure.TLS,
	}, nil
}

// Checked completes a plan and checks its arms.
func (l *Lab) Checked(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	done, err := p.Complete()
	if err != nil {
		return p, err
	}
	_, err = l.Arms(ctx, done)
	return done, err
}

// Whole completes a plan that names the databases it needs.
func (l *Lab) Whole(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	var none databases.Choice
	p, err := none.Apply(ctx, &l.Databases, l.Catalog, p)
	if err != nil {
		return p, err
	}
	return p.Complete()
}

// Lab has the inputs for preparing experiments: the workloads, and where brokers, databases and tools are found.
type Lab struct {
	catalog.Catalog
	Getenv    func(string) string
	Tell      progress.Teller
	Now       func() time.Time
	Services  services.Services // services that are not part of wirelab
	Databases databases.Databases
	Fleet     *hosts.Fleet        // what the plan's hosts are found in; nil: there are none
	Limits    func() probe.Limits // nil: those of this machine
	// Absences describes absent arms, with the reasons.
	Absences func([]result.Absent) []string
	// Watching shows the progress before an experiment.
	Watching func(what string) Watch
	// The TLS settings and the contents of their files, once they were read. So the files that were checked are also
	// the ones that are used.
	secure  plan.TLS
	secured trust.Secured
}

// Watch shows the steps of a runner.
type Watch interface {
	Observe(e experiment.Event)
	ObserveAs(what string) func(e experiment.Event)
	Step(what string)
	Done()
}

// ErrInterrupted is the error of a look that was interrupted.
var ErrInterrupted = errors.New("interrupted before anything was measured")

// RoomFor checks the limits of the system before anything runs. It refuses a plan that cannot be measured, and warns
// of limits that may distort it.
func (l *Lab) RoomFor(p plan.Plan, arms []result.Arm) error {
	limits, need := l.systemLimits(), experiment.Needs(p, arms)
	if err := need.Refused(limits); err != nil {
		return err
	}
	for _, text := range need.Warnings(limits) {
		l.Tell.Note("%s", text) // shown with --quiet too, since it is not progress
	}
	return nil
}

// systemLimits returns the limits of this machine.
func (l *Lab) systemLimits() probe.Limits {
	if l.Limits != nil {
		return l.Limits()
	}
	return probe.ReadLimits(os.DirFS("/"))
}
