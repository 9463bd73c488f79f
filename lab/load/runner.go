package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/lab/stat"
)

// Run runs a plan once and returns what it measured.
//
// If ctx is done first, Run cuts the calls in flight short, waits for them, and returns both what was measured until
// then, with a Window that ends there, and the cause of ctx. With any other error (it wraps [ErrPlan]) no recording is
// returned. Failing calls are not an error of Run.
func Run(ctx context.Context, p Plan) (*Recording, error) {
	callers := p.Callers
	p.Callers = nil
	return NewRunner(callers).Run(ctx, p)
}

// Runner runs plans one after the other with the same callers or lines. It keeps their memory between runs, 1.3 MB for
// each caller. No goroutine of it runs between runs.
type Runner struct {
	workers []*worker
	lines   *pipeline // nil unless it runs lines; then there are no workers
	gaps    *stat.Histogram
	busy    atomic.Bool
}

// NewRunner returns a runner with one worker for each caller.
func NewRunner(callers []Call) *Runner {
	r := &Runner{gaps: stat.NewHistogram()}
	for i, call := range callers {
		r.workers = append(r.workers, newWorker(i, call))
	}
	return r
}

// NewLinesRunner returns a runner over lines, which it does not close. Workers of a plan are then the slots that it
// uses.
func NewLinesRunner(lines Lines) *Runner {
	return &Runner{gaps: stat.NewHistogram(), lines: newPipeline(lines)}
}

// width returns how many calls can be in flight.
func (r *Runner) width() int {
	if r.lines != nil {
		return len(r.lines.calls)
	}
	return len(r.workers)
}

// Run is like the function [Run] with the runner's callers; p.Callers must be empty. A second Run at the same time is
// an error.
func (r *Runner) Run(ctx context.Context, p Plan) (*Recording, error) {
	if len(p.Callers) > 0 {
		return nil, fmt.Errorf("%w: callers for a runner that has its own", ErrPlan)
	}
	p, err := p.normal(r.width())
	if err != nil {
		return nil, err
	}
	if !r.busy.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("%w: the runner is running", ErrPlan)
	}
	defer r.busy.Store(false)

	sheets := r.sheets(p.Workers)
	now := p.Clock.Now()
	for _, w := range sheets {
		w.reset(now, p.Parts)
	}
	r.gaps.Reset()
	if system, ok := p.Clock.(SystemClock); ok && p.Schedule != nil && r.lines == nil {
		clock, done := system.open(ctx)
		defer done()
		p.Clock = clock
	}
	s := newSlice(ctx, p, r.gaps)
	run := func() { s.run(r.workers[:p.Workers]) }
	if r.lines != nil {
		run = func() { err = s.runLines(r.lines, p.Workers) }
	}
	if p.Around != nil {
		p.Around(run)
	} else {
		run()
	}
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	rec := s.recording(p, sheets)
	if ctx.Err() != nil {
		return rec, context.Cause(ctx)
	}
	return rec, nil
}

// sheets returns the sheets of the first workers, or that of the lines.
func (r *Runner) sheets(workers int) []*sheet {
	if r.lines != nil {
		return []*sheet{r.lines.sheet}
	}
	all := make([]*sheet, workers)
	for i, w := range r.workers[:workers] {
		all[i] = w.sheet
	}
	return all
}

// errDrained is the cause of calls cut off because the drain was over.
var errDrained = errors.New("load: the drain is over")

// leadIn is how long before t0 an open loop starts its workers, so that the first arrival does not have to wait for
// one.
const leadIn = time.Millisecond

