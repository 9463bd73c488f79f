package measure

import (
	"encoding/json"
	"time"

	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result/analyse"
	"wirelab/results/store"
)

// News writes the progress of an experiment to the store, so that other processes can show it.
type News struct {
	reporter *store.Reporter
	Running  store.Running
	Spent    time.Duration // time spent on looks at the results so far
}

// lookShare is the greatest share of an experiment's time for looks at the results so far. A look runs between
// rounds, on the runner's goroutine: during a slice it would disturb the measurement. It takes milliseconds after ten
// rounds, and seconds after many rounds with many arms.
const lookShare = 0.01

// TellOf begins to report an experiment to a store, which must stay open until after Close.
func TellOf(results store.Store, running store.Running) *News {
	return &News{reporter: store.NewReporter(results), Running: running}
}

// watched makes a runner show and report each of its steps.
func (m *Measurer) watched(c *experiment.Runner, results store.Store, show func(experiment.Event)) *News {
	n := TellOf(results, store.StartRunning(c.ID, m.Now(), c.Plan, c.Environment.Host))
	c.Observe = func(e experiment.Event) {
		show(e)
		n.Observe(e)
	}
	return n
}

// Test reports that the i-th of all tests of the self-test is running.
func (n *News) Test(name string, i, all int) {
	n.Running.Phase, n.Running.Step, n.Running.Steps = "test "+name, i, all
	n.Running.Elapsed = plan.Duration(time.Since(n.Running.Began))
	n.reporter.Tell(n.Running)
}

// Observe reports a step.
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

// Look computes the results so far, if there is time for it.
func (n *News) Look(e experiment.Event) bool {
	if float64(n.Spent) > lookShare*float64(e.Elapsed) {
		return false
	}
	began := time.Now()
	defer func() { n.Spent += time.Since(began) }()
	analysis, err := json.Marshal(analyse.Result(e.Result))
	if err != nil {
		return false // an experiment does not fail because of its progress
	}
	n.Running.Standing = &store.Standing{Round: e.Round, Analysis: analysis}
	return true
}

// Stop ends the reports, so that the store is no longer used. It may be called twice.
func (n *News) Stop() { n.reporter.Stop() }

// Close stops, and removes the experiment from the store's list of running ones. It ignores errors, since the store
// removes the entry after a while by itself.
func (n *News) Close() { _ = n.reporter.Close() }
