package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/broker"
)

const (
	// answerLimit limits the wait for an acknowledgement, and for buffer space.
	answerLimit = 10 * time.Second
	// patientLimit is the limit for an acknowledgement with a patient broker: the deadline of the caller is nearly
	// always sooner, and abandoned messages are not remembered for ever.
	patientLimit = time.Minute
	// stallLimit is the limit for buffer space if the caller's context has to be checked in between.
	stallLimit = 200 * time.Millisecond
)

// idHeader carries the id of a message.
const idHeader = "Wirelab-Id"

// Publisher implements [broker.Broker].
func (b *Broker) Publisher(ctx context.Context, c broker.PublisherConfig) (broker.Publisher, error) {
	if c.Topic != "" {
		stream, err := b.stream(ctx, c.Topic)
		if err != nil {
			return nil, err
		}
		if !c.Transient && stream.CachedInfo().Config.PersistMode != jetstream.DefaultPersistMode {
			return nil, wirelab.Errorf(wirelab.Conflict,
				"the queue %q was declared without Persistent, and cannot promise it", c.Topic)
		}
	}
	p := &publisher{broker: b, config: c, link: b.link, under: map[*nats.Msg]*sent{}}
	if !c.Shared {
		var err error
		if p.link, err = b.own(ctx); err != nil {
			return nil, err
		}
	}
	limit := answerLimit
	if b.config.Patient {
		limit = patientLimit
	}
	var err error
	p.js, err = jetstream.New(p.conn, // a context of this publisher: it matches acknowledgements to messages
		jetstream.WithPublishAsyncMaxPending(b.settings.InFlight), jetstream.WithPublishAsyncTimeout(limit),
		jetstream.WithPublishAsyncAckHandler(func(_ jetstream.JetStream, m *nats.Msg, _ *jetstream.PubAck) {
			p.answered(m, nil)
		}),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) {
			p.answered(m, err)
		}))
	if err != nil {
		if !c.Shared {
			b.drop(p.link)
		}
		return nil, p.coded(ctx, err)
	}
	return p, nil
}

// publisher publishes over its own connection, or the broker's. It takes answers in the order in which they arrive.
// Waiting for them in the order of the sends costs as much; and when a killed leader owed an answer, it delayed all
// answers of its successor by ten seconds.
type publisher struct {
	broker *Broker
	config broker.PublisherConfig
	*link
	js   jetstream.JetStream
	open sync.WaitGroup // messages without an answer yet
	once sync.Once      // of Close

	mu    sync.Mutex // guards all below
	under map[*nats.Msg]*sent
	ended bool
}

// sent is a message in flight. It is finished when it was both written and answered.
type sent struct {
	answer  func(broker.Receipt, error)
	written time.Time
	known   bool // err is its outcome
	err     error
}

// Calls implements [broker.Publisher].
func (*publisher) Calls() bool { return false }

// Away implements [broker.Publisher].
func (p *publisher) Away() (<-chan struct{}, error) { return p.away() }

// Send implements [broker.Publisher].
func (p *publisher) Send(ctx context.Context, topic string, batch []broker.Message, done func(broker.Receipt, error)) {
	answer, subject := broker.Together(len(batch), done), subjectOf(topic)
	for i := range batch {
		m := envelope(subject, &batch[i])
		if p.config.Unconfirmed {
			err := ctx.Err()
			if err == nil {
				err = p.conn.PublishMsg(m)
			}
			p.say(answer, time.Now(), err)
			continue
		}
		p.one(ctx, m, answer)
	}
}

// one sends a message with a confirm.
func (p *publisher) one(ctx context.Context, m *nats.Msg, answer func(broker.Receipt, error)) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		answer(broker.Receipt{}, broker.ErrClosed)
		return
	}
	s := &sent{answer: answer}
	p.under[m] = s // before the send: the answer may come before it returns
	p.mu.Unlock()
	p.open.Add(1)
	err := ctx.Err()
	if err == nil {
		err = p.publish(ctx, m)
	}
	if err != nil {
		p.answered(m, err)
	}
	p.mu.Lock()
	s.written = time.Now()
	known := s.known
	p.mu.Unlock()
	if known {
		p.finish(m, s)
	}
}

