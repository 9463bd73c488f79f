package load

import (
	"context"
	"errors"
	"time"

	"wirelab/lab/stat"
)

// sheet records the calls of one goroutine of a run. Nothing in it is shared, so recording needs no lock.
type sheet struct {
	response, service, lag, wake, failed *stat.Histogram
	parts                                []*stat.Histogram // of response, by when a call was due
	punctual, outside                    *stat.Histogram   // nil: not recorded

	sent, ok, interrupted, late, completed uint64
	errors                                 map[string]uint64
	causes                                 []failures
	spun                                   time.Duration
	last                                   int64 // when its last call ended; before the first, the start of the run
}

func newSheet() *sheet {
	return &sheet{
		response: stat.NewHistogram(), service: stat.NewHistogram(),
		lag: stat.NewHistogram(), wake: stat.NewHistogram(), failed: stat.NewHistogram(),
		errors: map[string]uint64{},
	}
}

func (w *sheet) reset(now int64, parts int) {
	// These grow only with the times recorded in them, since there may be many.
	for len(w.parts) < parts {
		w.parts = append(w.parts, &stat.Histogram{})
	}
	for _, h := range w.parts {
		h.Reset()
	}
	w.response.Reset()
	w.service.Reset()
	w.lag.Reset()
	w.wake.Reset()
	w.failed.Reset()
	for _, h := range []*stat.Histogram{w.punctual, w.outside} {
		if h != nil {
			h.Reset()
		}
	}
	w.sent, w.ok, w.interrupted, w.late, w.completed = 0, 0, 0, 0, 0
	clear(w.errors)
	clear(w.causes) // releases the errors
	w.causes = w.causes[:0]
	w.spun, w.last = 0, now
}

// record records a call that ended.
func (w *sheet) record(s *slice, due, sent, end int64, err error) {
	w.last = end
	if err == nil && end >= s.begin && end < s.end {
		w.completed++
	}
	if due < s.begin {
		return
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
			if s.parts > 0 {
				w.parts[s.part(due)].Record(end - due)
			}
		}
	case s.outer.Err() != nil:
		w.interrupted++
	default:
		w.failed.Record(end - due)
		kind := w.kind(s, err)
		w.errors[kind]++
		w.because(s, kind, err)
	}
}

// failures counts the failures of one cause. The first error is formatted only after the run, since formatting takes
// longer than a call.
type failures struct {
	kind, cause string
	n           uint64
	first       error
}

// because counts a failure by its cause.
func (w *sheet) because(s *slice, kind string, err error) {
	if s.cause == nil {
		return
	}
	cause := Unfinished
	if kind != Unfinished {
		cause = s.cause(err)
	}
	for i := range w.causes {
		if c := &w.causes[i]; c.kind == kind && c.cause == cause {
			c.n++
			return
		}
	}
	if len(w.causes) >= stat.CauseLimit {
		cause = stat.OtherCause
		for i := range w.causes {
			if c := &w.causes[i]; c.kind == kind && c.cause == cause {
				c.n++
				return
			}
		}
	}
	w.causes = append(w.causes, failures{kind, cause, 1, err})
}

// kind returns the kind of a failure. The number of kinds is bounded, since a classification by text would grow without
// end.
func (w *sheet) kind(s *slice, err error) string {
	kind := s.classify(err)
	if s.calls.Err() != nil && errors.Is(context.Cause(s.calls), errDrained) {
		kind = Unfinished
	}
	if _, known := w.errors[kind]; !known && len(w.errors) >= kindLimit {
		return OtherKind
	}
	return kind
}

// tell adds failures. It formats the first error only if their cause has no message yet.
func (c failures) tell(all stat.Causes, tell func(error) string) stat.Causes {
	add := stat.Cause{Kind: c.kind, Cause: c.cause, Count: c.n}
	if all.Find(c.kind, c.cause) < 0 && c.first != nil {
		add.First = tell(c.first)
	}
	return all.Add(add)
}
