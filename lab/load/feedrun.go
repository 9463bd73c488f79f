package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/lab/stat"
)

// FeedRunner runs feed plans one after the other over the same feeds. Each run opens new streams. No goroutine of it
// runs between runs.
type FeedRunner struct {
	feeds   []Feed
	readers []*reader
	busy    atomic.Bool
}

// NewFeedRunner returns a runner that holds one stream of each feed.
func NewFeedRunner(feeds []Feed) *FeedRunner {
	r := &FeedRunner{feeds: feeds}
	for range feeds {
		r.readers = append(r.readers, newReader())
	}
	return r
}

// The causes with which streams are cut off.
var (
	errOpening   = errors.New("load: streams were not all open in time")
	errAbandoned = errors.New("load: another stream failed")
)

// Run runs a plan once. If ctx is done first, it cuts the streams off and returns the cause of ctx. No recording is
// returned either with an error that wraps [ErrPlan], [ErrClockStepped] or [ErrFeedEnded], or with that of a stream
// that could not be opened. A stream that breaks later is not an error: its events count as failed.
func (r *FeedRunner) Run(ctx context.Context, p FeedPlan) (*FeedRecording, error) {
	p, err := p.normal(len(r.feeds))
	if err != nil {
		return nil, err
	}
	if !r.busy.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("%w: the runner is running", ErrPlan)
	}
	defer r.busy.Store(false)
	before := offsets(p.Clock)
	s := &feedSlice{
		plan: p, offset: slices.Max(before[:]), opened: make(chan struct{}, len(r.feeds)),
		over: make(chan *reader, len(r.feeds)),
	}
	run := func() { err = s.run(ctx, r) }
	if p.Around != nil {
		p.Around(run)
	} else {
		run()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	if by := stepped(before, offsets(p.Clock)); by > stepLimit || by < -stepLimit {
		return nil, fmt.Errorf("%w: by %v while streams were read, so that times of server and driver do not fit "+
			"together", ErrClockStepped, by)
	}
	return s.recording(r.readers), nil
}

// feedSlice is the state of one run. Its times are wall time, computed from the monotonic clock with offset.
type feedSlice struct {
	plan   FeedPlan
	offset int64 // from the clock's Now to wall time
	cut    context.CancelCauseFunc
	opened chan struct{} // one value for each stream that delivered an event
	over   chan *reader  // each reader whose stream ended

	opening    time.Duration
	begin, end int64 // of the window; set before start
	start      atomic.Int64
}

func (s *feedSlice) now() int64 { return s.plan.Clock.Now() + s.offset }

// run opens the streams, waits for the window to pass, and waits for all streams to end.
func (s *feedSlice) run(outer context.Context, r *FeedRunner) error {
	ctx, cut := context.WithCancelCause(outer)
	s.cut = cut
	defer cut(nil)
	began := s.now()
	late := time.AfterFunc(s.plan.Opening, func() { cut(errOpening) })
	defer late.Stop()
	var all sync.WaitGroup
	for i, reader := range r.readers {
		reader.reset()
		all.Go(func() {
			reader.read(ctx, s, r.feeds[i])
			s.over <- reader
		})
	}
	err := s.open(ctx, len(r.feeds))
	if err != nil {
		cut(errAbandoned)
		all.Wait()
		return err
	}
	late.Stop()
	start := s.now() + 1 // later than every event so far, in virtual time too
	s.opening = time.Duration(start - began)
	s.begin, s.end = start+int64(s.plan.Head), start+int64(s.plan.Duration)
	s.start.Store(start)
	drained := time.AfterFunc(s.plan.Duration+s.plan.Drain, func() { cut(errDrained) })
	defer drained.Stop()
	all.Wait()
	for i, reader := range r.readers {
		if reader.short {
			return fmt.Errorf("stream %d: %w: it had %d events, %d/s of them: the data set is too small for streams "+
				"as long as this; "+
				"name a larger one with --data, or make slices shorter", i+1, ErrFeedEnded, reader.high, s.plan.Rate)
		}
	}
	return nil
}

// open waits until each stream has delivered an event.
func (s *feedSlice) open(ctx context.Context, streams int) error {
	for n := range streams {
		select {
		case <-s.opened:
		case reader := <-s.over:
			switch {
			case errors.Is(context.Cause(ctx), errOpening):
				return fmt.Errorf("%d of %d streams had given no event %v after they were opened", streams-n, streams,
					s.plan.Opening)
			case reader.err != nil:
				return fmt.Errorf("a stream could not be opened: %w", reader.err)
			}
			return fmt.Errorf("%w: it had %d events, and not all streams were open: the data set is too small; name a "+
				"larger one with --data",
				ErrFeedEnded, reader.high)
		}
	}
	return nil
}

// recording adds up the results of the readers.
func (s *feedSlice) recording(readers []*reader) *FeedRecording {
	rec := &FeedRecording{Recording: NewRecording(), Streams: Streams{Jitter: &stat.Histogram{}, Opening: s.opening}}
	all := &rec.Streams
	rec.Workers, rec.Law, rec.Window = len(readers), Even, time.Duration(s.end-s.begin)
	rec.Began = time.Unix(0, s.begin-int64(s.plan.Head))
	rec.Expected = float64(len(readers)) * float64(s.plan.Rate) * rec.Window.Seconds()
	for _, r := range readers {
		one := r.conclude(s)
		rec.Response.Merge(r.response)
		rec.Service.Merge(r.service)
		rec.Lag.Merge(r.lag)
		all.Jitter.Merge(r.jitter)
		rec.Planned += one.Planned
		rec.OK += one.Right
		rec.CompletedInWindow += one.Completed
		if one.Wrong > 0 {
			rec.Errors[s.plan.Wrong] += one.Wrong
			rec.because(&s.plan, s.plan.Wrong, one.Wrong, nil)
		}
		switch kind := r.kind(s); {
		case s.plan.Share > 0 && kind != Missing:
			rec.Errors[kind]++ // the stream broke; how many events it would have read is unknown
			rec.because(&s.plan, kind, 1, r.err)
		case s.plan.Share == 0 && one.Missing > 0:
			rec.Errors[kind] += one.Missing
			rec.because(&s.plan, kind, one.Missing, r.err)
		}
		all.Missing += one.Missing
		all.Duplicated += one.Duplicated
		all.Reordered += one.Reordered
		all.Stray += r.stray
		all.Slipped += r.slipped
		all.Due += one.Due
		all.Sent += one.Sent
		all.Decoded += one.Decoded
		all.Dropped += one.Dropped
		all.Read += r.got
		rec.Drained = max(rec.Drained, time.Duration(r.last-s.end))
		all.Readers = append(all.Readers, one)
	}
	rec.Sent = rec.OK + rec.Failures()
	return rec
}

// because counts events that did not come, or were wrong, by the cause that their stream gives, if any.
func (r *FeedRecording) because(p *FeedPlan, kind string, events uint64, err error) {
	if p.Cause == nil {
		return
	}
	cause := kind
	if err != nil {
		cause = p.Cause(err)
	}
	r.Causes = failures{kind, cause, events, err}.tell(r.Causes, p.Tell)
}
