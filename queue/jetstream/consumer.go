package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/queue"
)

// The times of asking for messages. Each request ends by itself; while it is
// open the server gives a sign of life every half of quiet.
const (
	requestFor = 30 * time.Second
	quiet      = 4 * time.Second
	again      = 100 * time.Millisecond // after a request was refused
	buryLimit  = 5 * time.Second        // for a dead letter to be taken
	trimEvery  = time.Second            // what was acknowledged is removed
)

// consumer is one run of Consume. All but settle runs in the goroutine of Consume.
//
// The library's own consumers ask for a number of messages to hold ready, beside
// those that are being handled; only who asks himself can keep the sum a bound.
// Invariant: running + asked <= options.Prefetch, but for what an earlier
// connection had asked for, which then waits in the channel.
type consumer struct {
	broker  *Broker
	options queue.Options
	handle  func(context.Context, queue.Delivery) error

	sub     *nats.Subscription
	inbox   string
	arrived chan *nats.Msg
	done    chan *nats.Msg // handled and answered

	running map[*nats.Msg]struct{}
	asked   int       // messages that the server may still send
	heard   time.Time // of the server, last
	pause   time.Time // ask for nothing before
	taking  bool      // as the broker was told: messages were asked for over this connection
}

// Consume implements [queue.Broker].
func (b *Broker) Consume(outer context.Context, o queue.Options, handle func(context.Context, queue.Delivery) error) error {
	o, err := check(o)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(outer)
	defer stop()
	c := &consumer{
		broker: b, options: o, handle: handle, inbox: b.conn.NewInbox(),
		// Room for what may come, and the server's signs of life.
		arrived: make(chan *nats.Msg, o.Prefetch+64), done: make(chan *nats.Msg, o.Prefetch),
		running: map[*nats.Msg]struct{}{},
	}
	if err = c.open(ctx); err == nil {
		var handlers, trimming sync.WaitGroup
		trimming.Go(func() { c.trim(ctx) })
		err = c.run(ctx, &handlers)
		c.giveBack(ctx)
		for len(c.running) > 0 {
			c.finish(<-c.done)
		}
		handlers.Wait()
		stop()
		trimming.Wait()
		c.flush(ctx)
	}
	if outer.Err() != nil {
		err = nil // it ended as it was told to
	}
	return err
}

// trim removes what was acknowledged, now and then, until ctx ends.
func (c *consumer) trim(ctx context.Context) {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	var trimmed uint64
	for {
		select {
		case <-tick.C:
			// An error: the next time, by us or by another consumer.
			trimmed, _ = c.broker.trim(ctx, c.options, trimmed)
		case <-ctx.Done():
			return
		}
	}
}

// open looks whether the queue is there, and listens.
func (c *consumer) open(ctx context.Context) error {
	if err := c.exists(ctx); err != nil {
		return err
	}
	var err error
	c.sub, err = c.broker.conn.ChanSubscribe(c.inbox, c.arrived)
	return c.broker.coded(ctx, err)
}

func (c *consumer) exists(ctx context.Context) error {
	_, err := c.broker.consumers(ctx, c.options)
	return err
}

// run takes messages until ctx ends or the queue is gone.
func (c *consumer) run(ctx context.Context, handlers *sync.WaitGroup) error {
	// What is asked of the server ends with the connection, and a handler that
	// runs for long needs word: both are looked after several times in AckWait.
	tick := time.NewTicker(min(c.broker.settings.AckWait/3, time.Second))
	defer tick.Stop()
	c.heard = time.Now()
	defer c.take(false)
	for {
		up, closed, changed := c.broker.state()
		if closed {
			return errClosed()
		}
		if ctx.Err() != nil {
			return nil
		}
		if !up {
			c.asked = 0
		} else {
			c.ask()
		}
		c.take(up && (c.taking || c.asked > 0))
		arrived := c.arrived
		if len(c.running) == c.options.Prefetch {
			arrived = nil
		}
		select {
		case m := <-arrived:
			c.heard = time.Now()
			if status := m.Header.Get("Status"); status != "" && ofServer(m) {
				if err := c.told(ctx, m, status); err != nil {
					return err
				}
				continue
			}
			c.asked = max(c.asked-1, 0)
			c.running[m] = struct{}{}
			handlers.Go(func() { c.work(ctx, m) })
		case m := <-c.done:
			c.finish(m)
		case <-changed:
			c.asked, c.heard = 0, time.Now() // a new connection is asked anew
		case <-tick.C:
			c.attend()
		case <-ctx.Done():
		}
	}
}

// take notes whether the server was asked for messages.
func (c *consumer) take(is bool) {
	if is == c.taking {
		return
	}
	c.taking = is
	b := c.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if is {
		b.taking[c.options.Name]++
	} else {
		b.taking[c.options.Name]--
	}
}

// Consuming implements [queue.Broker].
func (b *Broker) Consuming(o queue.Options) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taking[o.Name] > 0 && b.conn.IsConnected()
}

func (c *consumer) finish(m *nats.Msg) { delete(c.running, m) }

