package relay

import (
	"math/rand/v2"
	"sync"
	"time"

	"wirelab/lab/network"
)

// The header bytes of a packet on the link: IPv4 with TCP or UDP, without options and without the Ethernet frame.
const (
	headTCP = 40
	headUDP = 28
)

// way is one direction of the path, shared by all connections.
type way struct {
	spec network.Spec
	// buffer is how long a packet may wait for the link: a round trip, which is usual, and at least the time for
	// bufferMin bytes. A UDP packet that does not fit is dropped; TCP does not send it yet.
	buffer time.Duration

	mu   sync.Mutex // guards free
	free int64      // when the link will have sent everything that it was given
}

// bufferMin is twice the burst that a sender may hand over at the same time.
const bufferMin = 128 << 10

func (w *way) open(spec network.Spec) {
	w.spec = spec
	if spec.Bandwidth > 0 {
		w.buffer = max(spec.RTT, w.takes(bufferMin))
	}
}

// takes returns how long the link takes to send bytes.
func (w *way) takes(bytes int) time.Duration {
	if w.spec.Bandwidth == 0 {
		return 0
	}
	// 100 Gbit/s are 12.5 bytes per nanosecond. Round up, so that rounding does not make the link faster.
	bits := int64(bytes) * 8
	whole := bits / w.spec.Bandwidth * int64(time.Second)
	rest := bits % w.spec.Bandwidth // < 1e11; times 1e9 it would overflow
	return time.Duration(whole + int64(float64(rest)/float64(w.spec.Bandwidth)*1e9) + 1)
}

// send gives the link a packet and returns when it will have left. ok is false if the buffer is full; at is then when
// there is room.
func (w *way) send(now int64, bytes int) (at int64, ok bool) {
	if w.spec.Bandwidth == 0 {
		return now, true
	}
	takes := int64(w.takes(bytes))
	w.mu.Lock()
	defer w.mu.Unlock()
	if full := w.free - int64(w.buffer); full > now {
		return full, false
	}
	w.free = max(w.free, now) + takes
	return w.free, true
}

// delay draws the time that a packet takes after it has left: half a round trip, and jitter that is spread evenly over
// its range.
func (w *way) delay(r *rand.Rand) int64 {
	d := int64(w.spec.RTT / 2)
	if w.spec.Jitter > 0 {
		d += r.Int64N(int64(w.spec.Jitter)+1) - int64(w.spec.Jitter)/2
	}
	return max(d, 0)
}

// lost draws whether a packet is lost.
func (w *way) lost(r *rand.Rand) bool { return w.spec.Loss > 0 && r.Float64() < w.spec.Loss }
