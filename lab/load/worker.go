package load

import (
	"context"

	"wirelab/lab/stat"
)

// worker makes the calls of one [Call], one after the other. Only its goroutine uses its fields.
type worker struct {
	*sheet
	call   Call
	number int

	// The context for calls, and until when it may be used for new ones.
	ctx    context.Context
	cancel context.CancelFunc
	renew  int64
}

func newWorker(number int, call Call) *worker {
	w := &worker{sheet: newSheet(), call: call, number: number}
	w.punctual = &stat.Histogram{} // it grows only with the times recorded in it
	return w
}

// closed makes calls until the window ends. One reading of the clock is both the end of a call and the beginning of the
// next.
func (w *worker) closed(s *slice) {
	for begin := s.clock.Now(); begin < s.end && s.outer.Err() == nil; {
		begin = w.perform(s, begin, begin)
	}
}

// open leads, makes the call, and waits to lead again.
func (w *worker) open(s *slice) {
	for {
		<-s.turn
		free := w.last
		due, sent, ok := s.lead(w.sheet)
		s.turn <- struct{}{}
		if !ok {
			return
		}
		from := due
		if free <= due { // see lead: its lateness is the generator's
			from = sent
		}
		right := w.ok
		if end := w.perform(s, due, sent); w.ok > right {
			w.punctual.Record(end - from)
		}
	}
}

// perform makes one call and records it. It returns when the call ended.
func (w *worker) perform(s *slice, due, sent int64) (end int64) {
	err := w.call(w.context(s, sent))
	end = s.clock.Now()
	w.record(s, due, sent, end, err)
	s.ended(w.number, due, sent, end, err)
	return end
}

// context returns the context for a call that is sent now. One context with a deadline serves the calls of an eighth of
// the deadline's time and is then replaced: a new one for each call would cost four allocations and a timer, which is
// more than the fastest drivers spend on a whole call. So the deadline of a call is Deadline to 9/8 of it away.
func (w *worker) context(s *slice, now int64) context.Context {
	if s.deadline == 0 {
		return s.calls
	}
	if w.cancel == nil || now >= w.renew {
		if w.cancel != nil {
			w.cancel() // no call is using it: this worker makes one call at a time
		}
		spare := s.deadline / 8
		w.ctx, w.cancel = context.WithTimeout(s.calls, s.deadline+spare)
		w.renew = now + int64(spare)
	}
	return w.ctx
}

// release cancels the context of a finished run.
func (w *worker) release() {
	if w.cancel != nil {
		w.cancel()
	}
	w.ctx, w.cancel, w.renew = nil, nil, 0
}
