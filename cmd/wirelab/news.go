package main

import (
	"encoding/json"
	"time"

	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/results/store"
)

// news tells the store how far an experiment is, for who looks from elsewhere.
type news struct {
	reporter *store.Reporter
	running  store.Running
	spent    time.Duration // on looks at what is measured so far
}

// lookShare is how much of an experiment's time may go into looks at what it
// has so far. They are taken between rounds, on the conductor's goroutine: to
// do that work beside a slice would take from what is measured. A look costs
// milliseconds after ten rounds and seconds after many with many arms.
const lookShare = 0.01

// tellOf begins to tell of an experiment, in a store that is open until after
// close.
func tellOf(results store.Store, running store.Running) *news {
	return &news{reporter: store.NewReporter(results), running: running}
}

// watched makes a conductor show and tell each of its steps.
func (a *app) watched(c *experiment.Conductor, results store.Store, show func(experiment.Event)) *news {
	n := tellOf(results, store.StartRunning(c.ID, a.Now(), c.Plan, c.Environment.Host))
	c.Observe = func(e experiment.Event) {
		show(e)
		n.Observe(e)
	}
	return n
}

// test tells of a test of the self-test, the i-th of all.
func (n *news) test(name string, i, all int) {
	n.running.Phase, n.running.Step, n.running.Steps = "test "+name, i, all
	n.running.Elapsed = plan.Duration(time.Since(n.running.Began))
	n.reporter.Tell(n.running)
}

// Observe tells of a step.
func (n *news) Observe(e experiment.Event) {
	r := &n.running
	r.Phase, r.Round, r.RoundsMin, r.RoundsMax = string(e.Phase), e.Round, e.RoundsMin, e.RoundsMax
	r.Step, r.Steps, r.Arm, r.Load = e.Step, e.Steps, e.Arm, e.Load
	r.Elapsed, r.Left, r.Width, r.Goal = plan.Duration(e.Elapsed), plan.Duration(e.Left), e.Width, e.Goal
	n.reporter.Tell(*r) // before a look, which may take a while
	if e.Result != nil && n.look(e) {
		n.reporter.Tell(*r)
	}
}

// look works out what may be said so far, if there is time for it.
func (n *news) look(e experiment.Event) bool {
	if float64(n.spent) > lookShare*float64(e.Elapsed) {
		return false
	}
	began := time.Now()
	defer func() { n.spent += time.Since(began) }()
	analysis, err := json.Marshal(result.Analyse(e.Result))
	if err != nil {
		return false // news is worth no experiment
	}
	n.running.Standing = &store.Standing{Round: e.Round, Analysis: analysis}
	return true
}

// stop ends the telling, so that the store is at rest. It may be called twice.
func (n *news) stop() { n.reporter.Stop() }

// close stops, and makes the store forget. What fails is let go: after a while
// the store forgets by itself.
func (n *news) close() { _ = n.reporter.Close() }
