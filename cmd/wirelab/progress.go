package main

import (
	"wirelab/cmd/internal/cli"
	"wirelab/lab/experiment"
	"wirelab/results/report/progress"
)

// watcher shows an experiment's steps on standard error, so that a report on
// standard output stays clean.
type watcher struct{ *cli.Activity }

// watch shows what is done, until the watcher is done.
func (a *app) watch(what string) watcher { return watcher{a.Doing(what)} }

// Observe shows a step.
func (w watcher) Observe(e experiment.Event) { w.show("", e) }

// ObserveAs is Observe for what is done before an experiment: what says so.
func (w watcher) ObserveAs(what string) func(experiment.Event) {
	return func(e experiment.Event) {
		if e.Phase != experiment.RoundOver { // it is no round of the experiment
			w.show(what, e)
		}
	}
}

func (w watcher) show(what string, e experiment.Event) {
	text := progress.Text(progress.Event{
		Phase: what + string(e.Phase), RoundOver: e.Phase == experiment.RoundOver,
		Round: e.Round, RoundsMin: e.RoundsMin, RoundsMax: e.RoundsMax,
		Step: e.Step, Steps: e.Steps, Arm: e.Arm, Load: e.Load,
		Elapsed: e.Elapsed, Left: e.Left, Width: e.Width, Goal: e.Goal,
	})
	if e.Phase == experiment.RoundOver || e.Phase == experiment.Again {
		w.Stage(text)
	} else {
		w.Step(text)
	}
}
