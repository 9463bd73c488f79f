package main

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"

	"wirelab/experiment"
	"wirelab/report/progress"
)

// watcher shows an experiment's steps on standard error, so that a report on
// standard output stays clean.
type watcher struct{ line *progress.Line }

func (a *app) newWatcher(quiet bool) watcher {
	out := a.Stderr
	if quiet {
		out = io.Discard
	}
	f, ok := out.(*os.File)
	return watcher{progress.New(out, progress.Style{Terminal: ok && isatty.IsTerminal(f.Fd()), Width: a.width()})}
}

func (w watcher) observe(e experiment.Event) { w.show("", e) }

// observeAs is observe for what is done before an experiment: what says so.
func (w watcher) observeAs(what string) func(experiment.Event) {
	return func(e experiment.Event) {
		if e.Phase != experiment.RoundOver { // it is no round of the experiment
			w.show(what, e)
		}
	}
}

func (w watcher) show(what string, e experiment.Event) {
	w.line.Show(progress.Event{
		Phase: what + string(e.Phase), RoundOver: e.Phase == experiment.RoundOver,
		Round: e.Round, RoundsMin: e.RoundsMin, RoundsMax: e.RoundsMax,
		Step: e.Step, Steps: e.Steps, Arm: e.Arm, Load: e.Load,
		Elapsed: e.Elapsed, Left: e.Left, Width: e.Width, Goal: e.Goal,
	})
}
