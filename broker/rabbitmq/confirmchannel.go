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

// confirmChannel is a channel for publishing. It has two goroutines: one writes, so that a caller whose context
// ends need not wait for the socket, and one receives the confirms.
type confirmChannel struct {
	broker   *Broker
	wire     *bounded
	channel  *amqp.Channel
	confirms bool
	room     chan struct{} // of its publisher: holds one element for each unanswered message
	writes   chan *sending
	gone     chan struct{} // closed when the channel is
	running  sync.WaitGroup

	mu   sync.Mutex // guards all below, and the fields of sendings
	open map[uint64]flight
	next uint64 // the tag of the next message
	lost error  // set: no more answers will come
}

// flight is an unconfirmed message.
type flight struct {
	of       *sending
	id       string
	returned bool // the server found no queue for it
}

// target is where a message is published to; if exchange is "", key is the name of a queue.
type target struct{ exchange, key string }

// sending is a send in progress. Its caller is answered once: when it was written and every message of it was
// answered, or when one failed and none is open.
type sending struct {
	to       target
	messages []amqp.Publishing
	done     func(broker.Receipt, error)

	written time.Time
	left    int // unanswered messages
	failed  error
	told    bool
}

// openConfirmChannel opens a confirm channel on a connection.
func (b *Broker) openConfirmChannel(conn *wire, confirms bool, room chan struct{}) (*confirmChannel, error) {
	channel, err := conn.Channel()
	if err != nil {
		return nil, b.coded(err)
	}
	if confirms {
		if err := channel.Confirm(false); err != nil {
			_ = channel.Close() // broken, or useless
			return nil, b.coded(err)
		}
	}
	out := &confirmChannel{
		broker: b, wire: conn.out, channel: channel, confirms: confirms, room: room,
		writes: make(chan *sending), gone: make(chan struct{}), open: map[uint64]flight{}, next: 1,
	}
	closed := channel.NotifyClose(make(chan *amqp.Error, 1))
	// Unbuffered: the library continues only when a return was received, so the return is recorded before the
	// confirm that follows it.
	returned := channel.NotifyReturn(make(chan amqp.Return))
	var confirmed chan amqp.Confirmation
	if confirms {
		confirmed = channel.NotifyPublish(make(chan amqp.Confirmation, pendingLimit))
	}
	out.running.Go(func() { out.listen(closed, returned, confirmed) })
	out.running.Go(out.write)
	return out, nil
}

// listen passes on confirms until the channel ends, then fails the unconfirmed messages.
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

// errorOf prevents a nil *amqp.Error from becoming a non-nil error.
func errorOf(why *amqp.Error) error {
	if why == nil {
		return nil
	}
	return why
}

// returned records that the server found no queue for a message. The return does not identify the message, so all
// with this id are marked; returns are rare.
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

// answer processes the confirm of a message.
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

// settle records the outcome of one message of a send.
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

// over reports, once, that the caller of a send can be answered; the lock is held.
func (s *sending) over() bool {
	if s.told || s.left > 0 || s.written.IsZero() && s.failed == nil {
		return false
	}
	s.told = true
	return true
}

// tell answers the caller of a finished send, whose fields no longer change.
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

// write writes the sends of callers until the channel is gone.
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

// togetherMost is the maximum number of sends written at once.
const togetherMost = 256

// together writes a send and those that wait by now, and answers them once all are written. batch is reused storage
// for them.
func (o *confirmChannel) together(s *sending, batch []*sending) []*sending {
	// Callers come in groups, since one confirm releases many. Yielding lets the others queue first, and costs a
	// single caller next to nothing.
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
	// Mandatory for a confirmed send to a queue: a missing queue then returns the message.
	mandatory := o.confirms && s.to.exchange == ""
	_, err := o.channel.PublishWithDeferredConfirm(s.to.exchange, s.to.key, mandatory, false, *m)
	switch {
	case o.confirms && err != nil:
		// Tags count written messages, and it is unknown whether this one was written. The listener answers it when
		// the connection has ended.
		_ = o.wire.Close()
	case !o.confirms && err != nil:
		o.settle(s, broker.ErrLost) // whatever the error: the channel is unusable
	case !o.confirms:
		o.settle(s, nil)
	}
}

// expect registers the message that is about to be written; false once the confirm channel is lost.
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

// close closes the channel at the server, and waits for the goroutines of the confirm channel.
func (o *confirmChannel) close() {
	_ = o.channel.Close() // it may be broken already
	o.running.Wait()
}

// send passes a send to the writer; the caller has reserved room for it.
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
