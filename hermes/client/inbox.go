package client

import (
	"wirelab/hermes"
	"wirelab/hermes/record"
)

// inbox is messages that are not in their queues yet, in the order in which they came. Under the writer's lock.
//
// With ten thousand topics each message goes to memory that no cache has: its queue in the map, the queue, its
// open run, the end of that run. One message at a time waits for each of these in turn. Many at a time wait for
// all of them at once, since the processor goes ahead as long as one read does not need another (group
// prefetching: S. Chen et al., Improving Hash Join Performance through Prefetching, 2004).
type inbox struct {
	bytes []byte // of all, one behind the other, as record has them
	slips []slip
	near  int // what was read only to have it near
}

// slip is the known state of a message but its bytes.
type slip struct {
	key    queueKey
	queue  *sendQueue
	end    int // of its bytes
	weight int64
	done   func(Receipt, error)
}

// Bounds of an inbox. The memory touched for so many messages fits a processor's second cache.
const (
	inboxMessages = 256
	inboxBytes    = 64 << 10
)

// put takes a message in, and reports whether the inbox is full.
func (in *inbox) put(key queueKey, m *hermes.Message, weight int64, done func(Receipt, error)) bool {
	in.bytes = record.AppendMessage(in.bytes, m)
	in.slips = append(in.slips, slip{key: key, end: len(in.bytes), weight: weight, done: done})
	return len(in.slips) >= inboxMessages || len(in.bytes) >= inboxBytes
}

// touch reads what the messages will be written behind.
func (in *inbox) touch() {
	near := 0
	for i := range in.slips {
		r := in.slips[i].queue.open
		if r == nil {
			continue
		}
		if n := len(r.messages); n > 0 {
			near += int(r.messages[n-1])
		}
		if n := len(r.done); n > 0 && r.done[n-1] == nil {
			near++
		}
	}
	in.near = near // else nothing would be read
}

// empty leaves nothing, and does not keep the room that a large message took.
func (in *inbox) empty() {
	clear(in.slips) // callbacks
	in.bytes, in.slips = in.bytes[:0], in.slips[:0]
	if cap(in.bytes) > 2*inboxBytes {
		in.bytes = nil
	}
}

// spread puts the inbox's messages into its queues. w.mu is held.
func (w *writer) spread() {
	in := &w.inbox
	for i := range in.slips {
		s := &in.slips[i]
		if s.queue = w.queues[s.key]; s.queue == nil {
			s.queue = &sendQueue{key: s.key, next: 1}
			w.queues[s.key] = s.queue
		}
	}
	if len(in.slips) > 1 {
		in.touch()
	}
	begin := 0
	for i := range in.slips {
		s := &in.slips[i]
		if s.queue.add(in.bytes[begin:s.end], s.weight, &w.c.options, s.done) {
			w.lingers(s.queue)
		}
		begin = s.end
		w.enlist(s.queue)
	}
	if len(in.slips) > 0 {
		in.empty()
	}
}
