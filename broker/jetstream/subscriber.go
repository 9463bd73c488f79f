package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"wirelab"
	"wirelab/broker"
)

// The times of asking for messages. Each request ends by itself; while it is
// open the server gives a sign of life every half of quiet.
const (
	requestFor = 30 * time.Second
	quiet      = 4 * time.Second
	again      = 100 * time.Millisecond // after a request was refused
	trimEvery  = time.Second            // what was acknowledged is removed
)

// signs is room for the server's signs of life.
const signs = 64

// subscriber reads a group over a connection of its own, so that what it was given and has
// not dealt with goes with it. All but settle and the ends runs in its goroutine.
//
// The library's own consumers ask for a number of messages to hold ready, on top of
// those that are being handled; only who asks by itself can keep the sum a bound.
// Invariant: running + asked <= Prefetch, but for what an earlier connection had asked for,
// which then waits in the channel.
type subscriber struct {
	*broker.Reading
	broker *Broker
	*link
	of     broker.Subscription
	handle broker.Handler

	sub     *nats.Subscription
	inbox   string
	arrived chan *nats.Msg
	dealt   chan *nats.Msg // handled and answered

	running map[*nats.Msg]struct{}
	asked   int       // messages that the server may still send
	heard   time.Time // of the server, last
	pause   time.Time // ask for nothing before

	mu    sync.Mutex // guards ready
	ready bool       // messages were asked for over this connection
}

// Subscribe implements [broker.Broker].
func (b *Broker) Subscribe(
	ctx context.Context, s broker.Subscription, handle broker.Handler,
) (broker.Subscriber, error) {
	l, err := b.own(ctx)
	if err != nil {
		return nil, err
	}
	r := &subscriber{
		Reading: broker.NewReading(ctx), broker: b, link: l, of: s, handle: handle,
		inbox: l.conn.NewInbox(), running: map[*nats.Msg]struct{}{}, heard: time.Now(),
		arrived: make(chan *nats.Msg, s.Ahead()+signs), dealt: make(chan *nats.Msg, s.Handlers()),
	}
	if err = r.exists(ctx); err == nil {
		r.sub, err = l.conn.ChanSubscribe(r.inbox, r.arrived)
	}
	if err == nil {
		r.ask()
		err = l.conn.FlushTimeout(requestLimit)
	}
	if err != nil {
		err = l.coded(ctx, err)
		b.drop(l)
		return nil, err
	}
	r.note(r.asked > 0)
	go r.read() // Close waits for it
	return r, nil
}

func (r *subscriber) exists(ctx context.Context) error {
	_, err := r.consumer(ctx, r.of.Topic, r.of.Group)
	return err
}

// read is the subscriber's goroutine.
func (r *subscriber) read() {
	defer r.Over()
	var handlers, trimming sync.WaitGroup
	if broker.IsQueue(r.of.Topic) {
		trimming.Go(r.trimming)
	}
	err := r.run(&handlers)
	r.note(false)
	r.Fail(err)
	r.Stop()
	r.giveBack()
	for len(r.running) > 0 {
		delete(r.running, <-r.dealt)
	}
	handlers.Wait()
	trimming.Wait()
	r.flush()
	r.broker.drop(r.link)
}

// trimming removes what was acknowledged, now and then, until the subscriber ends.
func (r *subscriber) trimming() {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	var trimmed uint64
	for {
		select {
		case <-tick.C:
			// An error: the next time, by this or by another consumer.
			trimmed, _ = r.trim(r.Life(), r.of.Topic, r.of.Group, trimmed)
		case <-r.Life().Done():
			return
		}
	}
}

// run takes messages until the subscriber is to end, or the group is gone.
func (r *subscriber) run(handlers *sync.WaitGroup) error {
	// What is asked of the server ends with the connection, and a handler that
	// runs for long needs word: both are looked after several times in AckWait.
	tick := time.NewTicker(min(r.broker.settings.AckWait/3, time.Second))
	defer tick.Stop()
	for !r.Stopped() {
		up, closed, changed := r.state()
		if closed {
			return broker.ErrClosed
		}
		if up {
			r.ask()
		} else {
			r.asked = 0
		}
		r.note(up && (r.ready || r.asked > 0))
		arrived := r.arrived
		if len(r.running) == r.of.Handlers() && r.of.Handlers() > 1 {
			arrived = nil
		}
		select {
		case m := <-arrived:
			if err := r.take(m, handlers); err != nil {
				return err
			}
		case m := <-r.dealt:
			delete(r.running, m)
		case <-changed:
			r.asked, r.heard = 0, time.Now() // a new connection is asked anew
		case <-tick.C:
			r.attend()
		case <-r.Life().Done():
		}
	}
	return nil
}

