package rabbitmq

import (
	"context"
	"runtime"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker"
)

// confirmChannel is a channel that messages are published on. Two goroutines are its
// own: one writes, so that a caller whose context ends need not wait for the
// socket, and one listens to what the server says of them.
type confirmChannel struct {
	broker   *Broker
	wire     *bounded
	channel  *amqp.Channel
	confirms bool
	room     chan struct{} // its publisher's: holds one for each message that is not answered
	writes   chan *sending
	gone     chan struct{} // closed when the channel is
	running  sync.WaitGroup

	mu   sync.Mutex // guards all below, and what sendings have
	open map[uint64]flight
	next uint64 // the tag of the next message
	lost error  // set: nothing is answered any more
}

// flight is a message that is not confirmed.
type flight struct {
	of       *sending
	id       string
	returned bool // the server found no queue for it
}

// target is where a message is published to: a queue by its name, if exchange is "".
type target struct{ exchange, key string }

// sending is a send on its way. It is told once, when it was written and every message of
// it was answered, or when one failed and none is open.
type sending struct {
	to       target
	messages []amqp.Publishing
	done     func(broker.Receipt, error)

	written time.Time
	left    int // messages that are not answered
	failed  error
	told    bool
}

// openConfirmChannel opens a channel on a connection.
func (b *Broker) openConfirmChannel(conn *wire, confirms bool, room chan struct{}) (*confirmChannel, error) {
	channel, err := conn.Channel()
	if err != nil {
		return nil, b.coded(err)
	}
	if confirms {
		if err := channel.Confirm(false); err != nil {
			_ = channel.Close() // broken, or of no use
			return nil, b.coded(err)
		}
	}
	out := &confirmChannel{
		broker: b, wire: conn.out, channel: channel, confirms: confirms, room: room,
		writes: make(chan *sending), gone: make(chan struct{}), open: map[uint64]flight{}, next: 1,
	}
	closed := channel.NotifyClose(make(chan *amqp.Error, 1))
	// Without room: the library goes on when a return was received, and it is noted before
	// the confirmation that follows it is.
	returned := channel.NotifyReturn(make(chan amqp.Return))
	var confirmed chan amqp.Confirmation
	if confirms {
		confirmed = channel.NotifyPublish(make(chan amqp.Confirmation, pendingLimit))
	}
	out.running.Go(func() { out.listen(closed, returned, confirmed) })
	out.running.Go(out.write)
	return out, nil
}

// listen tells of confirmations until the channel ends, and then of what has none.
func (o *confirmChannel) listen(
	closed <-chan *amqp.Error,
	returned <-chan amqp.Return,
	confirmed <-chan amqp.Confirmation,
) {
	var why *amqp.Error
	for closed != nil || confirmed != nil {
		select {
		case e, told := <-closed:
			if told && e != nil {
				why = e
			}
			closed = nil
		case r, ok := <-returned:
			if !ok {
				returned = nil
				continue
			}
			o.returned(r.MessageId)
		case c, ok := <-confirmed:
			if !ok {
				confirmed = nil
				continue
			}
			o.answer(c.DeliveryTag, c.Ack)
		}
	}
	err := broker.ErrLost
	if coded := o.broker.coded(errorOf(why)); coded != nil && final(coded) {
		err = coded
	}
	o.mu.Lock()
	o.lost = err
	open := o.open
	o.open = map[uint64]flight{}
	o.mu.Unlock()
	close(o.gone)
	for _, f := range open {
		o.settle(f.of, err)
	}
}

// errorOf keeps no error from becoming one that is none.
func errorOf(why *amqp.Error) error {
	if why == nil {
		return nil
	}
	return why
}

// returned notes that the server found no queue for a message. That is rare, and it does
// not say of which: of all with its id.
func (o *confirmChannel) returned(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for tag, f := range o.open {
		if f.id == id {
			f.returned = true
			o.open[tag] = f
		}
	}
}

// answer takes the server's word on a message.
func (o *confirmChannel) answer(tag uint64, taken bool) {
	o.mu.Lock()
	f, there := o.open[tag]
	delete(o.open, tag)
	o.mu.Unlock()
	switch {
	case !there:
	case !taken:
		o.settle(f.of, wirelab.Errorf(wirelab.Unavailable, "RabbitMQ at %s refused the message", o.broker.address))
	case f.returned:
		o.settle(f.of, wirelab.Errorf(wirelab.NotFound, "queue %s is not declared", f.of.to.key))
	default:
		o.settle(f.of, nil)
	}
}

