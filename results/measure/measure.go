// Package measure runs experiments and keeps what they measured: it opens the store, tells how far an experiment is,
// puts a calibration of this machine next to its result, and loses no result when a store cannot take it. It knows
// stores and conductors, and must not know what was typed, or how a result is shown.
package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/result"
	"wirelab/lab/trust"
	"wirelab/results/report"
	"wirelab/results/store"
)

// Measure runs an experiment and stores its result, with the certificate that
// is wanted; see [Measurer.Certificate].
func (m *Measurer) Measure(ctx context.Context, p plan.Plan, arms []result.Arm, wanted string,
	quiet bool,
) (*result.Result, error) {
	return m.MeasureBy(ctx, p, arms, wanted, quiet, (*experiment.Runner).Run)
}

// MeasureBy is [Measurer.Measure] for what a conductor can do beside running a plan.
func (m *Measurer) MeasureBy(
	ctx context.Context, p plan.Plan, arms []result.Arm, wanted string, quiet bool,
	run func(*experiment.Runner, context.Context) (*result.Result, error),
) (r *result.Result, err error) {
	// The store is opened first: better no experiment than one with nowhere to go.
	results, err := m.OpenStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = fault.Both(err, results.Close()) }()
	defer func() { err = fault.Both(err, m.Services.Made.Release()) }()
	if p, err = m.Services.Build(ctx, p); err != nil {
		return nil, err
	}
	m.noteRoom()
	p, absent, err := m.Present(ctx, p)
	if err != nil {
		return nil, err
	}
	if len(absent) > 0 {
		if arms, err = m.Arms(ctx, p); err != nil {
			return nil, err
		}
		m.Tell.Note("%s; going on with the others", // also with --quiet: it is no progress
			strings.Join(report.Absences(absent), "; "))
	}
	if err := m.RoomFor(p, arms); err != nil {
		return nil, err
	}
	certificate, err := m.Certificate(ctx, results, p, wanted, quiet)
	if err != nil {
		return nil, err
	}
	watch := m.Watching("preparing the experiment")
	defer watch.Done()
	runner, err := m.Runner(ctx, p, arms)
	if err != nil {
		return nil, err
	}
	m.identify(runner)
	runner.Absent = absent
	news := m.watched(runner, results, watch.Observe)
	defer news.Close()
	r, err = run(runner, ctx)
	watch.Step("storing what was measured")
	news.Stop() // the store is for the result now
	if err != nil {
		return nil, trust.Untrusted(p, err)
	}
	r.Certificate = certificate
	// After Ctrl-C ctx is over, and storing what was measured must not be.
	ctx = context.WithoutCancel(ctx)
	if m.Services.Made != nil {
		r.Hide(m.Services.Made.Secrets) // first: then they are as they were given
	}
	r.Harmless() // the reasons of failures may be the words of a server
	if m.Unkept = m.Keep(ctx, results, r); m.Unkept != nil {
		return r, nil // first it is printed; see [Measurer.Unkept]
	}
	return r, m.beside(ctx, results, r)
}

// identify gives what a conductor measures an id, and says what was typed for it.
func (m *Measurer) identify(c *experiment.Runner) {
	c.ID = store.NewID(time.Now(), rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	c.Command = m.CommandLine()
}

// Keep stores a result; if the store cannot, it puts the result in a file.
func (m *Measurer) Keep(ctx context.Context, results store.Store, r *result.Result) error {
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
		return m.Fail(fmt.Errorf("%w; so the result is in %s%s, and not in the store: once that is mended, run "+
			"wirelab results import %s", err, path, said, path))
	}
	return m.Fail(fmt.Errorf("%w; so it is not stored: all that is left of it is what was printed", err))
}

// inMemory is a folder in memory on Linux: the last place where a result can be put when all disks are full.
const inMemory = "/dev/shm"

// Named says what the next result is to be named, before it is measured.
func (m *Measurer) Named(name string) error {
	if name == "" {
		return nil
	}
	if err := store.CheckLabel(name); err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "--name: %s", fault.Describe(err))
	}
	m.label = name
	return nil
}

// beside keeps with a result that is stored its name and what lists say of it.
func (m *Measurer) beside(ctx context.Context, s store.Store, r *result.Result) error {
	if err := s.SetOrigin(ctx, r.ID, store.Measured); err != nil {
		return err
	}
	if m.label != "" {
		if _, err := s.SetLabel(ctx, r.ID, m.label); err != nil {
			return err
		}
		r.Label = m.label
	}
	_, err := report.ListedGist("", func() (*result.Result, error) { return r, nil },
		func(text string) error { return s.SetFinding(ctx, r.ID, text) })
	return err
}

// Measurer runs experiments, and keeps what they measured.
type Measurer struct {
	prepare.Lab
	// results is where results are kept, "" for the usual place.
	Results string
	// unkept is why the result that was measured is not in the store, and where it is instead.
	Unkept      error
	label       string        // what the result that is being measured is to be named; see [Measurer.Named]
	CommandLine func() string // what was typed
	// fail makes an error one of a failure, whatever its code.
	Fail func(error) error
	// readFile reads a file that a flag names, "" for an argument.
	ReadFile func(ctx context.Context, flag, name string, most int64) ([]byte, error)
}

// Stored is where a result is, for the end of an answer: what, such as "the result is ", is stored as id. It says
// nothing where it could not be stored: the program says then where it is instead.
func (m *Measurer) Stored(what, id string) string {
	if m.Unkept != nil {
		return ""
	}
	return "; " + what + "stored as " + id
}
