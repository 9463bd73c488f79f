package amqp

import (
	"context"
	"runtime"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/queue"
)

// errLost is that a connection broke before a message was known to be kept.
var errLost = wirelab.Errorf(wirelab.Unavailable, "the connection to RabbitMQ broke")

// outlet is a channel that messages are published on. Two goroutines are its
// own: one writes, so that a caller whose context ends need not wait for the
// socket, and one listens to what the server says of them.
type outlet struct {
	broker   *Broker
	wire     *bounded
	channel  *amqp.Channel
	confirms bool
	writes   chan *writing
	gone     chan struct{} // closed when the channel is
	running  sync.WaitGroup

	mu      sync.Mutex // guards below
	flights map[string]*flight
}

// flight is what is known of the messages with one id that are under way.
type flight struct {
	callers  int
	returned bool // the server found no queue for one
}

// target is where a message is published to: a queue by its name, if exchange is "".
type target struct{ exchange, key string }

// writing is a message on its way to the socket.
type writing struct {
	to      target
	message amqp.Publishing
	written chan written // of one
	done    written      // the writer's, until it is told
}

type written struct {
	at        time.Time
	confirmed *amqp.DeferredConfirmation // nil without confirms
	err       error
}

// openOutlet opens a channel on a connection.
func (b *Broker) openOutlet(conn *wire, confirms bool) (*outlet, error) {
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
	out := &outlet{
		broker: b, wire: conn.out, channel: channel, confirms: confirms,
		writes: make(chan *writing), gone: make(chan struct{}), flights: map[string]*flight{},
	}
	closed := channel.NotifyClose(make(chan *amqp.Error, 1))
	// Both get every return, in this order, and the library goes on when both
	// have been received: so a return is noted before the confirmation that
	// follows it can be seen.
	returned := channel.NotifyReturn(make(chan amqp.Return))
	noted := channel.NotifyReturn(make(chan amqp.Return))
	out.running.Go(func() { out.listen(closed, returned, noted) })
	out.running.Go(out.write)
	return out, nil
}

// listen notes returned messages, until the channel is closed.
func (o *outlet) listen(closed <-chan *amqp.Error, returned, noted <-chan amqp.Return) {
	defer close(o.gone)
	for {
		select {
		case <-closed: //nolint:errcheck // why it closed makes no difference
			return
		case r, ok := <-returned:
			if !ok {
				returned = nil
				continue
			}
			o.mu.Lock()
			if f := o.flights[r.MessageId]; f != nil {
				f.returned = true
			}
			o.mu.Unlock()
		case _, ok := <-noted:
			if !ok {
				noted = nil
			}
		}
	}
}

// write writes what callers hand over, until the channel is gone.
func (o *outlet) write() {
	var batch []*writing
	for {
		select {
		case w := <-o.writes:
			batch = o.together(w, batch[:0])
			clear(batch)
		case <-o.gone:
			return
		}
	}
}

// togetherMost is how many messages go out as one at most.
const togetherMost = 256

// together writes a message and those of others who wait by now, and tells all
// of them once all are written. batch is room for them.
func (o *outlet) together(w *writing, batch []*writing) []*writing {
	// Callers come in crowds: one confirmation lets many go. This lets those who
	// are about to wait do so, and costs a lone caller nothing that counts.
	runtime.Gosched()
	o.wire.hold()
	for w != nil {
		// Mandatory where it is confirmed: without the queue it comes back.
		w.done.confirmed, w.done.err = o.channel.PublishWithDeferredConfirm(w.to.exchange, w.to.key, o.confirms, false, w.message)
		batch = append(batch, w)
		if w = nil; len(batch) < togetherMost {
			select {
			case w = <-o.writes:
			default:
			}
		}
	}
	err := o.wire.release()
	now := time.Now()
	for _, w := range batch {
		if w.done.at = now; err != nil {
			w.done.err = err
		}
		w.written <- w.done
	}
	return batch
}

// lost reports whether the channel is gone.
func (o *outlet) lost() bool { return o.channel.IsClosed() }

// close closes the channel, which it tells the server, and waits for what is
// the outlet's own.
func (o *outlet) close() {
	_ = o.channel.Close() // it may be broken
	o.running.Wait()
}

// enter notes that a message is under way, leave that its caller is done, and
// tells whether it came back.
func (o *outlet) enter(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.flights[id] == nil {
		o.flights[id] = &flight{}
	}
	o.flights[id].callers++
}

func (o *outlet) leave(id string) (returned bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.flights[id]
	if f.callers--; f.callers == 0 {
		delete(o.flights, id)
	}
	return f.returned
}

// publish hands a message over. errLost means that the outlet is gone and
// that the message may or may not have been taken.
func (o *outlet) publish(ctx context.Context, to target, m amqp.Publishing) (r queue.Receipt, err error) {
	o.enter(m.MessageId)
	defer func() {
		if returned := o.leave(m.MessageId); returned && err == nil {
			r, err = queue.Receipt{}, wirelab.Errorf(wirelab.NotFound, "queue %s is not declared", to.key)
		}
	}()
	w := &writing{to: to, message: m, written: make(chan written, 1)}
	select {
	case o.writes <- w:
	case <-o.gone:
		return r, errLost
	case <-ctx.Done():
		return r, over(ctx, false, "the message was not written")
	}
	var sent written
	select {
	case sent = <-w.written:
	case <-ctx.Done():
		return r, over(ctx, false, "the message was not yet written")
	}
	if sent.err != nil {
		return r, errLost // whatever it says: the channel is spoiled or closed
	}
	r.Written = sent.at
	if !o.confirms {
		return r, nil
	}
	select {
	case <-sent.confirmed.Done():
	case <-ctx.Done():
		return r, over(ctx, false, "RabbitMQ at %s has not confirmed the message", o.broker.address)
	}
	switch {
	case sent.confirmed.Acked():
		r.Confirmed = time.Now()
		return r, nil
	case o.lost():
		return r, errLost // the library refuses all that is open then
	}
	return r, wirelab.Errorf(wirelab.Unavailable, "RabbitMQ at %s refused the message", o.broker.address)
}
