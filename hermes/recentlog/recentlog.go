// Package recentlog keeps the newest committed messages of all topics in memory, for
// the readers that follow them. A reader at the end gets messages from memory.
// A reader that has fallen behind gets them from a Read function (the log's), and
// returns to memory automatically, without a gap and without a duplicate: its
// position is one number, the next offset, wherever the bytes come from.
// The package knows no log, no Raft, no group and no name of a topic.
//
// # Bounds
//
// The bytes of all topics together are bounded; the oldest messages are dropped first. A limit for each topic would
// not help: with many topics their sum is unbounded, and a run that is kept for long keeps its whole Raft entry in
// memory. A reader holds at most the rest of one batch, or of one call of Read: a slow reader
// reads from disk, and delays neither the writer nor other readers.
package recentlog

import (
	"sync"
	"sync/atomic"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

const (
	defaultBytes   = 16 << 20
	defaultReaders = 100_000
	// batchCost is what a batch counts in addition to its bytes, so that empty ones are bounded too.
	batchCost = 128
	// mergeLimit is how many bytes of small runs become one batch. More would copy runs that are large enough to
	// be worth a separate delivery.
	mergeLimit = 16 << 10
	// tellMost is how many listeners Append tells itself, at some 200 ns each where they
	// wait. More are notified by a goroutine: they must not hold up all other topics' messages.
	tellMost = 64
)

// Options are a recent log's.
type Options struct {
	Bytes   int // of messages held, and 128 for each batch; 0: 16 MiB
	Readers int // open at once; 0: 100,000
	// Read gives messages of a topic that are no longer held: from an offset on and
	// before another, oldest first, at most limit bytes but one run at least. None
	// means that there are none between the two (they were trimmed), and a reader
	// passes over them. The first and the last batch may reach beyond the two.
	// Any goroutine calls it.
	Read func(topic uint32, offset, before uint64, limit int) ([]broker.Batch, error)
}

// Run is messages of one topic that were committed, in the form of broker.Run.
type Run struct {
	Topic    uint32
	Offset   uint64 // of the first
	Count    int
	Messages []byte // kept, so never changed again
	Time     int64  // Unix nanoseconds, of a run that has its own time; 0: that of its Append
}

// Log is the memory. Append is for one goroutine at a time, the rest for any.
type Log struct {
	read        func(topic uint32, offset, before uint64, limit int) ([]broker.Batch, error)
	bytesMost   int
	readersMost int

	missed, behind atomic.Uint64

	mu     sync.Mutex // guards all below, and each topic's listeners; taken before a topic's mu
	topics map[uint32]*topic
	// ends has the end of each topic that is not in topics. Who opens a topic may have
	// looked at its end long before, and what came since may have left memory already.
	ends    map[uint32]uint64
	held    ring[piece] // of all topics, as they came
	bytes   int
	readers int
	closed  error
	// Of the Append under way: the topics it brings messages of, and for each run the
	// next one of the same topic (-1: none). Kept so as not to be made each time.
	brought []*topic
	after   []int

	tellMost int      // tellMost, or a test's
	stirred  []*topic // whose listeners are to be told by rouse
	rousing  bool     // rouse runs
	wg       sync.WaitGroup
}

// piece is a batch in memory, as the bound sees it.
type piece struct {
	topic  *topic
	bytes  int
	pushed bool
}

// New makes an empty log.
func New(o Options) *Log {
	t := &Log{
		read: o.Read, bytesMost: o.Bytes, readersMost: o.Readers, topics: map[uint32]*topic{},
		ends: map[uint32]uint64{}, tellMost: tellMost,
	}
	if t.bytesMost == 0 {
		t.bytesMost = defaultBytes
	}
	if t.readersMost == 0 {
		t.readersMost = defaultReaders
	}
	return t
}

// Append takes the accepted runs of one applied entry, in order; runs is the caller's again afterwards, their
// Messages are not. Options.Read must find them already (wal.Applied comes first): a reader passes over what
// neither has. Small runs of one topic become one batch where a reader reads it: a frame for each of sixty runs
// of one message costs each reader more than a copy costs here.
func (t *Log) Append(time int64, runs []Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return
	}
	t.sort(runs)
	for _, p := range t.brought {
		p.mu.Lock()
		before := p.held.n
		p.take(time, runs, t.after)
		for i := before; i < p.held.n; i++ {
			t.hold(piece{topic: p, bytes: len(p.held.at(i).Messages) + batchCost})
		}
		p.mu.Unlock()
		// Not under the topic's mutex: whom it wakes wants that at once.
		t.stir(p)
		t.forget(p) // it brought nothing new
	}
	t.evict()
}

// sort chains the runs by topic, so that each topic is locked and its readers woken once.
func (t *Log) sort(runs []Run) {
	t.after = t.after[:0]
	clear(t.brought)
	t.brought = t.brought[:0]
	for i := range runs {
		t.after = append(t.after, -1)
		p := t.topic(runs[i].Topic)
		if p.first < 0 {
			p.first = i
			t.brought = append(t.brought, p)
		} else {
			t.after[p.last] = i
		}
		p.last = i
	}
}

