package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"

	"wirelab/experiment"
	"wirelab/report/progress"
)

// watcher shows an experiment's steps on standard error, so that a report on
// standard output stays clean.
type watcher struct {
	mu    *sync.Mutex // of line and last
	line  *progress.Line
	last  *time.Time // when it was told of a step
	ended chan struct{}
}

// patience is how long a step may take before it is shown how long it has taken
// so far. Seldom enough to cost the machine that is measured nothing.
const patience = time.Second

func (a *app) newWatcher(quiet bool) watcher {
	out := a.Stderr
	if quiet {
		out = io.Discard
	}
	f, ok := out.(*os.File)
	terminal := ok && isatty.IsTerminal(f.Fd())
	last := time.Now()
	w := watcher{&sync.Mutex{}, progress.New(out, progress.Style{Terminal: terminal, Width: a.width()}), &last, make(chan struct{})}
	a.watch = &w
	if terminal {
		go w.tick()
	}
	return w
}

// tick shows that a step goes on.
func (w watcher) tick() {
	every := time.NewTicker(patience)
	defer every.Stop()
	for {
		select {
		case <-w.ended:
			return
		case <-every.C:
		}
		w.mu.Lock()
		select {
		case <-w.ended: // while it waited
		default:
			if since := time.Since(*w.last); since >= patience {
				w.line.Still(since)
			}
		}
		w.mu.Unlock()
	}
}

// say shows what is being done that is no step of an experiment.
func (a *app) say(w watcher, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*w.last = time.Now()
	w.line.Say(text)
}

// done ends the showing, and wipes what stands on the line.
func (a *app) done(w watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.ended)
	w.line.Done()
	a.watch = nil
}

// Note writes a line to standard error, and not into the one that is shown.
func (a *app) Note(format string, args ...any) {
	if a.watch != nil {
		a.watch.mu.Lock()
		defer a.watch.mu.Unlock()
		a.watch.line.Done()
	}
	a.Terminal.Note(format, args...)
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
	w.mu.Lock()
	defer w.mu.Unlock()
	*w.last = time.Now()
	w.line.Show(progress.Event{
		Phase: what + string(e.Phase), RoundOver: e.Phase == experiment.RoundOver,
		Round: e.Round, RoundsMin: e.RoundsMin, RoundsMax: e.RoundsMax,
		Step: e.Step, Steps: e.Steps, Arm: e.Arm, Load: e.Load,
		Elapsed: e.Elapsed, Left: e.Left, Width: e.Width, Goal: e.Goal,
	})
}
