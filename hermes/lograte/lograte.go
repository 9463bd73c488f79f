// Package lograte keeps frequent events from filling the log: for each cause, some lines are logged, and then one
// line per interval with the number of suppressed lines. A cause is a level and a message: messages are constant texts,
// and attributes carry the details. The package knows only log/slog.
package lograte

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

const (
	// Burst is how many lines of a cause are logged in an interval.
	Burst = 10
	// Interval is that of New, if it is not given another.
	Interval = 10 * time.Second
	// causesLimit is on the causes that are distinguished; the rest count as one.
	causesLimit = 256
)

// Handler passes records on to another handler. A record below [slog.LevelInfo] it does not limit: who asks for
// that wants all of it.
type Handler struct {
	inner  slog.Handler
	limits *limits // shared with what With made of it
}

var _ slog.Handler = (*Handler)(nil)

// limits are the known states of causes.
type limits struct {
	interval time.Duration

	mu     sync.Mutex // guards all below
	causes map[cause]*seen
	ended  bool
}

type cause struct {
	level   slog.Level
	message string
}

// seen is what came of a cause in its interval.
type seen struct {
	began time.Time
	shown int
	more  int
	last  slog.Record // of those that were not shown
	by    slog.Handler
	timer *time.Timer // reports them; nil: there are none
}

// New limits what goes to a handler, by this interval; 0: Interval.
func New(inner slog.Handler, interval time.Duration) *Handler {
	if interval == 0 {
		interval = Interval
	}
	return &Handler{inner, &limits{interval: interval, causes: map[cause]*seen{}}}
}

// Enabled implements [slog.Handler].
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

// WithAttrs implements [slog.Handler].
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{h.inner.WithAttrs(attrs), h.limits}
}

// WithGroup implements [slog.Handler].
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.inner.WithGroup(name), h.limits}
}

// Handle implements [slog.Handler].
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelInfo || h.limits.pass(h.inner, r) {
		return h.inner.Handle(ctx, r)
	}
	return nil
}

// pass reports whether a record is to be logged, and counts it if not.
func (l *limits) pass(by slog.Handler, r slog.Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return true
	}
	now := time.Now()
	s := l.of(cause{r.Level, r.Message}, now)
	if now.Sub(s.began) >= l.interval && s.more == 0 {
		s.began, s.shown = now, 0
	}
	if s.shown < Burst {
		s.shown++
		return true
	}
	s.more++
	s.last, s.by = r.Clone(), by
	if s.timer == nil {
		s.timer = time.AfterFunc(max(l.interval-now.Sub(s.began), 0), func() { l.tell(s) })
	}
	return false
}

// of is the known state of a cause. l.mu is held.
func (l *limits) of(c cause, now time.Time) *seen {
	if s := l.causes[c]; s != nil {
		return s
	}
	if len(l.causes) >= causesLimit {
		maps.DeleteFunc(l.causes, func(_ cause, s *seen) bool { return s.more == 0 && now.Sub(s.began) >= l.interval })
		if len(l.causes) >= causesLimit {
			c = cause{} // all others
			if s := l.causes[c]; s != nil {
				return s
			}
		}
	}
	s := &seen{began: now}
	l.causes[c] = s
	return s
}

// tell logs how many records of a cause were not shown.
func (l *limits) tell(s *seen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.more == 0 {
		return
	}
	r := s.last.Clone()
	r.AddAttrs(slog.Int("more_like_this", s.more), slog.Duration("within", l.interval))
	by := s.by
	*s = seen{began: time.Now(), shown: Burst} // while it continues, one line in an interval is enough
	_ = by.Handle(context.Background(), r)     // there is none to tell
}

// Flush logs what was counted and not told, and limits nothing from then on.
func (h *Handler) Flush() {
	l := h.limits
	l.mu.Lock()
	l.ended = true
	var all []*seen
	for _, s := range l.causes {
		all = append(all, s)
	}
	l.mu.Unlock()
	for _, s := range all {
		l.tell(s)
	}
}
