package account

import (
	"sync"
	"sync/atomic"
)

// The marks of a message, as its lane keeps them. The lowest bits are the phase in
// which it was sent.
const (
	phaseMask        = 3
	acknowledgedMark = 1 << 2
	unsure           = 1 << 3
)

// chunkSize is how many messages' marks lie together.
const chunkSize = 1 << 14

// chunk is the marks of messages that follow one another, acked how many of them are
// acknowledged.
type chunk struct {
	marks [chunkSize]atomic.Uint32
	acked atomic.Int64
}

// settled are what stands for chunks whose messages were all acknowledged, in one
// phase, and have arrived at all audiences: nothing more can be said of them, so that a
// run of hours takes the memory of what is under way. Nobody writes to them.
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

// sequence is a series of messages. One goroutine writes; any may mark and read what
// is written.
type sequence struct {
	topic  int
	sent   atomic.Uint64
	mu     sync.Mutex               // of who replaces chunks
	chunks atomic.Pointer[[]*chunk] // replaced when it changes, so that readers need no lock
}

func newSequence(topic int) *sequence {
	l := &sequence{topic: topic}
	l.chunks.Store(&[]*chunk{})
	return l
}

// write notes that the next message is about to be sent.
func (l *sequence) write(number uint64, p Phase) {
	if number%chunkSize == 0 {
		l.replace(func(all []*chunk) []*chunk { return append(all, new(chunk)) })
	}
	l.at(number).Store(uint32(p))
	l.sent.Store(number + 1) // last: whoever sees the number finds its marks
}

// replace puts other chunks in the place of those there are, of which it is given a copy.
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

// acknowledge marks a message as acknowledged, and reports whether its chunk is full of such.
func (l *sequence) acknowledge(number uint64) (full bool) {
	c := l.chunk(int(number / chunkSize))
	c.marks[number%chunkSize].Or(acknowledgedMark)
	return c.acked.Add(1) == chunkSize
}

func (l *sequence) state(number uint64) uint32 { return l.at(number).Load() }

// settle lets a chunk's memory go if all its messages are acknowledged and were sent in
// one phase; false if not.
func (l *sequence) settle(of int) bool {
	c := l.chunk(of)
	if c.acked.Load() != chunkSize {
		return false
	}
	first := c.marks[0].Load()
	for i := range c.marks {
		if c.marks[i].Load() != first {
			return false // two phases, of which there are few such chunks
		}
	}
	l.replace(func(all []*chunk) []*chunk {
		all[of] = settled[first&phaseMask]
		return all
	})
	return true
}

// excused reports whether a message may come again or late: it was sent before a
// disturbance was over, and that has begun, and it is none of the first that had been
// dealt with for good by then; or nobody could tell its sender whether it was taken.
func (l *sequence) excused(number, dealt uint64, now Phase) bool {
	state := l.state(number)
	return now >= During && Phase(state&phaseMask) <= During && number >= dealt || state&unsure != 0
}