// settle notes what became of one message of a send.
func (o *confirmChannel) settle(s *sending, err error) {
	o.mu.Lock()
	if err != nil {
		s.failed = err
	}
	s.left--
	over := s.over()
	o.mu.Unlock()
	<-o.room
	if over {
		s.tell(o.confirms)
	}
}

// over reports, once, whether a send is to be told; the lock is held.
func (s *sending) over() bool {
	if s.told || s.left > 0 || s.written.IsZero() && s.failed == nil {
		return false
	}
	s.told = true
	return true
}

// tell tells a send that is over: nothing of it changes any more.
func (s *sending) tell(confirmed bool) {
	if s.failed != nil {
		s.done(broker.Receipt{}, s.failed)
		return
	}
	r := broker.Receipt{Written: s.written}
	if confirmed {
		r.Confirmed = time.Now()
	}
	s.done(r, nil)
}

// write writes what callers hand over, until the channel is gone.
func (o *confirmChannel) write() {
	var batch []*sending
	for {
		select {
		case s := <-o.writes:
			batch = o.together(s, batch[:0])
			clear(batch)
		case <-o.gone:
			return
		}
	}
}

// togetherMost is how many sends go out as one at most.
const togetherMost = 256

// together writes a send and those that wait by now, and tells all of them once all are
// written. batch is room for them.
func (o *confirmChannel) together(s *sending, batch []*sending) []*sending {
	// Callers come in crowds: one confirmation lets many go. This lets those who
	// are about to wait do so, and costs a lone caller nothing that counts.
	runtime.Gosched()
	o.wire.hold()
	for s != nil {
		for i := range s.messages {
			o.one(s, &s.messages[i])
		}
		batch = append(batch, s)
		if s = nil; len(batch) < togetherMost {
			select {
			case s = <-o.writes:
			default:
			}
		}
	}
	err := o.wire.release()
	now := time.Now()
	for _, s := range batch {
		o.mu.Lock()
		s.written = now
		if err != nil && !o.confirms {
			s.failed = broker.ErrLost
		}
		over := s.over()
		o.mu.Unlock()
		if over {
			s.tell(o.confirms)
		}
	}
	return batch
}

// one writes a message.
func (o *confirmChannel) one(s *sending, m *amqp.Publishing) {
	if !o.expect(s, m.MessageId) {
		o.settle(s, broker.ErrLost)
		return
	}
	// Mandatory where it is confirmed and goes to a queue: without that it comes back.
	mandatory := o.confirms && s.to.exchange == ""
	_, err := o.channel.PublishWithDeferredConfirm(s.to.exchange, s.to.key, mandatory, false, *m)
	switch {
	case o.confirms && err != nil:
		// Tags are counted by what was written, and this may have been or not: the
		// listener answers it when the connection has ended.
		_ = o.wire.Close()
	case !o.confirms && err != nil:
		o.settle(s, broker.ErrLost) // whatever it says: the channel is spoiled or closed
	case !o.confirms:
		o.settle(s, nil)
	}
}

// expect notes that the next message is about to be written; false once the confirm channel is lost.
func (o *confirmChannel) expect(s *sending, id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost != nil {
		return false
	}
	if o.confirms {
		o.open[o.next] = flight{of: s, id: id}
		o.next++
	}
	return true
}

// isLost reports whether the channel is gone.
func (o *confirmChannel) isLost() bool { return o.channel.IsClosed() }

// close closes the channel, which it tells the server, and waits for what is
// the confirm channel's own.
func (o *confirmChannel) close() {
	_ = o.channel.Close() // it may be broken
	o.running.Wait()
}

// send hands a send to the writer, for which there is room.
func (o *confirmChannel) send(ctx context.Context, s *sending) {
	var err error
	select {
	case o.writes <- s:
		return
	case <-o.gone:
		o.mu.Lock()
		err = o.lost
		o.mu.Unlock()
	case <-ctx.Done():
		err = over(ctx, false, "the message was not written")
	}
	for range s.messages {
		o.settle(s, err)
	}
}
