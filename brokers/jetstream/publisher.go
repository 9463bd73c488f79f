package jetstream

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/brokers"
)

const (
	// pendingLimit is how many messages of a publisher may be unanswered; the next
	// waits. Twice as many were no faster, and a server that is behind drops none of
	// these.
	pendingLimit = 4096
	// answerLimit is how long an acknowledgement is waited for.
	answerLimit = 10 * time.Second
)

// Publisher implements [brokers.Broker].
func (b *Broker) Publisher(context.Context, int) (brokers.Publisher, error) {
	conn, _, err := b.dial()
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(pendingLimit), jetstream.WithPublishAsyncTimeout(answerLimit))
	if err != nil {
		conn.Close()
		return nil, err
	}
	p := &publisher{conn: conn, js: js, open: make(chan asked, pendingLimit)}
	p.listening.Go(p.listen)
	return p, nil
}

// publisher publishes over a connection of its own.
type publisher struct {
	conn *nats.Conn
	js   jetstream.JetStream
	// open are the messages that are not answered, in the order in which they were
	// sent, which is nearly that of the answers: one goroutine for all costs less than
	// the library's callback for each.
	open      chan asked
	listening sync.WaitGroup
}

// asked is a message that is not answered.
type asked struct {
	future jetstream.PubAckFuture // nil: it was not sent, for err
	err    error
	last   bool        // of its send
	done   func(error) // told with the last
}

// Calls implements [brokers.Publisher].
func (*publisher) Calls() bool { return false }

// Send implements [brokers.Publisher].
func (p *publisher) Send(ctx context.Context, topic string, bodies [][]byte, done func(error)) {
	for i, body := range bodies {
		a := asked{last: i == len(bodies)-1, done: done}
		if err := ctx.Err(); err != nil {
			a.err = wirelab.Public(err)
		} else if a.future, err = p.js.PublishAsync(topic, body, jetstream.WithStallWait(answerLimit)); err != nil {
			a.err = coded(err)
		}
		p.open <- a // as bounded as what may be pending; listen takes each within answerLimit
	}
}

// listen tells of answers, until the publisher is closed. A send of several messages
// fails with any of them.
func (p *publisher) listen() {
	var failed error
	for a := range p.open {
		err := a.err
		if a.future != nil {
			err = p.answer(a.future)
		}
		if err != nil && failed == nil {
			failed = err
		}
		if a.last {
			a.done(failed)
			failed = nil
		}
	}
}

func (*publisher) answer(f jetstream.PubAckFuture) error {
	select {
	case <-f.Ok():
		return nil
	case err := <-f.Err():
		return coded(err)
	}
}

// Close implements [brokers.Publisher]. It waits for what is not answered, which the
// library gives up in time.
func (p *publisher) Close() error {
	close(p.open)
	p.listening.Wait()
	p.conn.Close()
	return nil
}
