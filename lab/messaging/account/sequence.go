package account

import (
	"sync"
	"sync/atomic"
)

// The marks of a message. The lowest two bits are the phase in which it was sent.
const (
	phaseMask        = 3
	acknowledgedMark = 1 << 2
	unsure           = 1 << 3
)

// chunkSize is the number of messages whose marks are stored together.
const chunkSize = 1 << 14

// chunk holds the marks of consecutive messages. acked is how many of them are acknowledged.
type chunk struct {
	marks [chunkSize]atomic.Uint32
	acked atomic.Int64
}

// settled has one shared, read-only chunk for each phase. It replaces a chunk whose messages were all acknowledged,
// were sent in one phase and have arrived at all groups: their state can no longer change. So a run of hours needs
// memory only for messages under way.
var settled = func() (all [After + 1]*chunk) {
	for p := range all {
		all[p] = &chunk{}
		all[p].acked.Store(chunkSize)
		for i := range all[p].marks {
			all[p].marks[i].Store(uint32(p) | acknowledgedMark)
		}
	}
	return all
}()

// sequence is a series of messages. One goroutine writes it. Any goroutine may mark messages that were written, or
// read their state.
type sequence struct {
	topic  int
	sent   atomic.Uint64
	mu     sync.Mutex               // serializes the replacement of chunks
	chunks atomic.Pointer[[]*chunk] // copied on change, so that readers need no lock
}

func newSequence(topic int) *sequence {
	l := &sequence{topic: topic}
	l.chunks.Store(&[]*chunk{})
	return l
}

// write adds the next message, which is about to be sent.
func (l *sequence) write(number uint64, p Phase) {
	if number%chunkSize == 0 {
		l.replace(func(all []*chunk) []*chunk { return append(all, new(chunk)) })
	}
	l.at(number).Store(uint32(p))
	l.sent.Store(number + 1) // last: a goroutine that sees the number finds its marks
}

// replace changes a copy of the list of chunks, and publishes it.
func (l *sequence) replace(change func([]*chunk) []*chunk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := change(append([]*chunk(nil), *l.chunks.Load()...))
	l.chunks.Store(&all)
}

func (l *sequence) chunk(of int) *chunk { return (*l.chunks.Load())[of] }

func (l *sequence) at(number uint64) *atomic.Uint32 {
	return &l.chunk(int(number / chunkSize)).marks[number%chunkSize]
}

func (l *sequence) mark(number uint64, m uint32) { l.at(number).Or(m) }

// acknowledge marks a message as acknowledged, and reports whether its whole chunk now is.
func (l *sequence) acknowledge(number uint64) (full bool) {
	c := l.chunk(int(number / chunkSize))
	c.marks[number%chunkSize].Or(acknowledgedMark)
	return c.acked.Add(1) == chunkSize
}

func (l *sequence) state(number uint64) uint32 { return l.at(number).Load() }

// settle releases a chunk's memory if all its messages are acknowledged and were sent in one phase. Otherwise it
// returns false.
func (l *sequence) settle(of int) bool {
	c := l.chunk(of)
	if c.acked.Load() != chunkSize {
		return false
	}
	first := c.marks[0].Load()
	for i := range c.marks {
		if c.marks[i].Load() != first {
			return false // sent in two phases: only the few chunks in which a phase changed
		}
	}
	l.replace(func(all []*chunk) []*chunk {
		all[of] = settled[first&phaseMask]
		return all
	})
	return true
}

// excused reports whether a message may arrive again or late. That is so in two cases. The message was sent before a
// disturbance ended, the disturbance has begun, and the message is not among the first dealt ones, which readers had
// finished by then. Or its sender never learned whether the broker took it.
func (l *sequence) excused(number, dealt uint64, now Phase) bool {
	state := l.state(number)
	return now >= During && Phase(state&phaseMask) <= During && number >= dealt || state&unsure != 0
}
