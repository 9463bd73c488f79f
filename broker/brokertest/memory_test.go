package brokertest

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
)

// memory is the simplest broker that keeps the contract, and breaks it in the way that fault selects. It shows that
// the suite can be passed, and that it detects each fault.
type memory struct {
	fault fault

	mu      sync.Mutex // guards all below, and its queues
	away    bool
	changed chan struct{} // closed and replaced at every change
	queues  map[string]*memoryQueue
}

// fault is how a broken broker breaks the contract.
type fault int

const (
	none fault = iota
	losesOne
	doublesOne
	swapsTwo
	altersBody
	takesAnyID
	givesOneMore
	triesOnceMore
	triesOnceLess
	forgetsBody
	retriesHopeless
	blocksWhileOneWaits
	blamesTheCancelled
	doesNotWaitForHandlers
	keepsTheKilled
	believesTheDead
	forgetsAtKill
	forgetsLetters
	buffersAnything
	failsWhileAway
	missesDeadline
	makesQueues
	ignoresContext
	givesLettersTwice
	leavesGoroutine
	alwaysConsumes
	neverConsumes
)

type memoryQueue struct {
	kind  workqueue.Kind
	ready []*item
	held  map[*item]*memoryBroker
	later int // waiting for their next attempt
	dead  []workqueue.Message
	stash *item // held back by a broker that swaps
}

type item struct {
	workqueue.Message
	deliveries, failures int
}

func newMemory(f fault) *memory {
	return &memory{fault: f, changed: make(chan struct{}), queues: map[string]*memoryQueue{}}
}

// tell wakes all who wait; s.mu is held.
func (s *memory) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *memory) server(patience time.Duration) *Server {
	return &Server{
		Kinds: []workqueue.Kind{workqueue.Stream}, Patience: patience,
		Open: func(context.Context) (workqueue.Queues, error) { return &memoryBroker{memory: s}, nil },
		Doomed: func(context.Context) (workqueue.Queues, func(), error) {
			b := &memoryBroker{memory: s}
			return b, b.sever, nil
		},
		Kill:   func(context.Context) error { s.kill(); return nil },
		Revive: func(context.Context) error { s.mu.Lock(); defer s.mu.Unlock(); s.away = false; s.tell(); return nil },
	}
}

func (s *memory) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = true
	for _, q := range s.queues {
		q.release(func(*memoryBroker) bool { return true })
		if s.fault == forgetsAtKill && len(q.ready) > 0 {
			q.ready = q.ready[:len(q.ready)-1]
		}
		if s.fault == forgetsLetters {
			q.dead = nil
		}
	}
	s.tell()
}

// release returns the messages that those consumers hold to the queue.
func (q *memoryQueue) release(whose func(*memoryBroker) bool) {
	for it, holder := range q.held {
		if whose(holder) {
			delete(q.held, it)
			q.ready = slices.Insert(q.ready, 0, it)
		}
	}
}

type memoryBroker struct {
	*memory
	severed, closed bool // guarded by memory.mu
	taking          int  // consumers of any queue; guarded likewise
}

func (b *memoryBroker) Consuming(workqueue.Options) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.fault {
	case alwaysConsumes:
		return true
	case neverConsumes:
		return false
	}
	return b.taking > 0 && !b.away && !b.severed
}

func (b *memoryBroker) sever() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.severed = true
	for _, q := range b.queues {
		if b.fault != keepsTheKilled {
			q.release(func(h *memoryBroker) bool { return h == b })
		}
	}
	b.tell()
}

func (b *memoryBroker) Name() string { return "memory" }

func (b *memoryBroker) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.fault == leavesGoroutine {
		go func() { select {} }()
	}
	b.tell()
	return nil
}

