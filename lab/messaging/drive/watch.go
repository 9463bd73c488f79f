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

// watching records a run's backlog and its broker's resource use. Resource use is read at both ends of a run, and
// once a second during a sustained run.
type watching struct {
	run     *run
	stage   *stage
	stop    context.CancelFunc
	work    sync.WaitGroup
	backlog []int64
	merged  int // each value of backlog is the maximum of so many readings; a power of two
	samples []sample
	first   control.Use
}

// sample is the resource use at a time of the run's clock.
type sample struct {
	at  int64
	use control.Use
}

// useEvery is the time between two readings of resource use. samplesLimit is the maximum number of samples: when it
// is reached, every second sample is dropped.
const (
	useEvery     = time.Second
	samplesLimit = 4096
)

// watch starts watching. s may be nil if the broker's resource use cannot be read.
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
	// Only sustained runs report growth, and a reading takes milliseconds of a core.
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

// waits records the n-th reading of the backlog. At the limit, neighbouring readings are merged to their maximum, so
// that no peak is lost.
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
			continue // a node may be down; the next reading shows more
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

// over stops watching, and returns the broker's resource use since watch. It returns nil if there is no fault server.
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

// less is a - b, or 0 if that is negative: when a process is killed, its count is lost.
func less(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}

// slope is the growth per second within the window, by least squares, and the number of samples used. The first tenth
// of the window is left out, because the broker is still starting up.
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
