package store

import (
	"context"
	"sync"
	"time"

	"wirelab"
)

// Reporter writes the progress of one experiment to a store without making the experiment wait. [Reporter.Tell]
// leaves the progress and returns. A goroutine writes it to the store, at most once per second. While the store is
// slow, later progress replaces earlier progress. Errors are ignored, since the next progress follows.
type Reporter struct {
	store Store
	news  chan Running // the latest progress that is not written yet
	stop  context.CancelFunc
	done  chan struct{} // closed when the goroutine has ended
	told  sync.Once

	id string // id of the experiment; used only by Tell
	// kept is the round of the last standing that the store took. Only the goroutine uses it. A standing is large,
	// and changes only once per round.
	kept int
}

// The timing of a [Reporter].
const (
	reportEvery   = time.Second
	reportTimeout = 5 * time.Second
	forgetTimeout = 2 * time.Second
)

// NewReporter starts a Reporter. Close it before the store.
func NewReporter(s Store) *Reporter {
	ctx, stop := context.WithCancel(context.Background())
	r := &Reporter{store: s, news: make(chan Running, 1), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.run(ctx)
	}()
	return r
}

// Tell leaves the progress of an experiment, always of the same one. It never waits. Only one goroutine may call it
// at a time, and not after Stop.
func (r *Reporter) Tell(n Running) {
	r.id = n.ID
	select { // removes the previous progress if the store has not had it
	case <-r.news:
	default:
	}
	select {
	case r.news <- n:
	default: // there is space, since only this goroutine sends
	}
}

// run writes progress to the store until ctx ends.
func (r *Reporter) run(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case n := <-r.news:
			r.report(ctx, n)
		}
		pause.Reset(reportEvery)
	}
}

func (r *Reporter) report(ctx context.Context, n Running) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	standing := n.Standing
	if standing != nil && standing.Round == r.kept {
		n.Standing = nil // the store has it already
	}
	err := r.store.Report(ctx, n)
	if err != nil && n.Standing != nil && wirelab.CodeOf(err) == wirelab.InvalidArgument {
		// The standing may be too long with very many arms; the rest is still written.
		n.Standing = nil
		err = r.store.Report(ctx, n)
	}
	if err == nil && standing != nil {
		r.kept = standing.Round
	}
}

// Stop ends the writing and waits until the store is no longer used. The last progress remains in the store. Stop may
// be called again.
func (r *Reporter) Stop() {
	r.stop()
	<-r.done
}

// Close stops, and removes the progress from the store if that takes only a moment. Its error is the store's, and may
// be ignored.
func (r *Reporter) Close() (err error) {
	r.Stop()
	r.told.Do(func() {
		if r.id == "" {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), forgetTimeout)
		defer cancel()
		err = r.store.Forget(ctx, r.id)
	})
	return err
}
