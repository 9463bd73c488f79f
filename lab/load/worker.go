package load

import (
	"context"

	"wirelab/lab/stat"
)

// worker performs the calls of one [Call], one after the other. Its fields
// are its own.
type worker struct {
	*sheet
	call   Call
	number int

	// The context that calls are given, and until when it may be given.
	ctx    context.Context
	cancel context.CancelFunc
	renew  int64
}

func newWorker(number int, call Call) *worker {
	w := &worker{sheet: newSheet(), call: call, number: number}
	w.punctual = &stat.Histogram{} // takes memory only for the times that there are
	return w
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
		free := w.last
		due, sent, ok := s.lead(w.sheet)
		s.turn <- struct{}{}
		if !ok {
			return
		}
		from := due
		if free <= due { // see lead: what it was late by is the generator's
			from = sent
		}
		right := w.ok
		if end := w.perform(s, due, sent); w.ok > right {
			w.punctual.Record(end - from)
		}
	}
}

// perform performs one call and records it. It returns when the call ended.
func (w *worker) perform(s *slice, due, sent int64) (end int64) {
	err := w.call(w.context(s, sent))
	end = s.clock.Now()
	w.record(s, due, sent, end, err)
	s.ended(w.number, due, sent, end, err)
	return end
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