// slice is the state of one run.
type slice struct {
	clock    Clock
	classify func(error) string
	cause    func(error) string // nil: causes are not recorded
	deadline time.Duration
	margin   time.Duration // of lines
	// outer is the caller's context. calls is the context of calls: it ends with outer, and when the drain is over.
	outer, calls context.Context
	cut          context.CancelCauseFunc

	// On the clock. Invariant: start <= begin < end <= giveUp.
	start  int64 // t0
	begin  int64 // of the window
	end    int64 // of the window
	giveUp int64 // of the drain
	parts  int64 // parts of the window whose response times are recorded separately; 0: none
	wall   time.Time
	watch  func(Ended) // nil: no watch

	// turn holds one token. The worker that has it leads, and owns all fields below. It is a channel and not a mutex,
	// so that waiting for it is idle in virtual time.
	turn     chan struct{}
	arrivals *arrivals // nil in the closed loop
	schedule *Schedule
	over     bool // nothing more will be sent
	planned  uint64
	unsent   uint64
	gaps     *stat.Histogram
	level    float64 // Λ when the last call was sent; < 0 before the first
}

func newSlice(ctx context.Context, p Plan, gaps *stat.Histogram) *slice {
	s := &slice{
		clock: p.Clock, classify: p.Classify, cause: p.Cause, deadline: p.Deadline,
		outer: ctx, schedule: p.Schedule, gaps: gaps, level: -1, parts: int64(p.Parts), watch: p.Watch,
	}
	s.margin = sharedMargin
	if p.Own {
		s.margin = ownMargin
	}
	s.calls, s.cut = context.WithCancelCause(ctx)
	s.start, s.wall = s.clock.Now(), time.Now()
	if p.Schedule != nil {
		s.turn = make(chan struct{}, 1)
		s.arrivals = newArrivals(p.Schedule)
		s.start += int64(leadIn)
		s.wall = s.wall.Add(leadIn)
	}
	s.begin = s.start + int64(p.Head)
	s.end = s.start + int64(p.Duration)
	s.giveUp = s.end + int64(p.Drain)
	return s
}

// run starts the workers and waits for them.
func (s *slice) run(workers []*worker) {
	drained := s.drain()
	var all sync.WaitGroup
	for _, w := range workers {
		all.Go(func() {
			defer w.release()
			if s.arrivals == nil {
				w.closed(s)
				return
			}
			w.open(s)
		})
	}
	if s.arrivals != nil {
		s.turn <- struct{}{}
	}
	all.Wait()
	drained.Stop()
	s.cut(nil)
}

// runLines makes the calls of lines.
func (s *slice) runLines(p *pipeline, slots int) error {
	if p.timed == nil { // timed lines wait for other goroutines, and not in a system call
		defer exact()()
	}
	drained := s.drain()
	err := p.run(s, slots)
	drained.Stop()
	s.cut(nil)
	return err
}

// drain returns a timer that cuts the calls off when the drain is over.
func (s *slice) drain() *time.Timer {
	return time.AfterFunc(time.Duration(s.giveUp-s.clock.Now()), func() { s.cut(errDrained) })
}

// ended reports a call to the plan's Watch.
func (s *slice) ended(caller int, due, sent, end int64, err error) {
	if s.watch == nil {
		return
	}
	wall := s.wall.UnixNano() - s.start
	s.watch(Ended{
		Caller: caller, Due: due + wall, Sent: sent + wall, End: end + wall, Recorded: due >= s.begin,
		Err: err,
	})
}

// part returns the part of the window to which a time belongs.
func (s *slice) part(due int64) int { return int((due - s.begin) * s.parts / (s.end - s.begin)) }

// next takes the next arrival that is due before the end; false after the last. Only the worker that leads may call it.
func (s *slice) next() (due int64, ok bool) {
	if s.over {
		return 0, false
	}
	offset, ok := s.arrivals.next()
	due = s.start + int64(offset)
	if !ok || due >= s.end {
		s.over = true
		return 0, false
	}
	return due, true
}

