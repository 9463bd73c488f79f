package relay

import "sync/atomic"

// ring is a ring buffer. One goroutine adds bytes and one takes them; the flow's mutex must be held for every method.
// The bytes themselves are written and read without it: added bytes are not changed until they are taken, and free
// space is not read until bytes are added.
type ring struct {
	data       []byte // length a power of two; nil at first
	head, used int
}

// space returns where the next bytes can be stored, at least one; nil if the ring is full and may not grow. memory
// counts the bytes of all rings.
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

// grow doubles the ring, within the limits for one ring and for all.
func (r *ring) grow(memory *atomic.Int64) bool {
	more := max(len(r.data), ringMin)
	if len(r.data)+more > flowMax {
		return false
	}
	if memory.Add(int64(more)) > memoryMax && len(r.data) > 0 {
		memory.Add(-int64(more))
		return false
	}
	// The old array may be in use by a reader, so it must not change.
	data := make([]byte, len(r.data)+more)
	n := copy(data, r.data[r.head:min(r.head+r.used, len(r.data))])
	copy(data[n:], r.data[:r.used-n])
	r.data, r.head = data, 0
	return true
}

// front returns the first bytes, in two slices if they wrap around.
func (r *ring) front(bytes int) (first, second []byte) {
	end := r.head + bytes
	if end <= len(r.data) {
		return r.data[r.head:end], nil
	}
	return r.data[r.head:], r.data[:end-len(r.data)]
}

// take removes the first bytes.
func (r *ring) take(bytes int) {
	if len(r.data) > 0 {
		r.head = (r.head + bytes) & (len(r.data) - 1)
	}
	r.used -= bytes
}

// free releases the ring's memory.
func (r *ring) free(memory *atomic.Int64) {
	memory.Add(-int64(len(r.data)))
	*r = ring{}
}
