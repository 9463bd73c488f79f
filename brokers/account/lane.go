package account

import "sync/atomic"

// The marks of a message, as its lane keeps them. The lowest bits are the phase in
// which it was sent.
const (
	phaseMask        = 3
	acknowledgedMark = 1 << 2
	unsure           = 1 << 3
)

// chunkSize is how many messages' marks lie together.
const chunkSize = 1 << 14

type chunk [chunkSize]atomic.Uint32

// lane is a series of messages. One goroutine writes; any may mark and read what
// is written.
type lane struct {
	topic  int
	sent   atomic.Uint64
	chunks atomic.Pointer[[]*chunk] // replaced when it grows, so that readers need no lock
}

func newLane(topic int) *lane {
	l := &lane{topic: topic}
	l.chunks.Store(&[]*chunk{})
	return l
}

// write notes that the next message is about to be sent.
func (l *lane) write(number uint64, p Phase) {
	if number%chunkSize == 0 {
		grown := append(append([]*chunk(nil), *l.chunks.Load()...), new(chunk))
		l.chunks.Store(&grown)
	}
	l.at(number).Store(uint32(p))
	l.sent.Store(number + 1) // last: whoever sees the number finds its marks
}

func (l *lane) at(number uint64) *atomic.Uint32 {
	return &(*l.chunks.Load())[number/chunkSize][number%chunkSize]
}

func (l *lane) mark(number uint64, m uint32) { l.at(number).Or(m) }

func (l *lane) state(number uint64) uint32 { return l.at(number).Load() }

// excused reports whether a message may come again or late: it was sent before a
// disturbance was over, and that has begun; or nobody could tell its sender whether
// it was taken.
func (l *lane) excused(number uint64, now Phase) bool {
	state := l.state(number)
	return now >= During && Phase(state&phaseMask) <= During || state&unsure != 0
}
