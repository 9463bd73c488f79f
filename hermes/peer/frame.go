package peer

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// A fragment is
//
//	crc(u32 LE: CRC32C of all that follows) length(u32 LE) rest(u32 LE) kind(1 byte) lane(1 byte) bytes(length)
//
// and rest says how many bytes of the frame come in the queue's next fragments.
const (
	headBytes     = 14
	fragmentBytes = 64 << 10 // what one queue sends before another may
	// frameLimit is on a frame that is read: a snapshot with as many producers as may be stays below. Announced
	// bytes are allocated as it comes, not before.
	frameLimit = 1 << 30
	growBytes  = 2 << 20
)

// queue is one of the queues that take turns on a connection.
type queue uint8

const (
	queueControl  queue = iota // signs of life: before all else
	queueRaft                  // all of Raft but snapshots
	queueCall                  // requests, their answers, feeds
	queueSnapshot              // MsgSnap
	queues
)

// kind says what a frame holds.
type kind uint8

const (
	kindHello kind = iota + 1
	kindAlive
	kindRaft
	kindPublish
	kindVerdict
	kindCall
	kindReply
	kindCancel
	kindSubscribe
	kindCredit
	kindBatch
	kindEnded
	kindClose
)

// kindGap goes before the batch that it is reported with, to a node whose hello says that it knows more than
// none. It is so far from the others that kinds may be added next to it.
const kindGap kind = 32

