package rabbitmq

import (
	"context"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker"
)

// pendingLimit is how many messages of a publisher may be unconfirmed; the next
// waits, and so does the server's memory.
const pendingLimit = 4096

// Publisher implements [broker.Broker].
func (b *Broker) Publisher(context.Context, int) (broker.Publisher, error) {
	p := &publisher{broker: b, room: make(chan struct{}, pendingLimit)}
	return p, p.connect(context.Background())
}

// publisher publishes over a connection of its own, which it opens again when it is lost.
type publisher struct {
	broker    *Broker
	room      chan struct{} // holds one for each message that is not answered
	listening sync.WaitGroup
	link      *link // the sender's alone
	closed    bool  // likewise
}

// link is a connection with its channel and what is not answered on it.
type link struct {
	conn    *amqp.Connection
	channel *amqp.Channel
	room    chan struct{}

	mu   sync.Mutex          // guards open and lost
	open map[uint64]*sending // by delivery tag
	next uint64              // the tag of the next message
	lost error               // set: nothing is answered any more
}

// sending is a send that is not answered.
type sending struct {
	left   int
	failed error
	done   func(error)
}

// Calls implements [broker.Publisher].
func (*publisher) Calls() bool { return false }

// connect opens a link, trying again with pauses until ctx ends.
func (p *publisher) connect(ctx context.Context) error {
	for pause := dialPause; ; pause = min(2*pause, dialPauseUp) {
		l, err := p.open()
		if err == nil {
			p.link = l
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return coded(err)
		}
		if ctx.Done() == nil {
			return coded(err) // nobody gives an end to it
		}
	}
}

func (p *publisher) open() (*link, error) {
	conn, channel, err := p.broker.channel(func(c *amqp.Channel) error { return c.Confirm(false) })
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, channel: channel, room: p.room, open: map[uint64]*sending{}, next: 1}
	confirms := channel.NotifyPublish(make(chan amqp.Confirmation, pendingLimit))
	ended := channel.NotifyClose(make(chan *amqp.Error, 1))
	p.listening.Go(func() { l.listen(confirms, ended) })
	return l, nil
}

// listen tells of confirmations until the channel ends, and then of what has none.
func (l *link) listen(confirms <-chan amqp.Confirmation, ended <-chan *amqp.Error) {
	for c := range confirms {
		var err error
		if !c.Ack {
			err = wirelab.Errorf(wirelab.Unavailable, "RabbitMQ refused the message")
		}
		l.answer(c.DeliveryTag, err)
	}
	err := wirelab.Errorf(wirelab.Unavailable, "RabbitMQ: the connection is lost")
	if why, told := <-ended; told && why != nil {
		err = coded(why)
	}
	l.mu.Lock()
	l.lost = err
	open := l.open
	l.open = map[uint64]*sending{}
	l.mu.Unlock()
	for _, s := range open {
		l.settle(s, err)
	}
	_ = l.conn.CloseDeadline(time.Now().Add(dialLimit)) // a channel that ended leaves its connection, which nobody uses
}

func (l *link) answer(tag uint64, err error) {
	l.mu.Lock()
	s := l.open[tag]
	delete(l.open, tag)
	l.mu.Unlock()
	if s != nil {
		l.settle(s, err)
	}
}

// settle counts one message of a send. Messages of a send are counted by one goroutine
// at a time: the listener, or the sender of what it could not write.
func (l *link) settle(s *sending, err error) {
	<-l.room
	l.mu.Lock()
	if err != nil {
		s.failed = err
	}
	s.left--
	over, failed := s.left == 0, s.failed
	l.mu.Unlock()
	if over {
		s.done(failed)
	}
}

// expect notes that the next message is about to be written; false once the link is lost.
func (l *link) expect(s *sending) (tag uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		return 0, false
	}
	tag = l.next
	l.next++
	l.open[tag] = s
	return tag, true
}

// Send implements [broker.Publisher]. What could not be written fails at once; the
// next send opens another connection.
func (p *publisher) Send(ctx context.Context, topic string, bodies [][]byte, done func(error)) {
	if p.link.gone() {
		if err := p.connect(ctx); err != nil {
			done(err)
			return
		}
	}
	l := p.link
	s := &sending{left: len(bodies), done: done}
	for _, body := range bodies {
		select {
		case p.room <- struct{}{}:
		case <-ctx.Done():
			p.room <- struct{}{} // answers make room, or the link is lost and makes it
			l.settle(s, wirelab.Public(ctx.Err()))
			continue
		}
		tag, ok := l.expect(s)
		if !ok {
			l.settle(s, wirelab.Errorf(wirelab.Unavailable, "RabbitMQ: the connection is lost"))
			continue
		}
		if err := l.channel.PublishWithContext(ctx, topic, "", false, false, amqp.Publishing{Body: body, DeliveryMode: amqp.Persistent}); err != nil {
			l.answer(tag, coded(err))
			_ = l.conn.CloseDeadline(time.Now().Add(dialLimit)) // tags are counted by what was written, and this may have been or not
		}
	}
}

func (l *link) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost != nil
}

// closeLimit is how long a publisher waits for answers when it is closed.
const closeLimit = 10 * time.Second

// Close implements [broker.Publisher].
func (p *publisher) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	for until := time.Now().Add(closeLimit); len(p.room) > 0 && !p.link.gone() && time.Now().Before(until); {
		time.Sleep(time.Millisecond) // closing is no place to be fast
	}
	_ = p.link.conn.CloseDeadline(time.Now().Add(dialLimit)) // what is not answered is told so
	p.listening.Wait()
	return nil
}
