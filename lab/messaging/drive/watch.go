package drive

import (
	"context"
	"sync"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// watching notes a run's backlog and what its broker uses: at both ends, and of a
// sustained run once a second.
type watching struct {
	run     *run
	stage   *stage
	stop    context.CancelFunc
	work    sync.WaitGroup
	backlog []int64
	merged  int // how many readings each is the most of, a power of two
	samples []sample
	first   control.Use
}

// sample is what was used at a time of the run's clock.
type sample struct {
	at  int64
	use control.Use
}

// useEvery is the time between two readings of what a broker uses, and samplesLimit
// the most that are kept: of a longer run every second one goes, again and again.
const (
	useEvery     = time.Second
	samplesLimit = 4096
)

// watch begins; stage may be nil.
func watch(ctx context.Context, r *run, s *stage) (*watching, error) {
	w := &watching{run: r, stage: s, merged: 1}
	if s != nil {
		var err error
		if w.first, err = s.use(ctx); err != nil {
			return nil, err
		}
	}
	ctx, w.stop = context.WithCancel(ctx)
	w.work.Go(func() { w.backlogs(ctx) })
	// Elsewhere nobody asks what grows, and a reading takes milliseconds of a core.
	if s != nil && r.load.Scenario == plan.Sustained {
		w.work.Go(func() { w.uses(ctx) })
	}
	return w, nil
}

func (w *watching) backlogs(ctx context.Context) {
	every := time.NewTicker(result.BacklogEvery)
	defer every.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		w.waits(n, w.run.ledger.Backlog())
		if err := w.run.sick(); err != nil {
			w.run.fail(err)
		}
	}
}

// waits notes the n-th reading of the backlog. Of a long run neighbours become one, again
// and again, and none of the peaks is lost.
func (w *watching) waits(n int, backlog int64) {
	if n%w.merged != 0 {
		last := &w.backlog[len(w.backlog)-1]
		*last = max(*last, backlog)
		return
	}
	if len(w.backlog) == result.BacklogLimit {
		w.backlog, w.merged = result.MergeBacklog(w.backlog, 2), 2*w.merged
	}
	w.backlog = append(w.backlog, backlog)
}

func (w *watching) uses(ctx context.Context) {
	every := time.NewTicker(useEvery)
	defer every.Stop()
	step := 1
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if n%step != 0 {
			continue
		}
		use, err := w.stage.use(ctx)
		if err != nil {
			continue // a node is away; the next reading tells
		}
		w.samples = append(w.samples, sample{w.run.clock.Now(), use})
		if len(w.samples) == samplesLimit {
			for i := range samplesLimit / 2 {
				w.samples[i] = w.samples[2*i+1]
			}
			w.samples = w.samples[:samplesLimit/2]
			step *= 2
		}
	}
}

// over ends it and returns what the broker used since it began; nil where nobody can say.
func (w *watching) over(ctx context.Context) (*result.BrokerUse, error) {
	w.stop()
	w.work.Wait()
	if w.stage == nil {
		return nil, nil
	}
	last, err := w.stage.use(ctx)
	if err != nil {
		return nil, err
	}
	use := &result.BrokerUse{
		Written: less(last.Written, w.first.Written), Network: less(last.Network, w.first.Network),
		Memory: last.Memory, Disk: last.Disk,
	}
	use.MemoryGrowth, _ = w.slope(func(u control.Use) uint64 { return u.Memory })
	use.DiskGrowth, use.Samples = w.slope(func(u control.Use) uint64 { return u.Disk })
	return use, nil
}

// less is a - b, or 0: a process that was killed takes its count with it.
func less(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}

// slope is the growth per second within the window, by least squares, and of how
// many samples it is. The first tenth is left out: it is the broker's start.
func (w *watching) slope(of func(control.Use) uint64) (perSecond float64, n int) {
	begin := w.run.begin + (w.run.end-w.run.begin)/10
	var seconds, values []float64
	for _, s := range w.samples {
		if s.at >= begin && s.at < w.run.end {
			seconds = append(seconds, time.Duration(s.at-begin).Seconds())
			values = append(values, float64(of(s.use)))
		}
	}
	return stat.Slope(seconds, values), len(seconds)
}
