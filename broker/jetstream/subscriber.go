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

// Times of pull requests. Each request expires by itself; while it is open the server sends a heartbeat every half
// of quiet.
const (
	requestFor = 30 * time.Second
	quiet      = 4 * time.Second
	again      = 100 * time.Millisecond // after a request was refused
	trimEvery  = time.Second            // interval of trim
)

// signs is buffer space for the heartbeats of the server.
const signs = 64

// subscriber reads a group over its own connection, so that its unacknowledged messages are released with it.
// Everything except settle and the ends runs in its goroutine.
//
// It sends pull requests itself. The consumers of the library prefetch messages in addition to those that are being
// handled, and so cannot bound the sum. Invariant: running + asked <= Prefetch, except for messages requested over
// an earlier connection, which then wait in the channel.
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
	heard   time.Time // when the server last sent anything
	pause   time.Time // make no request before

	mu    sync.Mutex // guards ready
	ready bool       // a request was made over this connection
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

// read is the goroutine of the subscriber.
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

// trimming calls trim at intervals until the subscriber ends.
func (r *subscriber) trimming() {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	var trimmed uint64
	for {
		select {
		case <-tick.C:
			// On an error the next run, by this or another consumer, trims.
			trimmed, _ = r.trim(r.Life(), r.of.Topic, r.of.Group, trimmed)
		case <-r.Life().Done():
			return
		}
	}
}

// run takes messages until the subscriber is stopped, or the group is gone.
func (r *subscriber) run(handlers *sync.WaitGroup) error {
	// A pull request ends with its connection, and a long handler must be reported as in progress; attend does
	// both, several times in AckWait.
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
			r.asked, r.heard = 0, time.Now() // request again over the new connection
		case <-tick.C:
			r.attend()
		case <-r.Life().Done():
		}
	}
	return nil
}

// take processes what arrived: a status of the server, or a message.
func (r *subscriber) take(m *nats.Msg, handlers *sync.WaitGroup) error {
	r.heard = time.Now()
	if status := m.Header.Get("Status"); status != "" && ofServer(m) {
		return r.hears(m, status)
	}
	r.asked = max(r.asked-1, 0)
	if r.of.Handlers() == 1 {
		r.work(m) // in order, so on this goroutine
		return nil
	}
	r.running[m] = struct{}{}
	handlers.Go(func() {
		defer func() { r.dealt <- m }() // the channel has room for all
		r.work(m)
	})
	return nil
}

// note records whether messages were requested from the server.
func (r *subscriber) note(ready bool) {
	if ready == r.ready { // only the calling goroutine writes it
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

// ask requests as many messages as may come: at once if none are on their way, else when enough are missing to be
// worth a request.
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
		r.pause = time.Now().Add(again) // the connection has just broken
		return
	}
	r.asked += free
}

// ofServer reports whether a message is a status of the server rather than a message of a stream: those have a
// reply subject for the acknowledgement. Headers do not decide, since any publisher may set a Status.
func ofServer(m *nats.Msg) bool { return m.Reply == "" && len(m.Data) == 0 }

// hears processes a status of the server for a request.
func (r *subscriber) hears(m *nats.Msg, status string) error {
	if status == "100" {
		return nil // a heartbeat
	}
	r.asked = toCome(m, r.asked)
	switch status {
	case "408": // the request expired
		return nil
	case "400":
		return wirelab.Errorf(wirelab.Internal, "NATS refuses to give messages: %s", m.Header.Get("Description"))
	}
	// The consumer is gone, or moves to another server, or no server listens. A later request shows which.
	r.pause = time.Now().Add(again)
	if err := r.exists(r.Life()); err != nil && !r.Stopped() {
		return err
	}
	return nil
}

// toCome returns how many requested messages may still come after a request has ended with some not sent; 0 if the
// status has no count.
func toCome(m *nats.Msg, asked int) int {
	left, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if err != nil || left < 0 || left > asked {
		return 0
	}
	return asked - left
}

// attend tells the server that handlers are still running, and detects that the server has stopped answering a
// request.
func (r *subscriber) attend() {
	for m := range r.running {
		_ = m.InProgress() // if it is lost, the message is delivered again
	}
	// Messages may have arrived while a handler occupied this goroutine: then the server is not silent.
	if r.asked > 0 && time.Since(r.heard) > quiet && len(r.arrived) == 0 {
		r.asked, r.heard = 0, time.Now()
	}
}

// giveBack ends the subscription and returns unhandled messages, so that another consumer gets them at once instead
// of after AckWait.
func (r *subscriber) giveBack() {
	ending, cancel := context.WithTimeout(context.WithoutCancel(r.Life()), requestLimit)
	defer cancel()
	// Drain stops deliveries, and ends the subscription when the server has answered; all messages sent before are
	// here by then.
	if up, _, _ := r.state(); !up || r.sub.Drain() != nil {
		_ = r.sub.Unsubscribe() // the connection is gone
		return
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		over := !r.sub.IsValid()
		for len(r.arrived) > 0 {
			if m := <-r.arrived; m.Reply != "" {
				_ = m.Nak() // if it is lost, the message is delivered again after AckWait
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

// flush waits until the last acknowledgements have reached the server, since unsent ones would mean redelivery, and
// trims dead letters that were taken.
func (r *subscriber) flush() {
	if up, _, _ := r.state(); !up {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Life()), requestLimit)
	defer cancel()
	_ = r.conn.FlushWithContext(ctx)
	if strings.HasPrefix(r.of.Topic, broker.DeadPrefix) {
		_, _ = r.trim(ctx, r.of.Topic, r.of.Group, 0) // the next trim does it on an error
	}
}

// work handles one message and answers the server. If the answer is lost, the server delivers the message again, so
// errors are ignored.
func (r *subscriber) work(m *nats.Msg) {
	about, err := m.Metadata()
	if err != nil {
		return // not a message of a stream; we send none of these
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