// take deals with what arrived: the server's word, or a message.
func (r *subscriber) take(m *nats.Msg, handlers *sync.WaitGroup) error {
	r.heard = time.Now()
	if status := m.Header.Get("Status"); status != "" && ofServer(m) {
		return r.hears(m, status)
	}
	r.asked = max(r.asked-1, 0)
	if r.of.Handlers() == 1 {
		r.work(m) // in order, and so here
		return nil
	}
	r.running[m] = struct{}{}
	handlers.Go(func() {
		defer func() { r.dealt <- m }() // there is room for all
		r.work(m)
	})
	return nil
}

// note notes whether the server was asked for messages.
func (r *subscriber) note(ready bool) {
	if ready == r.ready { // only the goroutine that calls this writes it
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = ready
}

// Ready implements [broker.Subscriber].
func (r *subscriber) Ready() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready && r.conn.IsConnected()
}

// ask asks for as many messages as may come: at once where none is to come, else
// when it is worth a request.
func (r *subscriber) ask() {
	free := r.of.Ahead() - len(r.running) - r.asked
	if free < 1 || r.asked > 0 && free < r.of.Ahead()/2 || time.Now().Before(r.pause) {
		return
	}
	request, err := json.Marshal(struct {
		Batch     int           `json:"batch"`
		Expires   time.Duration `json:"expires"`
		Heartbeat time.Duration `json:"idle_heartbeat"`
	}{free, requestFor, quiet / 2})
	if err == nil {
		subject := fmt.Sprintf("$JS.API.CONSUMER.MSG.NEXT.%s.%s", r.of.Topic, r.of.Group)
		err = r.conn.PublishRequest(subject, r.inbox, request)
	}
	if err != nil {
		r.pause = time.Now().Add(again) // the connection broke just now
		return
	}
	r.asked += free
}

// ofServer reports whether a message is the server's own word, and none of a
// stream: those have where to acknowledge them. Headers decide nothing, since
// any publisher may write a Status.
func ofServer(m *nats.Msg) bool { return m.Reply == "" && len(m.Data) == 0 }

// hears hears what the server says of a request.
func (r *subscriber) hears(m *nats.Msg, status string) error {
	if status == "100" {
		return nil // a sign of life
	}
	r.asked = toCome(m, r.asked)
	switch status {
	case "408": // its time was up
		return nil
	case "400":
		return wirelab.Errorf(wirelab.Internal, "NATS refuses to give messages: %s", m.Header.Get("Description"))
	}
	// The consumer is gone, or moves, or no server listens: which, it will tell itself.
	r.pause = time.Now().Add(again)
	if err := r.exists(r.Life()); err != nil && !r.Stopped() {
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
func (r *subscriber) attend() {
	for m := range r.running {
		_ = m.InProgress() // where it is not heard the message comes again
	}
	// While a handler held this goroutine up, messages came all the same.
	if r.asked > 0 && time.Since(r.heard) > quiet && len(r.arrived) == 0 {
		r.asked, r.heard = 0, time.Now()
	}
}

// giveBack ends the listening and returns what came and was not begun, so that
// another consumer has it at once, and not after AckWait.
func (r *subscriber) giveBack() {
	ending, cancel := context.WithTimeout(context.WithoutCancel(r.Life()), requestLimit)
	defer cancel()
	// Drain has the server send no more, and ends the subscription when it has
	// answered: what it had sent before is then here.
	if up, _, _ := r.state(); !up || r.sub.Drain() != nil {
		_ = r.sub.Unsubscribe() // of a connection that is gone
		return
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		over := !r.sub.IsValid()
		for len(r.arrived) > 0 {
			if m := <-r.arrived; m.Reply != "" {
				_ = m.Nak() // where it is not heard it comes again after AckWait
			}
		}
		if over {
			return
		}
		select {
		case <-look.C:
		case m := <-r.dealt:
			delete(r.running, m)
		case <-ending.Done():
			_ = r.sub.Unsubscribe()
			return
		}
	}
}

// flush has the last answers reach the server before the connection ends, else they come
// again; and removes dead letters that were taken.
func (r *subscriber) flush() {
	if up, _, _ := r.state(); !up {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Life()), requestLimit)
	defer cancel()
	_ = r.conn.FlushWithContext(ctx)
	if strings.HasPrefix(r.of.Topic, broker.DeadPrefix) {
		_, _ = r.trim(ctx, r.of.Topic, r.of.Group, 0) // or the next one does
	}
}

// work handles one message, and answers the server. Where an answer does not arrive, the
// message comes again: nothing is done about that here.
func (r *subscriber) work(m *nats.Msg) {
	about, err := m.Metadata()
	if err != nil {
		return // no message of a stream; nothing of ours sends one here
	}
	said := r.handle(r.Life(), broker.Delivery{
		Message: broker.Message{ID: m.Header.Get(idHeader), Body: m.Data},
		Attempt: int(about.NumDelivered), Redelivered: about.NumDelivered > 1,
		Failures: int(about.NumDelivered) - 1, Place: about.Sequence.Stream,
	})
	switch said.Do {
	case broker.RetryLater:
		_ = m.NakWithDelay(said.After)
	case broker.StopReading:
		_ = m.Nak()
		r.Stop()
	default:
		_ = m.Ack()
	}
}
