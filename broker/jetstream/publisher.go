package jetstream

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/broker"
)

const (
	// pendingLimit is how many messages of a publisher may be unanswered; the next
	// waits. Twice as many were no faster, and a server that is behind drops none of
	// these.
	pendingLimit = 4096
	// answerLimit is how long an acknowledgement is waited for.
	answerLimit = 10 * time.Second
)

// Publisher implements [broker.Broker].
func (b *Broker) Publisher(context.Context, int) (broker.Publisher, error) {
	conn, _, err := b.dial()
	if err != nil {
		return nil, err
	}
	p := &publisher{conn: conn, under: map[*nats.Msg]func(error){}}
	p.js, err = jetstream.New(conn,
		jetstream.WithPublishAsyncMaxPending(pendingLimit), jetstream.WithPublishAsyncTimeout(answerLimit),
		jetstream.WithPublishAsyncAckHandler(func(_ jetstream.JetStream, m *nats.Msg, _ *jetstream.PubAck) { p.answered(m, nil) }),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) { p.answered(m, coded(err)) }))
	if err != nil {
		conn.Close()
		return nil, err
	}
	return p, nil
}

// publisher publishes over a connection of its own. Each answer is taken as it comes:
// waiting for them in the order of the sends costs as much, and had one that a killed
// leader owed hold up for ten seconds all that its successor gave.
type publisher struct {
	conn *nats.Conn
	js   jetstream.JetStream
	open sync.WaitGroup // messages that are not answered

	mu    sync.Mutex                // guards under
	under map[*nats.Msg]func(error) // told what became of each
}

// Calls implements [broker.Publisher].
func (*publisher) Calls() bool { return false }

// Send implements [broker.Publisher].
func (p *publisher) Send(ctx context.Context, topic string, bodies [][]byte, done func(error)) {
	answer := done
	if len(bodies) > 1 {
		answer = broker.Together(len(bodies), done)
	}
	for _, body := range bodies {
		m := &nats.Msg{Subject: topic, Data: body}
		p.mu.Lock()
		p.under[m] = answer // before it is sent: its answer may be here first
		p.mu.Unlock()
		p.open.Add(1)
		if err := ctx.Err(); err != nil {
			p.answered(m, wirelab.Public(err))
		} else if _, err := p.js.PublishMsgAsync(m, jetstream.WithStallWait(answerLimit)); err != nil {
			p.answered(m, coded(err))
		}
	}
}

// answered takes what became of a message; the first word on it counts.
func (p *publisher) answered(m *nats.Msg, err error) {
	p.mu.Lock()
	answer := p.under[m]
	delete(p.under, m)
	p.mu.Unlock()
	if answer != nil {
		answer(err)
		p.open.Done()
	}
}

// Close implements [broker.Publisher]. It waits for what is not answered, which the
// library gives up in time.
func (p *publisher) Close() error {
	p.open.Wait()
	p.conn.Close()
	return nil
}
