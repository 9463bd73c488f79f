package chaos

import (
	"sync"
	"time"
)

// pulse is how the last seconds went, while they go: by it a run ends as soon as
// all has been well again for a while, instead of after the longest that it may
// take. What is told of a run is reckoned from its entries afterwards.
type pulse struct {
	limit int64

	mu    sync.Mutex // guards beats
	beats [pulseBeats]beat
}

// pulseBeats are more seconds than are asked about.
const pulseBeats = 8

// beat is a second: what was answered and what was stored in it, and how much of
// it too late or not at all.
type beat struct {
	at                           int64 // Unix seconds
	answered, bad, stored, stale int
}

// beat is that of a time; p.mu is held.
func (p *pulse) beat(at int64) *beat {
	s := at / int64(time.Second)
	b := &p.beats[s%pulseBeats]
	if b.at < s {
		*b = beat{at: s}
	}
	return b
}

// answer takes down an answer to an entry that was due at a time.
func (p *pulse) answer(due, at int64, refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.beat(at)
	b.answered++
	if refused || at-due > p.limit {
		b.bad++
	}
}

// store takes down that an entry was stored.
func (p *pulse) store(due, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.beat(at)
	b.stored++
	if at-due > p.limit {
		b.stale++
	}
}

// calmFor is how many whole seconds in a row make a calm, the one under way and
// the one before it aside: journals are read a little later than they are written.
const calmFor = 3

// calm reports whether all was within the objective of late.
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