// frame is what waits to be sent. Its bytes are head and then tail, or a Raft
// message, which is put into bytes only when its turn comes, by the goroutine that writes.
type frame struct {
	kind       kind
	queue      queue
	head, tail []byte
	raft       *raftpb.Message
	size       int // about, for the queue's bound
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// outbox is what waits on one connection, by queue. It has no bound: the sender of each kind of frame has one.
type outbox struct {
	mu     sync.Mutex
	queues [queues]fifo
	closed bool
	wake   chan struct{} // of capacity 1
}

// fifo is the frames of a queue; those before at are gone.
type fifo struct {
	frames []frame
	at     int
	bytes  int
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put queues a frame, unless the outbox is closed or, with a limit, the queue holds something already and would
// hold more than that many bytes.
func (o *outbox) put(f frame, limit int) bool {
	if f.raft == nil {
		f.size = headBytes + len(f.head) + len(f.tail)
	}
	o.mu.Lock()
	q := &o.queues[f.queue]
	if o.closed || limit > 0 && q.bytes > 0 && q.bytes+f.size > limit {
		o.mu.Unlock()
		return false
	}
	if q.at > 1024 && q.at > len(q.frames)/2 {
		q.frames, q.at = append(q.frames[:0], q.frames[q.at:]...), 0
	}
	q.frames = append(q.frames, f)
	q.bytes += f.size
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default: // it is going to look anyway
	}
	return true
}

// take gives the queue's oldest frame.
func (o *outbox) take(l queue) (f frame, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := &o.queues[l]
	if q.at == len(q.frames) {
		return frame{}, false
	}
	f = q.frames[q.at]
	q.frames[q.at] = frame{}
	q.at++
	q.bytes -= f.size
	if q.at == len(q.frames) {
		q.frames, q.at = q.frames[:0], 0
		if cap(q.frames) > 4096 {
			q.frames = nil // a burst does not keep its room for ever
		}
	}
	return f, true
}

// close makes put refuse and gives back what was never sent.
func (o *outbox) close() (left []frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for l, q := range o.queues {
		left = append(left, q.frames[q.at:]...)
		o.queues[l] = fifo{}
	}
	return left
}

// sending is the frame of a queue that is partly written.
type sending struct {
	frame frame
	parts [2][]byte
	rest  int
}

// writer writes an outbox to a connection. For one goroutine.
type writer struct {
	w       *bufio.Writer
	now     [queues]*sending
	slots   [queues]sending
	scratch []byte // a Raft message in wire form; one at a time of laneRaft
	sent    func(frame)
}

// run writes until stop is closed or a write fails.
func (w *writer) run(o *outbox, stop <-chan struct{}) error {
	for {
		worked, err := w.round(o)
		if err != nil {
			return err
		}
		if worked {
			continue
		}
		if err := w.w.Flush(); err != nil {
			return err
		}
		select {
		case <-o.wake:
		case <-stop:
			return nil
		}
	}
}

// round writes one fragment of each queue that has something.
func (w *writer) round(o *outbox) (worked bool, err error) {
	for l := range queues {
		if w.now[l] == nil {
			f, ok := o.take(l)
			if !ok {
				continue
			}
			if err := w.begin(l, f); err != nil {
				return false, err
			}
		}
		worked = true
		if err := w.fragment(l); err != nil {
			return false, err
		}
	}
	return worked, nil
}

func (w *writer) begin(l queue, f frame) error {
	s := &w.slots[l]
	s.frame, s.parts = f, [2][]byte{f.head, f.tail}
	if f.raft != nil {
		var to []byte
		if l == queueRaft {
			to = w.scratch[:0]
		}
		data, err := proto.MarshalOptions{}.MarshalAppend(to, f.raft)
		if err != nil {
			return fmt.Errorf("raft message: %w", err)
		}
		if l == queueRaft && cap(data) <= 4<<20 {
			w.scratch = data
		}
		s.parts = [2][]byte{data, nil}
	}
	s.rest = len(s.parts[0]) + len(s.parts[1])
	if s.rest > frameLimit {
		return fmt.Errorf("a frame of kind %d has %d bytes; at most %d are allowed", f.kind, s.rest, frameLimit)
	}
	w.now[l] = s
	return nil
}

// fragment writes the next fragment of a queue's frame.
func (w *writer) fragment(l queue) error {
	s := w.now[l]
	n := min(s.rest, fragmentBytes)
	first := s.parts[0][:min(n, len(s.parts[0]))]
	second := s.parts[1][:n-len(first)]
	s.parts[0], s.parts[1] = s.parts[0][len(first):], s.parts[1][len(second):]
	s.rest -= n

	var head [headBytes]byte
	binary.LittleEndian.PutUint32(head[4:], uint32(n))
	binary.LittleEndian.PutUint32(head[8:], uint32(s.rest))
	head[12], head[13] = byte(s.frame.kind), byte(l)
	sum := crc32.Update(0, castagnoli, head[4:])
	sum = crc32.Update(sum, castagnoli, first)
	sum = crc32.Update(sum, castagnoli, second)
	binary.LittleEndian.PutUint32(head[:], sum)
	for _, part := range [][]byte{head[:], first, second} {
		if _, err := w.w.Write(part); err != nil {
			return err
		}
	}
	if s.rest == 0 {
		w.now[l] = nil
		f := s.frame
		*s = sending{}
		if w.sent != nil {
			w.sent(f)
		}
	}
	return nil
}

// reader reads frames. For one goroutine.
type reader struct {
	r       *bufio.Reader
	most    int // bytes of a frame; 0: frameLimit
	pending [queues]pending
}

// pending is a frame of which fragments are to come.
type pending struct {
	kind kind
	body []byte
	rest int
}

// next gives the next whole frame; its bytes are the caller's. Whatever is not a frame is an error that ends
// the connection: nothing after it can be trusted.
func (r *reader) next() (kind, []byte, error) {
	for {
		var head [headBytes]byte
		if _, err := io.ReadFull(r.r, head[:]); err != nil {
			return 0, nil, err
		}
		length := int(binary.LittleEndian.Uint32(head[4:]))
		rest := int(binary.LittleEndian.Uint32(head[8:]))
		k, l := kind(head[12]), queue(head[13])
		if l >= queues || length > fragmentBytes || rest > cmp.Or(r.most, frameLimit) || rest > 0 && length == 0 {
			return 0, nil, fmt.Errorf("not a fragment: kind %d, queue %d, %d bytes, %d to come", k, l, length, rest)
		}
		p := &r.pending[l]
		switch {
		case p.rest == 0:
			p.kind, p.body = k, make([]byte, 0, min(length+rest, growBytes))
		case p.kind != k || p.rest != length+rest:
			return 0, nil, fmt.Errorf("fragment of kind %d with %d bytes follows one of kind %d with %d to come", k,
				length+rest,
				p.kind, p.rest)
		}
		p.body = grow(p.body, length, rest)
		at := len(p.body)
		p.body = p.body[:at+length]
		if _, err := io.ReadFull(r.r, p.body[at:]); err != nil {
			return 0, nil, err
		}
		sum := crc32.Update(crc32.Update(0, castagnoli, head[4:]), castagnoli, p.body[at:])
		if sum != binary.LittleEndian.Uint32(head[:]) {
			return 0, nil, fmt.Errorf("fragment of kind %d with %d bytes was damaged on its way", k, length)
		}
		if p.rest = rest; rest == 0 {
			body := p.body
			p.body = nil
			return k, body, nil
		}
	}
}

// grow makes room for length more bytes, and for more if rest is to come, but
// never for more than twice what was really sent.
func grow(b []byte, length, rest int) []byte {
	if cap(b)-len(b) >= length {
		return b
	}
	bigger := make([]byte, len(b), max(len(b)+length, min(2*len(b), len(b)+length+rest)))
	copy(bigger, b)
	return bigger
}
