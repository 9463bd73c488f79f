package peer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// callsAtOnce is how many one-shot requests one node may have at another; more wait.
const callsAtOnce = 1024

// caller is this node's requests on one connection that it dialled. It ends with it.
type caller struct {
	c         *connection
	window    int64               // bytes
	room      *semaphore.Weighted // of window
	calls     *semaphore.Weighted // of callsAtOnce
	feedBytes int

	mu        sync.Mutex // guards all below
	last      uint64     // id
	publishes map[uint64]*publish
	asked     map[uint64]*asked
	feeds     map[uint64]*remoteFeed
	abandoned chan struct{} // closed and made anew by abandon
	why       error         // of the last abandon
	err       error         // it is over
}

// publish is a run without a verdict. done is nil once its publisher has an answer:
// then only the room it takes is left of it.
type publish struct {
	done func(broker.Verdict)
	size int64
	stop func() bool // of waiting for the context; nil: it has no end
}

// asked is a request without a reply.
type asked struct {
	reply *gen.Reply
	err   error
	done  chan struct{}
}

func newCaller(c *connection, o *Options) *caller {
	return &caller{
		c: c, window: int64(o.CallBytes), feedBytes: o.FeedBytes,
		room: semaphore.NewWeighted(int64(o.CallBytes)), calls: semaphore.NewWeighted(callsAtOnce),
		publishes: map[uint64]*publish{}, asked: map[uint64]*asked{}, feeds: map[uint64]*remoteFeed{},
		abandoned: make(chan struct{}),
	}
}

// acquire takes room, waiting for it until ctx ends or the peer is abandoned. Where ctx has ended it takes
// none, so that calls without a waiting caller are not sent: the end alone, told by another goroutine, could
// come after the answer.
func (c *caller) acquire(ctx context.Context, of *semaphore.Weighted, n int64) error {
	if err := ctx.Err(); err != nil {
		return status.Public(err)
	}
	if of.TryAcquire(n) {
		return nil
	}
	c.mu.Lock()
	abandoned := c.abandoned
	c.mu.Unlock()
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() {
		select {
		case <-abandoned:
			cancel()
		case <-waiting.Done():
		}
	})
	if err := of.Acquire(waiting, n); err != nil {
		if ctx.Err() != nil {
			return status.Public(ctx.Err())
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.why
	}
	return nil
}

// timeout is the rest of a context, at least a nanosecond; 0: no end.
func timeout(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(deadline), 1)
}

func (c *caller) publish(ctx context.Context, run *broker.Run, done func(broker.Verdict)) {
	size := min(int64(len(run.Messages)+len(run.Topic)+100), c.window)
	if err := c.acquire(ctx, c.room, size); err != nil {
		done(broker.Verdict{Err: err})
		return
	}
	c.mu.Lock()
	if err := c.err; err != nil {
		c.mu.Unlock()
		c.room.Release(size)
		done(broker.Verdict{Err: err})
		return
	}
	c.last++
	id := c.last
	p := &publish{done: done, size: size}
	c.publishes[id] = p
	if ctx.Done() != nil {
		p.stop = context.AfterFunc(ctx, func() { c.giveUp(id, status.Public(ctx.Err())) })
	}
	c.mu.Unlock()
	body := make([]byte, 0, 64+len(run.Topic)+len(run.Messages))
	c.c.out.put(frame{kind: kindPublish, queue: queueCall, head: appendPublish(body, id, timeout(ctx), run)}, 0)
}

// giveUp answers a publisher; what he published stays on its way.
func (c *caller) giveUp(id uint64, err error) {
	c.mu.Lock()
	var done func(broker.Verdict)
	if p := c.publishes[id]; p != nil {
		done, p.done = p.done, nil
	}
	c.mu.Unlock()
	if done != nil {
		done(broker.Verdict{Err: err})
	}
}

// settle ends a publish with a verdict.
func (c *caller) settle(p *publish, v broker.Verdict) {
	if p.stop != nil {
		p.stop()
	}
	c.room.Release(p.size)
	c.mu.Lock()
	done := p.done
	p.done = nil
	c.mu.Unlock()
	if done != nil {
		done(v)
	}
}

// call sends a request and waits for its reply.
func (c *caller) call(ctx context.Context, request *gen.Call) (*gen.Reply, error) {
	if err := c.acquire(ctx, c.calls, 1); err != nil {
		return nil, err
	}
	defer c.calls.Release(1)
	id, a, err := c.ask(nil)
	if err != nil {
		return nil, err
	}
	data, err := proto.MarshalOptions{}.MarshalAppend(appendNumbers(nil, id, uint64(timeout(ctx))), request)
	if err != nil {
		return nil, err
	}
	c.c.out.put(frame{kind: kindCall, queue: queueCall, head: data}, 0)
	return c.answer(ctx, id, a)
}

