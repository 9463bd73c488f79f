package null

import (
	"bufio"
	"encoding/binary"
	"io"
)

// AMQP returns a null of RabbitMQ. Of AMQP 0-9-1 it supports opening channels; declaring, binding and deleting;
// publishing with confirms; and consuming with acknowledgements. An exchange passes each message to all queues that
// are bound to it, whatever its type.
func AMQP() *Server {
	return newServer(Options{}, func(s *Server, in io.Reader, out *writer) error {
		c := &amqpConn{server: s, out: out, in: bufio.NewReaderSize(in, 1<<16), channels: map[uint16]*amqpChannel{}}
		return c.speak()
	})
}

// Limits of a connection.
const (
	amqpFrame    = 1 << 17 // bytes of a frame, which both sides agree on
	amqpBody     = 1 << 20 // bytes of a message
	amqpChannels = 16      // of a connection
	amqpEnd      = 0xCE    // the last byte of a frame
	amqpHeader   = "AMQP\x00\x00\x09\x01"
	amqpMethods  = 1 // the types of frames
	amqpHeaders  = 2
	amqpBodies   = 3
)

// amqpConn is a client of AMQP.
type amqpConn struct {
	server   *Server
	in       *bufio.Reader
	out      *writer
	frame    []byte
	channels map[uint16]*amqpChannel
}

// amqpChannel is one of its channels.
type amqpChannel struct {
	number    uint16
	confirms  bool
	published uint64 // messages so far
	confirmed uint64 // of those published
	prefetch  int
	queue     *group
	reader    *reader // of queue; nil: no consumer
	acked     uint64  // the highest delivery tag that was

	// State of the message that is being read.
	exchange string
	left     uint64 // bytes
	body     []byte
}

func (c *amqpConn) speak() error {
	var greeting [len(amqpHeader)]byte
	if _, err := io.ReadFull(c.in, greeting[:]); err != nil {
		return err
	}
	if string(greeting[:]) != amqpHeader {
		return errUnknown
	}
	c.say(0, 10, 10, func(b []byte) []byte { // start: 0-9, properties, mechanisms, locales
		b = append(b, 0, 9)
		b = appendTable(b, "product", "RabbitMQ", "version", "4.0.0 (null)")
		return appendLong(appendLong(b, "PLAIN"), "en_US")
	})
	for {
		kind, channel, err := c.read()
		if err != nil {
			return err
		}
		if err := c.obey(kind, channel, c.frame); err != nil {
			return err
		}
		if c.in.Buffered() == 0 {
			c.confirm()
		}
	}
}

// read reads the next frame into c.frame.
func (c *amqpConn) read() (kind byte, channel uint16, err error) {
	var head [7]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return 0, 0, err
	}
	n := int(binary.BigEndian.Uint32(head[3:]))
	if n > amqpFrame {
		return 0, 0, errUnknown
	}
	if cap(c.frame) < n+1 {
		c.frame = make([]byte, n+1)
	}
	c.frame = c.frame[:n+1]
	if _, err := io.ReadFull(c.in, c.frame); err != nil {
		return 0, 0, err
	}
	if c.frame[n] != amqpEnd {
		return 0, 0, errUnknown
	}
	c.frame = c.frame[:n]
	return head[0], binary.BigEndian.Uint16(head[1:]), nil
}

func (c *amqpConn) obey(kind byte, channel uint16, frame []byte) error {
	switch kind {
	case amqpMethods:
		a := &arguments{rest: frame}
		class, method := a.short(), a.short()
		return c.call(channel, class, method, a)
	case amqpHeaders:
		if len(frame) < 12 {
			return errUnknown
		}
		return c.announced(channel, binary.BigEndian.Uint64(frame[4:]))
	case amqpBodies:
		return c.came(channel, frame)
	}
	return nil // a heartbeat
}

// announced starts a message of the given length.
func (c *amqpConn) announced(channel uint16, length uint64) error {
	of, open := c.channels[channel]
	if !open || length > amqpBody {
		return errUnknown
	}
	of.left, of.body = length, make([]byte, 0, length)
	if length == 0 {
		c.whole(of)
	}
	return nil
}

func (c *amqpConn) came(channel uint16, part []byte) error {
	of, open := c.channels[channel]
	if !open || uint64(len(part)) > of.left {
		return errUnknown
	}
	of.body = append(of.body, part...)
	if of.left -= uint64(len(part)); of.left == 0 {
		c.whole(of)
	}
	return nil
}

// whole publishes a message that has been read completely.
func (c *amqpConn) whole(of *amqpChannel) {
	of.published++
	if c.server.has(of.exchange) && !c.server.topic(of.exchange).publish(of.body) {
		c.confirmOn(of, of.published-1)
		c.say(of.number, 60, 120, func(b []byte) []byte { // nack, this one alone
			return append(binary.BigEndian.AppendUint64(b, of.published), 0)
		})
		of.confirmed = of.published
	}
	of.body = nil
}

// confirm confirms all messages that were published and not yet confirmed.
func (c *amqpConn) confirm() {
	for _, of := range c.channels {
		c.confirmOn(of, of.published)
	}
}

func (c *amqpConn) confirmOn(of *amqpChannel, upTo uint64) {
	if !of.confirms || of.confirmed >= upTo {
		return
	}
	of.confirmed = upTo
	c.say(of.number, 60, 80, func(b []byte) []byte { // ack, and those before it
		return append(binary.BigEndian.AppendUint64(b, upTo), 1)
	})
}

// say writes a method frame.
func (c *amqpConn) say(channel, class, method uint16, arguments func([]byte) []byte) {
	c.out.say(func(to []byte) []byte { return appendMethod(to, channel, class, method, arguments) })
}

// consume starts a consumer of a queue on the channel.
func (c *amqpConn) consume(of *amqpChannel, queue, tag string) {
	of.queue = c.queue(queue)
	of.acked = 0
	of.reader = &reader{give: func(body []byte, n uint64) {
		c.out.say(func(to []byte) []byte {
			to = appendMethod(to, of.number, 60, 60, func(b []byte) []byte { // deliver
				b = appendShort(b, tag)
				b = append(binary.BigEndian.AppendUint64(b, n), 0)
				return appendShort(appendShort(b, ""), "")
			})
			return appendContent(to, of.number, body)
		})
	}}
	ahead := of.prefetch
	if ahead == 0 {
		ahead = creditLimit
	}
	of.queue.allow(of.reader, ahead)
}

// settled processes the acknowledgement of one message, or of all up to it.
func (of *amqpChannel) settled(tag uint64, multiple bool) {
	if of.reader == nil {
		return
	}
	n := uint64(1)
	if multiple && tag >= of.acked {
		n, of.acked = tag-of.acked, tag
	}
	of.queue.allow(of.reader, int(min(n, creditLimit)))
}

// queue returns the queue with that name, creating it if needed. A queue becomes a group of each exchange that it
// is bound to; until then it belongs to a topic without a publisher.
func (c *amqpConn) queue(name string) *group { return c.server.topic(queuesTopic).group(name) }

// queuesTopic has all queues as its groups; no exchange that is published to has its name.
const queuesTopic = "\x00queues"
