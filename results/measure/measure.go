// Package measure runs experiments and stores what they measured. It opens the store, reports progress, adds a
// calibration of the machine to the result, and keeps the result if the store cannot take it. It knows stores and
// runners. It must not know what the user typed, or how a result is shown.
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

// Measure runs an experiment and stores its result, with the calibration that is wanted: see [Measurer.Certificate].
func (m *Measurer) Measure(ctx context.Context, p plan.Plan, arms []result.Arm, wanted string,
	quiet bool,
) (*result.Result, error) {
	return m.MeasureBy(ctx, p, arms, wanted, quiet, (*experiment.Runner).Run)
}

// MeasureBy is [Measurer.Measure] for anything that a runner can measure, not only a plan.
func (m *Measurer) MeasureBy(
	ctx context.Context, p plan.Plan, arms []result.Arm, wanted string, quiet bool,
	run func(*experiment.Runner, context.Context) (*result.Result, error),
) (r *result.Result, err error) {
	// Open the store first: without it the result would be lost.
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
		m.Tell.Note("%s; continuing with the others", // also with --quiet, since this is not progress
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
	news.Stop() // from here on only the result uses the store
	if err != nil {
		return nil, trust.Untrusted(p, err)
	}
	r.Certificate = certificate
	// After Ctrl-C ctx is done, but what was measured must still be stored.
	ctx = context.WithoutCancel(ctx)
	if m.Services.Made != nil {
		r.Hide(m.Services.Made.Secrets) // first, while the secrets are still spelled as they were given
	}
	r.Harmless() // the reasons of failures may quote a server
	if m.Unkept = m.Keep(ctx, results, r); m.Unkept != nil {
		return r, nil // the result is printed first; see [Measurer.Unkept]
	}
	return r, m.annotate(ctx, results, r)
}

// identify gives a runner the id of its result, and the command line for it.
func (m *Measurer) identify(c *experiment.Runner) {
	c.ID = store.NewID(time.Now(), rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	c.Command = m.CommandLine()
}

// Keep stores a result. If the store cannot take it, Keep writes it to a file.
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

// inMemory is a directory in memory on Linux: the last place for a result if all disks are full.
const inMemory = "/dev/shm"

// Named sets the name of the next result, before it is measured.
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

// annotate stores the origin of a result, its name, and its gist for lists, with the result.
func (m *Measurer) annotate(ctx context.Context, s store.Store, r *result.Result) error {
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

// Measurer runs experiments, and stores what they measured.
type Measurer struct {
	prepare.Lab
	// Results is where results are stored; "" is the default place.
	Results string
	// Unkept is why the result that was measured is not in the store, and where it is instead.
	Unkept      error
	label       string        // the name of the result that is being measured; see [Measurer.Named]
	CommandLine func() string // returns what the user typed
	// Fail marks an error as a failure, whatever its code is.
	Fail func(error) error
	// ReadFile reads a file that a flag names; flag is "" for an argument.
	ReadFile func(ctx context.Context, flag, name string, most int64) ([]byte, error)
}

// Stored says where a result is, for the end of an answer: what, such as "the result is ", is stored as id. It
// returns "" if the result could not be stored: the program then says where it is instead.
func (m *Measurer) Stored(what, id string) string {
	if m.Unkept != nil {
		return ""
	}
	return "; " + what + "stored as " + id
}
