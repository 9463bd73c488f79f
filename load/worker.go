package load

import (
	"context"
	"errors"
	"time"

	"wirelab/stat"
)

// worker performs the calls of one [Call], one after the other. Its fields
// are its own: nothing here is shared, so recording needs no lock.
type worker struct {
	call Call

	response, service, lag, wake, failed *stat.Histogram

	sent, ok, interrupted, late, completed uint64
	errors                                 map[string]uint64
	spun                                   time.Duration
	last                                   int64 // when its last call ended; the run's start before

	// The context that calls are given, and until when it may be given.
	ctx    context.Context
	cancel context.CancelFunc
	renew  int64
}

func newWorker(call Call) *worker {
	return &worker{
		call:     call,
		response: stat.NewHistogram(), service: stat.NewHistogram(),
		lag: stat.NewHistogram(), wake: stat.NewHistogram(), failed: stat.NewHistogram(),
		errors: map[string]uint64{},
	}
}

func (w *worker) reset(now int64) {
	w.response.Reset()
	w.service.Reset()
	w.lag.Reset()
	w.wake.Reset()
	w.failed.Reset()
	w.sent, w.ok, w.interrupted, w.late, w.completed = 0, 0, 0, 0, 0
	clear(w.errors)
	w.spun, w.last = 0, now
}

// closed calls again and again until the window ends. One reading of the
// clock serves as the end of a call and the beginning of the next.
func (w *worker) closed(s *slice) {
	for begin := s.clock.Now(); begin < s.end && s.outer.Err() == nil; {
		begin = w.perform(s, begin, begin)
	}
}

// open leads, calls, and gets in line to lead again.
func (w *worker) open(s *slice) {
	for {
		<-s.turn
		due, sent, ok := s.lead(w)
		s.turn <- struct{}{}
		if !ok {
			return
		}
		w.perform(s, due, sent)
	}
}

// perform performs one call and records it. It returns when the call ended.
func (w *worker) perform(s *slice, due, sent int64) (end int64) {
	err := w.call(w.context(s, sent))
	end = s.clock.Now()
	w.last = end
	if err == nil && end >= s.begin && end < s.end {
		w.completed++
	}
	if due < s.begin {
		return end
	}
	w.sent++
	if s.arrivals != nil {
		w.lag.Record(sent - due)
	}
	switch {
	case err == nil:
		w.ok++
		w.service.Record(end - sent)
		if s.arrivals != nil {
			w.response.Record(end - due)
		}
	case s.outer.Err() != nil:
		w.interrupted++
	default:
		w.failed.Record(end - due)
		w.errors[w.kind(s, err)]++
	}
	return end
}

// kind names a failure. The kinds are bounded, since a classification by
// text would grow without end.
func (w *worker) kind(s *slice, err error) string {
	kind := s.classify(err)
	if s.calls.Err() != nil && errors.Is(context.Cause(s.calls), errDrained) {
		kind = Unfinished
	}
	if _, known := w.errors[kind]; !known && len(w.errors) >= kindLimit {
		return OtherKind
	}
	return kind
}

// context returns the context for a call sent now. One context with a
// deadline serves calls for an eighth of the deadline's time and is then
// replaced: a fresh one for each call would cost four allocations and a timer
// every time, which is more than the fastest drivers spend on a whole call.
// So a call's deadline is Deadline to 9/8 of it away.
func (w *worker) context(s *slice, now int64) context.Context {
	if s.deadline == 0 {
		return s.calls
	}
	if w.cancel == nil || now >= w.renew {
		if w.cancel != nil {
			w.cancel() // no call is using it: this worker makes them one by one
		}
		spare := s.deadline / 8
		w.ctx, w.cancel = context.WithTimeout(s.calls, s.deadline+spare)
		w.renew = now + int64(spare)
	}
	return w.ctx
}

// release lets go of the context of a finished run.
func (w *worker) release() {
	if w.cancel != nil {
		w.cancel()
	}
	w.ctx, w.cancel, w.renew = nil, nil, 0
}
