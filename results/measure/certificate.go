package measure

import (
	"context"
	"fmt"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/doctor"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/calibration"
	"wirelab/results/store"
)

// The values of --certificate.
const (
	certificateAuto = "auto" // use a stored one that is valid, else make a new one
	certificateNew  = "new"
	CertificateNone = "none"
)

// CertificateWords returns the values of --certificate.
func CertificateWords() []string { return []string{certificateAuto, certificateNew, CertificateNone} }

// CertificateEnv is the variable that sets the default of --certificate, for tests and scripts that run many
// experiments on a machine they know.
const CertificateEnv = "WIRELAB_CERTIFICATE"

// burstTime is how long the calibration run before an experiment takes.
const burstTime = 5 * time.Second

// burstPatience limits a calibration run to this multiple of its planned time.
const burstPatience = 3

// Certificate returns the calibration for an experiment that begins now, as --certificate asks for it ("" without the
// flag). It returns nil if none is wanted or none could be made. It warns if the plan wants more precision than the
// machine allows. Its errors come from the flag, the store, and the end of ctx.
func (m *Measurer) Certificate(ctx context.Context, results store.Store, p plan.Plan, wanted string,
	quiet bool,
) (*result.Certificate, error) {
	if p.Hosts.Used() {
		return nil, nil // it would be of this machine, on which nothing is measured
	}
	if wanted == "" {
		if wanted = m.Getenv(CertificateEnv); wanted == "" {
			wanted = certificateAuto
		}
	}
	c, err := m.findCertificate(ctx, results, wanted, quiet)
	if c == nil || err != nil {
		return nil, err
	}
	if much := calibration.Wanting(c, p); much != "" && !quiet {
		m.Tell.Note("note: %s", much)
	}
	return c, nil
}

func (m *Measurer) findCertificate(ctx context.Context, results store.Store, wanted string,
	quiet bool,
) (*result.Certificate, error) {
	env := probe.Environment()
	switch wanted {
	case CertificateNone:
		return nil, nil
	case certificateAuto:
		if c, err := m.StoredCertificate(ctx, results, env); c != nil || err != nil {
			return c, err
		}
	case certificateNew:
	default:
		return nil, wirelab.UnknownName("certificate", wanted, CertificateWords())
	}
	r, err := m.burst(ctx, results, burstTime, quiet)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		m.Tell.Note("no certificate of this machine: %s", fault.Describe(err)) // the experiment may still succeed
		return nil, nil
	}
	return r.Certificate, nil
}

// StoredCertificate returns the latest valid calibration; nil if there is none.
func (m *Measurer) StoredCertificate(ctx context.Context, results store.Store,
	env result.Environment,
) (*result.Certificate, error) {
	now := m.Now()
	latest, err := results.List(ctx, store.Filter{Name: doctor.BurstName, Since: now.Add(-2 * time.Hour), Limit: 10})
	if err != nil {
		return nil, err
	}
	for _, summary := range latest {
		r, err := results.Get(ctx, summary.ID)
		if err != nil {
			continue // deleted in the meantime, or damaged: another one will do
		}
		// Computed again from the measurements, since the stored calibration could be edited.
		if c, err := calibration.Certify(r); err == nil && c.Stale(env, now) == "" {
			return c, nil
		}
	}
	return nil, nil
}

// burst measures a calibration run, stores the result with its calibration and returns it.
func (m *Measurer) burst(ctx context.Context, results store.Store, long time.Duration,
	quiet bool,
) (*result.Result, error) {
	p, err := m.BurstPlan(long)
	if err != nil {
		return nil, err
	}
	arms, err := m.Arms(ctx, p)
	if err != nil {
		return nil, err
	}
	runner, err := m.Runner(ctx, p, arms)
	if err != nil {
		return nil, err
	}
	m.identify(runner)
	if !quiet {
		m.Tell.Note("comparing %s with itself for %v, to see what this machine can tell apart …", p.Arms[0].Protocol,
			long)
	}
	watch := m.Watching("comparing a protocol with itself")
	defer watch.Done()
	news := m.watched(runner, results, func(e experiment.Event) {
		// The arms are equal and need no names, and the time limits the number of rounds.
		e.Arm, e.Load, e.RoundsMin, e.RoundsMax, e.Width = "", "", 0, 0, 0
		if e.Phase != experiment.RoundOver { // the rounds are many and short
			watch.Observe(e)
		}
	})
	defer news.Close()
	// A machine that needs this much longer for ten rounds gets no calibration: the experiment does not wait for it.
	bounded, cancel := context.WithTimeout(ctx, burstPatience*long)
	defer cancel()
	r, err := runner.Run(bounded)
	news.Stop()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx) // part of a calibration run has no use
	case err != nil:
		return nil, err
	}
	var uncertified error
	r.Certificate, uncertified = calibration.Certify(r)
	if err := m.Keep(ctx, results, r); err != nil {
		return nil, err
	}
	if uncertified != nil {
		if bounded.Err() != nil {
			return nil, fmt.Errorf("%s, and this machine is too busy for them in %v%s",
				fault.Describe(uncertified), burstPatience*long, m.Stored("the rounds are ", r.ID))
		}
		return nil, fmt.Errorf("%s; see wirelab results show %s", fault.Describe(uncertified), r.ID)
	}
	return r, nil
}