// publish passes a message to the library, which waits for buffer space.
func (p *publisher) publish(ctx context.Context, m *nats.Msg) error {
	if !p.config.FailFast {
		_, err := p.js.PublishMsgAsync(m, jetstream.WithStallWait(answerLimit))
		return err
	}
	for {
		_, err := p.js.PublishMsgAsync(m, jetstream.WithStallWait(stallLimit))
		if !errors.Is(err, jetstream.ErrTooManyStalledMsgs) || ctx.Err() != nil {
			return err
		}
	}
}

// answered records the outcome of a message; the first outcome counts.
func (p *publisher) answered(m *nats.Msg, err error) {
	p.mu.Lock()
	s := p.under[m]
	if s == nil || s.known {
		p.mu.Unlock()
		return
	}
	s.known, s.err = true, err
	written := !s.written.IsZero()
	p.mu.Unlock()
	if written {
		p.finish(m, s)
	}
}

// finish calls the sender back.
func (p *publisher) finish(m *nats.Msg, s *sent) {
	p.mu.Lock()
	mine := p.under[m] == s
	delete(p.under, m)
	p.mu.Unlock()
	if mine {
		p.say(s.answer, s.written, s.err)
		p.open.Done()
	}
}

func (p *publisher) say(answer func(broker.Receipt, error), written time.Time, err error) {
	r := broker.Receipt{Written: written}
	switch {
	case err != nil:
		answer(broker.Receipt{}, p.failed(err))
		return
	case !p.config.Unconfirmed:
		r.Confirmed = time.Now()
	}
	answer(r, nil)
}

// failed gives the error of a send its code.
func (p *publisher) failed(err error) error {
	var known *wirelab.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return wirelab.Public(err)
	case broken(err):
		return broker.ErrLost
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		if p.config.Topic != "" { // it existed when the publisher was made
			return wirelab.Errorf(wirelab.Unavailable,
				"the message is taken by no queue: it is gone, or JetStream is not ready")
		}
		return wirelab.Errorf(wirelab.NotFound, "NATS: %v", err)
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrAsyncPublishTimeout):
		return wirelab.Errorf(wirelab.DeadlineExceeded, "NATS: %v", err)
	}
	if _, closed, _ := p.state(); closed {
		return broker.ErrClosed
	}
	return p.told(err)
}

// Close implements [broker.Publisher]. A publisher with its own connection waits for missing answers, which the
// library times out. One that shares a connection abandons them, and first flushes unconfirmed messages.
func (p *publisher) Close() error {
	p.once.Do(func() {
		if !p.config.Shared {
			p.open.Wait()
			p.broker.drop(p.link)
			return
		}
		p.js.CleanupPublisher()
		if up, _, _ := p.state(); p.config.Unconfirmed && up {
			_ = p.conn.FlushTimeout(requestLimit) // unconfirmed messages promise nothing
		}
		p.mu.Lock()
		p.ended = true
		left := p.under
		p.under = map[*nats.Msg]*sent{}
		p.mu.Unlock()
		for _, s := range left {
			s.answer(broker.Receipt{}, broker.ErrClosed)
			p.open.Done()
		}
	})
	return nil
}

// envelope converts a message for NATS.
func envelope(subject string, m *broker.Message) *nats.Msg {
	e := &nats.Msg{Subject: subject, Data: m.Body}
	if m.ID != "" || m.Once != "" || len(m.Headers) > 0 {
		e.Header = nats.Header{}
	}
	for name, value := range m.Headers {
		e.Header[name] = []string{value}
	}
	if m.ID != "" {
		e.Header[idHeader] = []string{m.ID}
	}
	if m.Once != "" {
		e.Header[jetstream.MsgIDHeader] = []string{m.Once}
	}
	return e
}
