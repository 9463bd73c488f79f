package store

import (
	"context"
	"sync"
	"time"

	"wirelab"
)

// Reporter tells a store how far one experiment is, without ever making it
// wait: [Reporter.Tell] leaves the news and goes, and a goroutine takes it to
// the store, at most once in a second. While the store is slow, later news
// takes the place of earlier; what fails is let go, since the next is better.
type Reporter struct {
	store Store
	news  chan Running // holds the latest that is yet to be told
	stop  context.CancelFunc
	done  chan struct{} // closed when the goroutine has ended
	told  sync.Once

	id string // of what was told; Tell's
	// kept is the round of the last standing that the store took. The
	// goroutine's: a standing is large, and changes once in a round.
	kept int
}

// The pace of a [Reporter].
const (
	reportEvery   = time.Second
	reportTimeout = 5 * time.Second
	forgetTimeout = 2 * time.Second
)

// NewReporter starts one. Close it before the store.
func NewReporter(s Store) *Reporter {
	ctx, stop := context.WithCancel(context.Background())
	r := &Reporter{store: s, news: make(chan Running, 1), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.run(ctx)
	}()
	return r
}

// Tell leaves news of an experiment, always of the same one. It never waits.
// It is for one goroutine at a time, and not after Stop.
func (r *Reporter) Tell(n Running) {
	r.id = n.ID
	select { // the news before, if the store has not had it
	case <-r.news:
	default:
	}
	select {
	case r.news <- n:
	default: // nobody else sends, so there is room
	}
}

// run takes news to the store until ctx ends.
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
		n.Standing = nil // the store has it
	}
	err := r.store.Report(ctx, n)
	if err != nil && n.Standing != nil && wirelab.CodeOf(err) == wirelab.InvalidArgument {
		// Too long perhaps, with very many arms: how far it is can still be told.
		n.Standing = nil
		err = r.store.Report(ctx, n)
	}
	if err == nil && standing != nil {
		r.kept = standing.Round
	}
}

// Stop ends the telling and waits until the store is at rest: what was told
// last stays there. It may be called again.
func (r *Reporter) Stop() {
	r.stop()
	<-r.done
}

// Close stops, and makes the store forget what was told, as far as that can be
// done in a moment. Its error is that of the store; nothing depends on it.
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
