package relay

import "sync/atomic"

// ring holds bytes in the order in which they came. One goroutine adds, one
// takes; the flow's mutex is held for every method. The bytes themselves are
// written and read without it: what was added is not touched until it is
// taken, and what is free not until it was added.
type ring struct {
	data       []byte // length a power of two; nil at first
	head, used int
}

// space returns where the next bytes may be put, at least one; nil if the ring
// is full and may not grow. memory counts the bytes of all rings.
func (r *ring) space(memory *atomic.Int64) []byte {
	if r.used == len(r.data) && !r.grow(memory) {
		return nil
	}
	tail := (r.head + r.used) & (len(r.data) - 1)
	if tail < r.head {
		return r.data[tail:r.head]
	}
	return r.data[tail:]
}

// grow doubles the ring, within what one and all may hold.
func (r *ring) grow(memory *atomic.Int64) bool {
	more := max(len(r.data), ringMin)
	if len(r.data)+more > flowMax {
		return false
	}
	if memory.Add(int64(more)) > memoryMax && len(r.data) > 0 {
		memory.Add(-int64(more))
		return false
	}
	// The old one may be being read from: it stays as it is.
	data := make([]byte, len(r.data)+more)
	n := copy(data, r.data[r.head:min(r.head+r.used, len(r.data))])
	copy(data[n:], r.data[:r.used-n])
	r.data, r.head = data, 0
	return true
}

// front returns the first bytes, in two pieces where they lie so.
func (r *ring) front(bytes int) (first, second []byte) {
	end := r.head + bytes
	if end <= len(r.data) {
		return r.data[r.head:end], nil
	}
	return r.data[r.head:], r.data[:end-len(r.data)]
}

// take forgets the first bytes.
func (r *ring) take(bytes int) {
	if len(r.data) > 0 {
		r.head = (r.head + bytes) & (len(r.data) - 1)
	}
	r.used -= bytes
}

// free gives the ring's memory back.
func (r *ring) free(memory *atomic.Int64) {
	memory.Add(-int64(len(r.data)))
	*r = ring{}
}