// ask notes a request, and the feed it asks for if it does.
func (c *caller) ask(feed *remoteFeed) (uint64, *asked, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	c.last++
	a := &asked{done: make(chan struct{})}
	c.asked[c.last] = a
	if feed != nil {
		feed.id = c.last
		c.feeds[c.last] = feed
	}
	return c.last, a, nil
}

// answer waits for a reply. When ctx ends first, the other end is notified.
func (c *caller) answer(ctx context.Context, id uint64, a *asked) (*gen.Reply, error) {
	select {
	case <-a.done:
	case <-ctx.Done():
		c.mu.Lock()
		_, waits := c.asked[id]
		delete(c.asked, id)
		c.mu.Unlock()
		if waits {
			c.c.out.put(frame{kind: kindCancel, queue: queueCall, head: appendNumbers(nil, id)}, 0)
			return nil, status.Public(ctx.Err())
		}
		<-a.done // it was answered at the same moment
	}
	if a.err == nil {
		a.err = readError(a.reply.GetError())
	}
	return a.reply, a.err
}

// handle takes what the other end answers.
func (c *caller) handle(k kind, data []byte) error {
	switch k {
	case kindVerdict:
		id, v, err := readVerdict(data)
		if err != nil {
			return err
		}
		c.mu.Lock()
		p := c.publishes[id]
		delete(c.publishes, id)
		c.mu.Unlock()
		if p == nil {
			return fmt.Errorf("a verdict for publish %d, which waits for none", id)
		}
		c.settle(p, v)
		return nil
	case kindReply:
		return c.handleReply(data)
	case kindBatch:
		id, batch, err := readBatch(data)
		if err != nil {
			return err
		}
		if f := c.feed(id); f != nil {
			return f.add(batch, len(data))
		}
		return nil // it was closed while this was on its way
	case kindGap:
		b := body{b: data}
		id, gap := b.number(), broker.Range{First: b.number(), Last: b.number()}
		if f := c.feed(id); f != nil && !b.bad {
			f.skip(gap)
		}
		return b.err()
	case kindEnded:
		b := body{b: data}
		id, ended := b.number(), new(gen.Error)
		if err := proto.Unmarshal(b.b, ended); err != nil || b.bad {
			return errBody
		}
		if f := c.feed(id); f != nil {
			f.end(readError(ended), false)
		}
		return nil
	}
	return fmt.Errorf("a frame of kind %d came as an answer", k)
}

func (c *caller) handleReply(data []byte) error {
	b := body{b: data}
	id, reply := b.number(), new(gen.Reply)
	if err := proto.Unmarshal(b.b, reply); err != nil || b.bad {
		return errBody
	}
	c.mu.Lock()
	a := c.asked[id]
	delete(c.asked, id)
	c.mu.Unlock()
	if a != nil { // else it was canceled while this was on its way
		a.reply = reply
		close(a.done)
	}
	return nil
}

func (c *caller) feed(id uint64) *remoteFeed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.feeds[id]
}

func (c *caller) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.feeds, id)
}

// abandon answers every waiter. The connection stays, and so does the room that publishes take until the other
// end is done with them.
func (c *caller) abandon(err error) {
	c.mu.Lock()
	c.why = err
	close(c.abandoned)
	c.abandoned = make(chan struct{})
	publishes := slices.Sorted(maps.Keys(c.publishes)) // those who published first are notified first
	waiting := c.asked
	feeds := c.feeds
	c.asked, c.feeds = map[uint64]*asked{}, map[uint64]*remoteFeed{}
	c.mu.Unlock()
	for _, id := range publishes {
		c.giveUp(id, err)
	}
	for id, a := range waiting {
		a.err = err
		close(a.done)
		c.c.out.put(frame{kind: kindCancel, queue: queueCall, head: appendNumbers(nil, id)}, 0)
	}
	for id, f := range feeds {
		f.end(err, true)
		c.c.out.put(frame{kind: kindClose, queue: queueCall, head: appendNumbers(nil, id)}, 0)
	}
}

// done ends everything with an error, once the connection has ended.
func (c *caller) done(err error) {
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	c.abandon(err)
	c.mu.Lock()
	publishes := c.publishes
	c.publishes = map[uint64]*publish{}
	c.mu.Unlock()
	for _, p := range publishes {
		c.settle(p, broker.Verdict{Err: err})
	}
}