// reach waits until the server can be reached. If it returns nil, the caller holds mu.
func (b *memoryBroker) reach(ctx context.Context, o workqueue.Options) error {
	if err := o.Complete().Validate(); err != nil {
		return err
	}
	b.mu.Lock()
	for {
		if b.closed {
			b.mu.Unlock()
			return wirelab.Errorf(wirelab.Unavailable, "closed")
		}
		if ctx.Err() != nil && b.fault != ignoresContext {
			away := b.away || b.severed
			b.mu.Unlock()
			if away && wirelab.CodeOf(ctx.Err()) == wirelab.DeadlineExceeded && b.fault != missesDeadline {
				return wirelab.Errorf(wirelab.Unavailable, "away")
			}
			return ctx.Err()
		}
		if !b.away && !b.severed {
			return nil
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		b.mu.Lock()
	}
}

// find is reach, then looks up the queue.
func (b *memoryBroker) find(ctx context.Context, o workqueue.Options) (*memoryQueue, error) {
	if err := b.reach(ctx, o); err != nil {
		return nil, err
	}
	q := b.queues[o.Name]
	if q == nil && b.fault == makesQueues {
		q = &memoryQueue{kind: o.Kind, held: map[*item]*memoryBroker{}}
		b.queues[o.Name] = q
	}
	if q == nil {
		b.mu.Unlock()
		return nil, wirelab.Errorf(wirelab.NotFound, "no queue %q", o.Name)
	}
	return q, nil
}

func (b *memoryBroker) Declare(ctx context.Context, o workqueue.Options) error {
	if o.Kind != "" && o.Kind != workqueue.Stream && o.Kind != "topic" {
		return wirelab.Errorf(wirelab.Unimplemented, "no %s here", o.Kind)
	}
	if err := b.reach(ctx, o); err != nil {
		return err
	}
	defer b.mu.Unlock()
	if b.queues[o.Name] == nil {
		b.queues[o.Name] = &memoryQueue{kind: o.Kind, held: map[*item]*memoryBroker{}}
	}
	return nil
}

func (b *memoryBroker) Delete(ctx context.Context, o workqueue.Options) error {
	if err := b.reach(ctx, o); err != nil {
		return err
	}
	defer b.mu.Unlock()
	delete(b.queues, o.Name)
	return nil
}

func (b *memoryBroker) Depth(ctx context.Context, o workqueue.Options) (waiting, dead int, err error) {
	q, err := b.find(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	defer b.mu.Unlock()
	return len(q.ready) + len(q.held) + q.later, len(q.dead), nil
}

func (b *memoryBroker) Dead(ctx context.Context, o workqueue.Options, limit int) ([]workqueue.Message, error) {
	q, err := b.find(ctx, o)
	if err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	n := min(limit, len(q.dead))
	letters := slices.Clone(q.dead[:n])
	if b.fault != givesLettersTwice {
		q.dead = q.dead[n:]
	}
	return letters, nil
}

func (b *memoryBroker) Publisher(ctx context.Context, o workqueue.Options) (workqueue.Publisher, error) {
	if _, err := b.find(ctx, o); err != nil {
		return nil, err
	}
	b.mu.Unlock()
	return &memoryPublisher{memoryBroker: b, options: o}, nil
}

type memoryPublisher struct {
	*memoryBroker
	options workqueue.Options
	waiting int  // guarded by memory.mu
	done    bool // guarded by memory.mu
}

func (p *memoryPublisher) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	return nil
}

func (p *memoryPublisher) Publish(ctx context.Context, m workqueue.Message) (workqueue.Receipt, error) {
	if err := workqueue.Check(m); err != nil && p.fault != takesAnyID {
		return workqueue.Receipt{}, err
	}
	if err := p.room(); err != nil {
		return workqueue.Receipt{}, err
	}
	q, err := p.find(ctx, p.options)
	if err != nil {
		p.mu.Lock()
	}
	p.waiting--
	defer p.mu.Unlock()
	if err != nil {
		return workqueue.Receipt{}, err
	}
	it := &item{Message: workqueue.Message{ID: m.ID, Body: bytes.Clone(m.Body)}}
	first := m.ID == message(1).ID
	if p.fault == altersBody && len(m.Body) > 300 {
		it.Body[300] ^= 1
	}
	switch {
	case first && p.fault == losesOne:
	case first && p.fault == doublesOne:
		q.ready = append(q.ready, it, &item{Message: it.Message})
	case first && p.fault == swapsTwo:
		q.stash = it
	case q.stash != nil:
		q.ready = append(q.ready, it, q.stash)
		q.stash = nil
	default:
		q.ready = append(q.ready, it)
	}
	p.tell()
	r := workqueue.Receipt{Written: time.Now()}
	if p.options.Confirms {
		r.Confirmed = r.Written
	}
	return r, nil
}

// room takes a place among the waiting calls, if there is one.
func (p *memoryPublisher) room() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	away := p.away || p.severed
	switch {
	case p.done:
		return wirelab.Errorf(wirelab.Unavailable, "closed")
	case away && p.fault == failsWhileAway:
		return wirelab.Errorf(wirelab.Unavailable, "away")
	case away && p.waiting >= p.options.Buffer && p.fault != buffersAnything:
		return wirelab.Errorf(wirelab.ResourceExhausted, "%d wait", p.waiting)
	}
	p.waiting++
	return nil
}