// topic finds or makes a topic. With t.mu.
func (t *Log) topic(id uint32) *topic {
	p := t.topics[id]
	if p == nil {
		p = &topic{log: t, id: id, first: -1, end: t.ends[id]}
		t.topics[id] = p
		delete(t.ends, id)
	}
	return p
}

// hold counts what has come. With t.mu.
func (t *Log) hold(p piece) {
	t.held.push(p)
	t.bytes += p.bytes
}

// evict lets go of the oldest until the bound holds. With t.mu.
func (t *Log) evict() {
	for t.bytes > t.bytesMost {
		p := t.held.pop()
		t.bytes -= p.bytes
		p.topic.mu.Lock()
		p.topic.drop(p.pushed)
		p.topic.mu.Unlock()
		t.forget(p.topic)
	}
}

// forget removes a topic that holds nothing and has no one. With t.mu. Anyone who closes twice may name one
// that was forgotten, while another has its place.
func (t *Log) forget(p *topic) {
	if t.topics[p.id] != p || len(p.listeners) > 0 || p.held.n > 0 || p.pushed.n > 0 {
		return
	}
	delete(t.topics, p.id)
	if p.end > 0 && !p.ended {
		t.ends[p.id] = p.end
	}
}

// Push hands messages to the readers of a topic that were opened to get them, and to no other: mode
// Performance. messages is copied. seers is how many readers that are; with 0 nothing is kept. A pushed batch
// has Attempt 0 and no offset. A reader so slow that the batch left memory before it came by misses it: nothing
// waits for a reader (hb-D17).
func (t *Log) Push(topic uint32, time int64, messages []byte, count int) (seers int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.topics[topic]
	if p == nil || p.live == 0 || t.closed != nil {
		return 0
	}
	b := broker.Batch{Count: count, Time: time, Messages: append(make([]byte, 0, len(messages)), messages...)}
	p.mu.Lock()
	p.pushed.push(b)
	p.mu.Unlock()
	t.hold(piece{topic: p, bytes: len(b.Messages) + batchCost, pushed: true})
	seers = p.live
	t.stir(p)
	t.evict()
	return seers
}

// Open begins to read a topic at an offset, which may be beyond its end. next is the topic's next offset as far
// as Options.Read finds messages; a greater one that Append told counts. live asks for messages pushed from now
// on, too. ResourceExhausted: too many readers. Unavailable: closed.
func (t *Log) Open(topic uint32, offset, next uint64, live bool) (*Reader, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return nil, t.closed
	}
	if t.readers >= t.readersMost {
		return nil, status.Errorf(status.ResourceExhausted,
			"this node has all %d subscribers that it takes: subscribe at another", t.readers)
	}
	t.readers++
	p := t.topic(topic)
	r := &Reader{topic: p, live: live, wake: make(chan struct{}, 1)}
	r.offset.Store(offset)
	r.want = offset
	r.listener = p.listen(r.wake, r)
	p.readers++
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = max(p.end, next)
	if live {
		p.live++
		r.pushed = p.dropped + uint64(p.pushed.n)
	}
	return r, nil
}

// Watch has wake told, never blocking, whenever Append brings messages of a topic
// and when the topic ends, until stop. wake needs a place for one; several topics
// and other tellers may share it.
func (t *Log) Watch(topic uint32, wake chan<- struct{}) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.topic(topic)
	l := p.listen(wake, nil)
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		p.unlisten(l)
		t.forget(p)
	})
}

// End ends all readers of a topic with an error: it was deleted. It is forgotten.
func (t *Log) End(topic uint32, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.ends, topic)
	if p := t.topics[topic]; p != nil {
		p.ended = true
		t.end(p, err)
	}
}

// end ends a topic's readers and tells all. With t.mu.
func (t *Log) end(p *topic, err error) {
	p.wake()
	for i := len(p.listeners) - 1; i >= 0; i-- {
		if r := p.listeners[i].reader; r != nil {
			t.leave(r, err)
		}
	}
	t.forget(p)
}

// leave takes a reader away, once. With t.mu.
func (t *Log) leave(r *Reader, err error) {
	p := r.topic
	p.mu.Lock()
	gone := r.err != nil
	if !gone {
		r.err = err
	}
	p.mu.Unlock()
	if gone {
		return
	}
	p.unlisten(r.listener)
	p.readers--
	t.readers--
	if r.live {
		p.live--
	}
	tell(r.wake)
}

// Readers is how many readers a topic has.
func (t *Log) Readers(topic uint32) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.topics[topic]; p != nil {
		return p.readers
	}
	return 0
}

// Usage is what a log holds and has done.
type Usage struct {
	Readers int
	Bytes   int    // held, by the measure of Options.Bytes
	Missed  uint64 // pushed batches that left memory before a reader they were for came by
	Behind  uint64 // times that messages were read by Options.Read
}

// Usage tells.
func (t *Log) Usage() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Usage{Readers: t.readers, Bytes: t.bytes, Missed: t.missed.Load(), Behind: t.behind.Load()}
}

// Close ends all readers with an error, Unavailable for nil. Open fails with it
// from then on, and Append and Push do nothing.
func (t *Log) Close(err error) {
	if err == nil {
		err = status.Errorf(status.Unavailable, "the node is stopping: subscribe again, at another")
	}
	defer t.wg.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return
	}
	t.closed = err
	for _, p := range t.topics {
		t.end(p, err)
	}
}
