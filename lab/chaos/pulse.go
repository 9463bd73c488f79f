package chaos

import (
	"sync"
	"time"
)

// pulse watches the last seconds of a run while it lasts. With it a run ends as soon as all has been well again for a
// while, rather than after its longest time. The figures of a report are computed from the entries afterwards.
type pulse struct {
	limit int64

	mu    sync.Mutex // guards beats
	beats [pulseBeats]beat
}

// pulseBeats is how many seconds are kept. It is more than calm looks at.
const pulseBeats = 8

// beat counts one second: replies and stored entries, and how many of each were too late or failed.
type beat struct {
	at                           int64 // Unix seconds
	answered, bad, stored, stale int
}

// beat returns the one of a time. p.mu must be held.
func (p *pulse) beat(at int64) *beat {
	s := at / int64(time.Second)
	b := &p.beats[s%pulseBeats]
	if b.at < s {
		*b = beat{at: s}
	}
	return b
}

// answer counts a reply to an entry that was due at a time.
func (p *pulse) answer(due, at int64, refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.beat(at)
	b.answered++
	if refused || at-due > p.limit {
		b.bad++
	}
}

// store counts an entry that was stored.
func (p *pulse) store(due, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.beat(at)
	b.stored++
	if at-due > p.limit {
		b.stale++
	}
}

// calmFor is how many whole seconds in a row make a run calm. The current second and the one before it do not count,
// since journals are read a little after they are written.
const calmFor = 3

// calm reports whether the last seconds met the objective.
func (p *pulse) calm(now int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := now/int64(time.Second) - 1
	for i := s - calmFor; i < s; i++ {
		b := &p.beats[i%pulseBeats]
		if b.at != i || b.answered == 0 || b.stored == 0 || many(b.bad, b.answered) || many(b.stale, b.stored) {
			return false
		}
	}
	return true
}
