package measure

import (
	"encoding/json"
	"time"

	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result/analyse"
	"wirelab/results/store"
)

// News tells the store how far an experiment is, for who looks from elsewhere.
type News struct {
	reporter *store.Reporter
	Running  store.Running
	Spent    time.Duration // on looks at what is measured so far
}

// lookShare is how much of an experiment's time may go into looks at what it
// has so far. They are taken between rounds, on the conductor's goroutine: to
// do that work beside a slice would take from what is measured. A look costs
// milliseconds after ten rounds and seconds after many with many arms.
const lookShare = 0.01

// TellOf begins to tell of an experiment, in a store that is open until after
// close.
func TellOf(results store.Store, running store.Running) *News {
	return &News{reporter: store.NewReporter(results), Running: running}
}

// watched makes a conductor show and tell each of its steps.
func (m *Measurer) watched(c *experiment.Runner, results store.Store, show func(experiment.Event)) *News {
	n := TellOf(results, store.StartRunning(c.ID, m.Now(), c.Plan, c.Environment.Host))
	c.Observe = func(e experiment.Event) {
		show(e)
		n.Observe(e)
	}
	return n
}

// Test tells of a test of the self-test, the i-th of all.
func (n *News) Test(name string, i, all int) {
	n.Running.Phase, n.Running.Step, n.Running.Steps = "test "+name, i, all
	n.Running.Elapsed = plan.Duration(time.Since(n.Running.Began))
	n.reporter.Tell(n.Running)
}

// Observe tells of a step.
func (n *News) Observe(e experiment.Event) {
	r := &n.Running
	r.Phase, r.Round, r.RoundsMin, r.RoundsMax = string(e.Phase), e.Round, e.RoundsMin, e.RoundsMax
	r.Step, r.Steps, r.Arm, r.Load = e.Step, e.Steps, e.Arm, e.Load
	r.Elapsed, r.Left, r.Width, r.Goal = plan.Duration(e.Elapsed), plan.Duration(e.Left), e.Width, e.Goal
	n.reporter.Tell(*r) // before a look, which may take a while
	if e.Result != nil && n.Look(e) {
		n.reporter.Tell(*r)
	}
}

// Look works out what may be said so far, if there is time for it.
func (n *News) Look(e experiment.Event) bool {
	if float64(n.Spent) > lookShare*float64(e.Elapsed) {
		return false
	}
	began := time.Now()
	defer func() { n.Spent += time.Since(began) }()
	analysis, err := json.Marshal(analyse.Result(e.Result))
	if err != nil {
		return false // news is worth no experiment
	}
	n.Running.Standing = &store.Standing{Round: e.Round, Analysis: analysis}
	return true
}

// Stop ends the telling, so that the store is at rest. It may be called twice.
func (n *News) Stop() { n.reporter.Stop() }

// Close stops, and makes the store forget. What fails is let go: after a while
// the store forgets by itself.
func (n *News) Close() { _ = n.reporter.Close() }
