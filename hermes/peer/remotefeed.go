package peer

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// remoteFeed is a subscription at another node. What was sent ahead waits here; while it is taken, credit for
// as many bytes goes back. Of a group nothing is sent ahead: it would lie with a member who does not ask, while
// another could have it.
type remoteFeed struct {
	c    *caller
	id   uint64 // set before anything comes
	pull bool   // of a group: each Next asks for one batch
	stop func() bool
	wake chan struct{} // of capacity 1

	mu      sync.Mutex // guards all below
	batches []broker.Batch
	held    int           // bytes of batches
	owed    int           // bytes taken and not given back as credit
	asking  bool          // pull: a batch was asked for and is not here
	gap     *broker.Range // before the batch that comes next
	given   uint64        // pull: messages that Next has given; the rest of what was sent is said to be untried
	err     error         // it is over
}

var _ broker.Feed = (*remoteFeed)(nil)

func (c *caller) subscribe(ctx context.Context, start *broker.Start) (broker.Feed, error) {
	f := &remoteFeed{c: c, pull: start.From == broker.FromGroup, wake: make(chan struct{}, 1)}
	id, a, err := c.ask(f)
	if err != nil {
		return nil, err
	}
	credit := c.feedBytes
	if f.pull {
		credit = 0
	}
	head := appendNumbers(nil, id, uint64(timeout(ctx)), uint64(credit))
	wanted := writeStart(start)
	wanted.Owner = writeOwner(broker.OwnerOf(ctx))
	data, err := proto.MarshalOptions{}.MarshalAppend(head, wanted)
	if err != nil {
		return nil, err
	}
	c.c.out.put(frame{kind: kindSubscribe, queue: queueCall, head: data}, 0)
	if _, err := c.answer(ctx, id, a); err != nil {
		f.close(err)
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stop = context.AfterFunc(ctx, func() { f.close(status.Public(ctx.Err())) })
	return f, nil
}

// add takes a batch from the connection.
func (f *remoteFeed) add(b broker.Batch, bytes int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Credit is in bytes and a run is never cut within a message, so one more may come.
	if f.held += bytes; f.held > f.c.feedBytes+hermes.RunLimit {
		return fmt.Errorf("a feed has sent %d bytes with credit for %d", f.held, f.c.feedBytes)
	}
	f.held += len(b.Messages) - bytes
	f.asking = false
	b.Gap, f.gap = f.gap, nil
	if f.err == nil {
		f.batches = append(f.batches, b)
	}
	f.signal()
	return nil
}

// skip takes the report of a gap from the connection.
func (f *remoteFeed) skip(gap broker.Range) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gap = &gap
}

func (f *remoteFeed) signal() {
	select {
	case f.wake <- struct{}{}:
	default: // Next is going to look anyway
	}
}

// end ends the feed from the other side. Messages here already are still given out, unless at once.
func (f *remoteFeed) end(err error, atOnce bool) {
	f.c.forget(f.id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	if atOnce {
		f.batches = nil
	}
	f.signal()
}

// close ends the feed from this side.
func (f *remoteFeed) close(err error) {
	f.end(err, true)
	f.mu.Lock()
	given := f.given
	f.mu.Unlock()
	f.c.c.out.put(frame{kind: kindClose, queue: queueCall, head: appendNumbers(nil, f.id, given)}, 0)
}

// Return implements [broker.Feed]. The other node hears of it by Close.
func (f *remoteFeed) Return(count int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given -= min(f.given, uint64(max(count, 0)))
}

func (f *remoteFeed) Close() {
	f.mu.Lock()
	stop, over := f.stop, f.err != nil
	f.mu.Unlock()
	if stop != nil {
		stop()
	}
	if over {
		f.end(nil, true)
		return
	}
	f.close(status.Errorf(status.Canceled, "the feed was closed"))
}

func (f *remoteFeed) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	for {
		if b, ok, err := f.take(room); ok || err != nil {
			return b, err
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return broker.Batch{}, status.Public(ctx.Err())
		}
	}
}

// take gives the messages here for which there is room.
func (f *remoteFeed) take(room broker.Room) (b broker.Batch, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.batches) == 0 {
		if f.pull && !f.asking && f.err == nil {
			f.asking = true
			f.credit(uint64(max(room.Bytes, 1)), uint64(max(room.Messages, 0)))
		}
		return b, false, f.err
	}
	b, f.batches[0] = f.batches[0].Cut(room)
	if f.batches[0].Count == 0 {
		f.batches = f.batches[1:]
	}
	f.given += uint64(b.Count)
	f.held -= len(b.Messages)
	f.owed += len(b.Messages)
	if f.owed >= f.c.feedBytes/4 && f.err == nil && !f.pull {
		f.credit(uint64(f.owed))
		f.owed = 0
	}
	return b, true, nil
}

// credit grants bytes, and of a group a number of messages, 0 for any.
func (f *remoteFeed) credit(amounts ...uint64) {
	f.c.c.out.put(frame{
		kind: kindCredit, queue: queueCall,
		head: appendNumbers(appendNumbers(nil, f.id), amounts...),
	}, 0)
}

func (f *remoteFeed) Ack(ctx context.Context, ranges []broker.Range) error {
	return f.ask(ctx, &gen.Call{Method: gen.Method_METHOD_ACK, Feed: f.id, Ranges: writeRanges(ranges)})
}

func (f *remoteFeed) Nack(ctx context.Context, ranges []broker.Range, reason string, delay int64) error {
	return f.ask(ctx, &gen.Call{
		Method: gen.Method_METHOD_NACK, Feed: f.id, Ranges: writeRanges(ranges), Reason: reason,
		Delay: delay,
	})
}

func (f *remoteFeed) ask(ctx context.Context, request *gen.Call) error {
	f.mu.Lock()
	err := f.err
	f.mu.Unlock()
	if err != nil {
		return err
	}
	reply, err := f.c.call(ctx, request)
	if err == nil && len(reply.GetLate()) > 0 {
		return &broker.LateError{Ranges: readRanges(reply.GetLate())}
	}
	return err
}