// ask asks for as many messages as may come: at once where none is to come, else
// when it is worth a request.
func (c *consumer) ask() {
	free := c.options.Prefetch - len(c.running) - c.asked
	if free < 1 || c.asked > 0 && free < c.options.Prefetch/2 || time.Now().Before(c.pause) {
		return
	}
	request, err := json.Marshal(struct {
		Batch     int           `json:"batch"`
		Expires   time.Duration `json:"expires"`
		Heartbeat time.Duration `json:"idle_heartbeat"`
	}{free, requestFor, quiet / 2})
	if err == nil {
		subject := fmt.Sprintf("$JS.API.CONSUMER.MSG.NEXT.%s%s.%s", streamPrefix, c.options.Name, durable)
		err = c.broker.conn.PublishRequest(subject, c.inbox, request)
	}
	if err != nil {
		c.pause = time.Now().Add(again) // the connection broke just now
		return
	}
	c.asked += free
}

// ofServer reports whether a message is the server's own word, and none of a
// stream: those have where to acknowledge them. Headers decide nothing, since
// whoever publishes may write a Status of his own.
func ofServer(m *nats.Msg) bool { return m.Reply == "" && len(m.Data) == 0 }

// told hears what the server says of a request.
func (c *consumer) told(ctx context.Context, m *nats.Msg, status string) error {
	if status == "100" {
		return nil // a sign of life
	}
	c.asked = toCome(m, c.asked)
	switch status {
	case "408": // its time was up
		return nil
	case "400":
		return wirelab.Errorf(wirelab.Internal, "NATS refuses to give messages: %s", m.Header.Get("Description"))
	}
	// The consumer is gone, or moves, or nobody listens: which, it will tell itself.
	c.pause = time.Now().Add(again)
	if err := c.exists(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// toCome is how many messages may still come of those asked for, after a request
// has ended with so many not sent; where it does not say how many, none will.
func toCome(m *nats.Msg, asked int) int {
	left, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if err != nil || left < 0 || left > asked {
		return 0
	}
	return asked - left
}

// attend tells the server that handlers still run, and notices when it no longer
// says anything of what was asked for.
func (c *consumer) attend() {
	for m := range c.running {
		_ = m.InProgress() // where it is not heard the message comes again
	}
	if c.asked > 0 && time.Since(c.heard) > quiet {
		c.asked, c.heard = 0, time.Now()
	}
}

// giveBack ends the listening and returns what came and was not begun, so that
// another consumer has it at once, and not after AckWait.
func (c *consumer) giveBack(ctx context.Context) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestLimit)
	defer cancel()
	// Drain has the server send no more, and ends the subscription when it has
	// answered: what it had sent before is then here.
	if up, _, _ := c.broker.state(); !up || c.sub.Drain() != nil {
		_ = c.sub.Unsubscribe() // of a connection that is gone
		return
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		over := !c.sub.IsValid()
		for len(c.arrived) > 0 {
			if m := <-c.arrived; m.Reply != "" {
				_ = m.Nak() // where it is not heard it comes again after AckWait
			}
		}
		if over {
			return
		}
		select {
		case <-look.C:
		case m := <-c.done:
			c.finish(m)
		case <-ending.Done():
			_ = c.sub.Unsubscribe()
			return
		}
	}
}

// flush has the last answers reach the server before the process may end.
func (c *consumer) flush(ctx context.Context) {
	if up, _, _ := c.broker.state(); up {
		flushing, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestLimit)
		defer cancel()
		_ = c.broker.conn.FlushWithContext(flushing) // else they come again
	}
}

// work handles one message.
func (c *consumer) work(ctx context.Context, m *nats.Msg) {
	defer func() { c.done <- m }() // there is room for all
	about, err := m.Metadata()
	if err != nil {
		return // no message of a stream; nothing of ours sends one here
	}
	d := queue.Delivery{
		Message: queue.Message{ID: m.Header.Get(idHeader), Body: m.Data},
		Attempt: int(about.NumDelivered), Redelivered: about.NumDelivered > 1,
	}
	c.settle(ctx, m, about, d, c.try(ctx, d))
}

// try calls the handler. One that panics has failed: the others go on.
func (c *consumer) try(ctx context.Context, d queue.Delivery) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = wirelab.Errorf(wirelab.Internal, "the handler of message %q panicked: %v", d.ID, fault)
		}
	}()
	return c.handle(ctx, d)
}

// settle answers the server. Where an answer does not arrive, the message comes
// again: nothing is done about that here.
func (c *consumer) settle(ctx context.Context, m *nats.Msg, about *nats.MsgMetadata, d queue.Delivery, failed error) {
	if failed == nil {
		_ = m.Ack()
		return
	}
	if ctx.Err() != nil {
		_ = m.Nak()
		return
	}
	code := wirelab.CodeOf(failed)
	hopeless := code == wirelab.InvalidArgument || code == wirelab.Conflict
	if !hopeless && d.Attempt < c.options.Attempts {
		_ = m.NakWithDelay(c.options.Retry)
		return
	}
	if err := c.bury(ctx, about.Sequence.Stream, d.Message); err != nil {
		_ = m.NakWithDelay(c.options.Retry) // it is not lost: it is tried, and put aside, again
		return
	}
	_ = m.Ack()
}

// bury puts a message into the dead letters. Twice within two minutes is once:
// its place in the queue tells.
func (c *consumer) bury(ctx context.Context, place uint64, m queue.Message) error {
	burying, cancel := context.WithTimeout(context.WithoutCancel(ctx), buryLimit)
	defer cancel()
	_, err := c.broker.js.PublishMsg(burying, envelope(buriedPrefix+c.options.Name, m), jetstream.WithMsgID(strconv.FormatUint(place, 10)))
	return err
}