// lead takes the next arrival and waits until it is due. It returns when it was due and when it is to be sent. ok is
// false if nothing is left to send. Only the holder of the turn may call it.
func (s *slice) lead(w *sheet) (due, sent int64, ok bool) {
	if due, ok = s.next(); !ok {
		return 0, 0, false
	}
	now := s.clock.Now()
	// Workers lead in the order in which they became free. If this one was free when the call was due, no other
	// worker's lateness delayed it. If it was not free, no other worker was.
	waited := w.last <= due
	if now < due {
		w.spun += s.clock.SleepUntil(s.outer, due)
		now = s.clock.Now()
	}
	if s.outer.Err() != nil || now >= s.giveUp {
		s.abandon(w, due, now)
		return 0, 0, false
	}
	s.depart(w, due, now, waited)
	return due, now, true
}

// depart counts an arrival that is sent now. waited says that a worker was free to send it when it was due.
func (s *slice) depart(w *sheet, due, now int64, waited bool) {
	if due < s.begin {
		return
	}
	s.planned++
	if waited {
		w.wake.Record(now - due)
	} else {
		w.late++
	}
	level := s.schedule.level(time.Duration(now - s.start))
	if s.level >= 0 {
		// What others send in between is taken to be as late as this generator is, whose own lateness alone shows.
		s.gaps.Record(int64((level - s.level - s.arrivals.skipped) * gapUnit))
	}
	s.level = level
}

// gapUnit is the value that is recorded for a gap of one unit of the schedule.
const gapUnit = 1e6

// abandon counts the arrival due at due, and all later ones that are due by now, as never sent.
func (s *slice) abandon(w *sheet, due, now int64) {
	s.over = true
	for ok := true; ok && due <= now && due < s.end; {
		if due >= s.begin {
			s.planned++
			s.unsent++
			w.failed.Record(now - due)
		}
		var offset time.Duration
		offset, ok = s.arrivals.next()
		due = s.start + int64(offset)
	}
}

// recording merges the sheets.
func (s *slice) recording(p Plan, sheets []*sheet) *Recording {
	rec := NewRecording()
	rec.Workers, rec.Began = p.Workers, s.wall
	last := s.start
	for _, w := range sheets {
		rec.Response.Merge(w.response)
		rec.Service.Merge(w.service)
		rec.Lag.Merge(w.lag)
		rec.Wake.Merge(w.wake)
		if w.punctual != nil && s.arrivals != nil {
			if rec.Punctual == nil {
				rec.Punctual = stat.NewHistogram()
			}
			rec.Punctual.Merge(w.punctual)
		}
		if w.outside != nil {
			rec.Outside = w.outside.Clone()
		}
		rec.Failed.Merge(w.failed)
		rec.Sent += w.sent
		rec.OK += w.ok
		for kind, n := range w.errors {
			rec.Errors[kind] += n
		}
		for _, c := range w.causes {
			rec.Causes = c.tell(rec.Causes, p.Tell)
		}
		rec.Interrupted += w.interrupted
		rec.Late += w.late
		rec.CompletedInWindow += w.completed
		rec.Spun += w.spun
		last = max(last, w.last)
	}
	end := s.end
	if s.outer.Err() != nil {
		end = max(s.begin, min(end, s.clock.Now()))
	}
	rec.Window = time.Duration(end - s.begin)
	rec.Drained = time.Duration(max(0, last-end))
	if s.arrivals == nil {
		rec.Response.Merge(rec.Service)
		if p.Whole && s.outer.Err() == nil {
			rec.whole(time.Duration(last - s.begin))
		}
		return rec
	}
	rec.Law = p.Schedule.Law
	if rec.Law == "" {
		rec.Law = Even
	}
	rec.Planned, rec.Unsent = s.planned, s.unsent
	rec.Expected = s.schedule.Expected(time.Duration(end-s.start)) - s.schedule.Expected(time.Duration(s.begin-s.start))
	rec.Gaps.Merge(s.gaps)
	for i := range p.Parts {
		rec.Parts = append(rec.Parts, &stat.Histogram{})
		for _, w := range sheets {
			rec.Parts[i].Merge(w.parts[i])
		}
	}
	return rec
}