func (b *memoryBroker) Consume(ctx context.Context, o workqueue.Options, handle workqueue.Handler) error {
	slots := o.Complete().Prefetch
	if b.fault == givesOneMore {
		slots++
	}
	running := 0 // guarded by memory.mu
	var handlers sync.WaitGroup
	if b.fault != doesNotWaitForHandlers {
		defer handlers.Wait()
	}
	take := func(more int) { b.mu.Lock(); defer b.mu.Unlock(); b.taking += more }
	take(1)
	defer take(-1)
	for {
		if ctx.Err() != nil {
			return nil
		}
		q, err := b.find(ctx, o)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if running == slots || len(q.ready) == 0 || b.fault == blocksWhileOneWaits && q.later > 0 {
			changed := b.changed
			b.mu.Unlock()
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		it := q.ready[0]
		q.ready = q.ready[1:]
		q.held[it] = b
		it.deliveries++
		running++
		d := workqueue.Delivery{
			Message:     workqueue.Message{ID: it.ID, Body: bytes.Clone(it.Body)},
			Attempt:     it.deliveries,
			Redelivered: it.deliveries > 1,
		}
		b.mu.Unlock()
		handlers.Go(func() {
			err := handle(ctx, d)
			b.mu.Lock()
			defer b.mu.Unlock()
			running--
			b.done(ctx, q, it, o.Complete(), err)
			b.tell()
		})
	}
}

// done applies the result of a handler to its message; mu is held.
func (b *memoryBroker) done(ctx context.Context, q *memoryQueue, it *item, o workqueue.Options, err error) {
	if q.held[it] != b {
		if b.fault == believesTheDead {
			q.ready = slices.DeleteFunc(q.ready, func(other *item) bool { return other.ID > it.ID })
		}
		return // the message was taken from this consumer
	}
	if b.severed {
		return
	}
	delete(q.held, it)
	if err == nil {
		return
	}
	if ctx.Err() != nil && b.fault != blamesTheCancelled {
		q.ready = slices.Insert(q.ready, 0, it)
		return
	}
	it.failures++
	allowed := o.Attempts
	switch b.fault {
	case triesOnceMore:
		allowed++
	case triesOnceLess:
		allowed--
	}
	code := wirelab.CodeOf(err)
	if hopeless := code == wirelab.InvalidArgument ||
		code == wirelab.Conflict; it.failures >= allowed ||
		hopeless && b.fault != retriesHopeless {
		letter := it.Message
		if b.fault == forgetsBody {
			letter.Body = []byte("?")
		}
		q.dead = append(q.dead, letter)
		return
	}
	q.later++
	time.AfterFunc(o.Retry, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		q.later--
		q.ready = append(q.ready, it)
		b.tell()
	})
}
