package peer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// batchBytes is what a feed asks of the node at once: a publish's worth, so that
// another's verdict does not wait long behind it.
const batchBytes = 128 << 10

// servedFeed is a subscription that another node has here.
type servedFeed struct {
	cancel context.CancelFunc
	wake   chan struct{} // of capacity 1
	pull   bool          // of a group: credit is for one batch

	mu       sync.Mutex // guards all below
	credit   int64      // bytes; below zero by at most one batch
	messages int        // pull: how many the next batch may have; 0: any number
	sent     uint64     // messages
	feed     broker.Feed
}

func (s *session) feed(id uint64) *servedFeed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.feeds[id]
}

func (s *session) subscribe(data []byte) error {
	b := body{b: data}
	id, left, credit, start := b.number(), time.Duration(b.number()), b.number(), new(gen.Start)
	if err := proto.Unmarshal(b.b, start); err != nil || b.bad {
		return errBody
	}
	ctx, cancel := context.WithCancel(broker.WithOwner(s.ctx, readOwner(start.GetOwner())))
	f := &servedFeed{
		cancel: cancel, wake: make(chan struct{}, 1), credit: int64(credit),
		pull: start.GetFrom() == uint32(broker.FromGroup),
	}
	s.mu.Lock()
	if s.feeds[id] != nil {
		s.mu.Unlock()
		cancel()
		return fmt.Errorf("subscription %d is there already", id)
	}
	if len(s.feeds) >= servedFeeds {
		s.mu.Unlock()
		cancel()
		s.reply(id, nil, status.Errorf(status.ResourceExhausted,
			"node %d has %d subscriptions of yours; end some, or subscribe at another node", s.id, servedFeeds))
		return nil
	}
	s.feeds[id] = f
	s.mu.Unlock()
	s.all.Go(func() {
		defer cancel()
		err := s.deliver(ctx, id, f, left, readStart(start))
		s.mu.Lock()
		delete(s.feeds, id)
		s.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			s.ended(id, err)
		}
	})
	return nil
}

// deliver opens a feed and sends what it gives, as far as there is credit.
func (s *session) deliver(ctx context.Context, id uint64, f *servedFeed, left time.Duration, start broker.Start) error {
	feed, err := s.open(ctx, f, left, start)
	s.reply(id, nil, err)
	if err != nil {
		return nil // it has been told
	}
	defer feed.Close()
	for {
		room, err := f.await(ctx)
		if err != nil {
			return err
		}
		batch, err := feed.Next(ctx, room)
		if err != nil {
			return err
		}
		f.spend(&batch)
		if ctx.Err() != nil { // closed in the meantime, by who cannot have counted it
			feed.Return(batch.Count)
			return nil
		}
		if batch.Gap != nil && s.c.knows > 0 {
			s.c.out.put(frame{
				kind: kindGap, queue: queueCall,
				head: appendNumbers(nil, id, batch.Gap.First, batch.Gap.Last),
			}, 0)
		}
		head := appendBatchHead(make([]byte, 0, 48), id, &batch)
		if !s.c.out.put(frame{kind: kindBatch, queue: queueCall, head: head, tail: batch.Messages}, 0) {
			return nil // the connection is gone
		}
	}
}

// open subscribes. The deadline is for that alone: the feed lives until it is closed.
func (s *session) open(ctx context.Context, f *servedFeed, left time.Duration,
	start broker.Start,
) (broker.Feed, error) {
	opening, cancel := context.WithCancel(ctx)
	if left > 0 {
		late := time.AfterFunc(left, cancel)
		defer late.Stop()
	}
	feed, err := s.local.Subscribe(opening, start)
	if err != nil {
		cancel()
		return nil, err
	}
	context.AfterFunc(ctx, cancel)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.feed = feed
	return feed, nil
}

// ended tells that a feed is over. The last batches are before it in the same queue.
func (s *session) ended(id uint64, err error) {
	data, err := proto.MarshalOptions{}.MarshalAppend(appendNumbers(nil, id), writeError(err))
	if err != nil {
		s.c.end(fmt.Errorf("end of a feed: %w", err))
		return
	}
	s.c.out.put(frame{kind: kindEnded, queue: queueCall, head: data}, 0)
}

// close ends the feed. given is how many messages the other node gave out of those that were sent: of a group
// only one batch is on its way at a time, so the rest is the end of that one.
func (f *servedFeed) close(given uint64, told bool) {
	f.mu.Lock()
	if feed := f.feed; feed != nil && f.pull && told && given < f.sent {
		feed.Return(int(f.sent - given))
	}
	f.mu.Unlock()
	f.cancel()
}

func (f *servedFeed) grant(n int64, messages int) {
	f.mu.Lock()
	f.credit += n
	f.messages = messages
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default: // await is going to look anyway
	}
}

func (f *servedFeed) spend(b *broker.Batch) {
	f.mu.Lock()
	if f.credit -= int64(len(b.Messages)); f.pull {
		f.credit = 0
	}
	f.sent += uint64(b.Count)
	f.mu.Unlock()
}

// await waits for credit and says how much there is.
func (f *servedFeed) await(ctx context.Context) (broker.Room, error) {
	for {
		f.mu.Lock()
		room := broker.Room{Messages: f.messages, Bytes: int(min(f.credit, batchBytes))}
		f.mu.Unlock()
		if room.Bytes > 0 {
			return room, nil
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return broker.Room{}, ctx.Err()
		}
	}
}

// settle does an ack or a nack. late is what of an ack came too late, for which errors have no place here.
func (s *session) settle(ctx context.Context, r *gen.Call) (late []broker.Range, err error) {
	var feed broker.Feed
	if f := s.feed(r.GetFeed()); f != nil {
		f.mu.Lock()
		feed = f.feed
		f.mu.Unlock()
	}
	if feed == nil {
		return nil, status.Errorf(status.Unavailable,
			"the subscription is over; subscribe again, and the messages come again")
	}
	if r.GetMethod() == gen.Method_METHOD_NACK {
		return nil, feed.Nack(ctx, readRanges(r.GetRanges()), r.GetReason(), r.GetDelay())
	}
	return broker.Late(feed.Ack(ctx, readRanges(r.GetRanges())))
}
