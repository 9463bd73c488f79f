package null

import "encoding/binary"

// call executes a method. The numbers are those of the AMQP specification; comments name them.
func (c *amqpConn) call(channel, class, method uint16, a *arguments) error {
	if channel == 0 {
		return c.connection(class, method)
	}
	if class == 20 && method == 10 { // channel.open
		if len(c.channels) >= amqpChannels {
			return errUnknown
		}
		c.channels[channel] = &amqpChannel{number: channel}
		c.say(channel, 20, 11, func(b []byte) []byte { return appendLong(b, "") })
		return nil
	}
	of, open := c.channels[channel]
	if !open {
		if class == 20 && method == 41 { // close-ok
			return nil
		}
		return errUnknown
	}
	switch class {
	case 20:
		delete(c.channels, channel)
		if method == 40 { // close
			c.plain(channel, 20, 41)
		}
	case 40, 50:
		return c.declare(of, class, method, a)
	case 60:
		return c.basic(of, method, a)
	case 85: // confirm.select
		of.confirms = true
		c.plain(channel, 85, 11)
	default:
		return errUnknown
	}
	return nil
}

// plain sends a method without arguments.
func (c *amqpConn) plain(channel, class, method uint16) {
	c.say(channel, class, method, func(b []byte) []byte { return b })
}

// connection executes a method of class connection.
func (c *amqpConn) connection(class, method uint16) error {
	if class != 10 {
		return errUnknown
	}
	switch method {
	case 11: // start-ok: every client is accepted
		c.say(0, 10, 30, func(b []byte) []byte { // tune: channels, bytes of a frame, heartbeat
			b = binary.BigEndian.AppendUint16(b, amqpChannels)
			b = binary.BigEndian.AppendUint32(b, amqpFrame)
			return binary.BigEndian.AppendUint16(b, 0)
		})
	case 31, 51: // tune-ok, close-ok
	case 40: // open
		c.say(0, 10, 41, func(b []byte) []byte { return appendShort(b, "") })
	case 50: // close
		c.plain(0, 10, 51)
	default:
		return errUnknown
	}
	return nil
}

// declare executes a method of class exchange (40) or queue (50).
func (c *amqpConn) declare(of *amqpChannel, class, method uint16, a *arguments) error {
	a.short() // reserved
	name := a.text()
	switch {
	case class == 40 && method == 10: // exchange.declare
		a.text() // its kind
		if passive := a.octet()&1 != 0; passive && !c.server.has(name) {
			c.say(of.number, 20, 40, func(b []byte) []byte { // channel.close: not found
				b = appendShort(binary.BigEndian.AppendUint16(b, 404), "NOT_FOUND - no exchange")
				return binary.BigEndian.AppendUint32(b, uint32(class)<<16|uint32(method))
			})
			return a.failed
		}
		c.server.topic(name)
		c.plain(of.number, 40, 11)
	case class == 40 && method == 20: // exchange.delete
		c.server.remove(name)
		c.plain(of.number, 40, 21)
	case class == 50 && method == 10: // queue.declare
		c.queue(name)
		c.say(of.number, 50, 11, func(b []byte) []byte {
			return append(appendShort(b, name), 0, 0, 0, 0, 0, 0, 0, 0)
		})
	case class == 50 && method == 20: // queue.bind
		exchange := a.text()
		if !c.server.has(exchange) {
			return errUnknown
		}
		c.server.topic(exchange).add(name, c.queue(name))
		c.plain(of.number, 50, 21)
	case class == 50 && method == 40: // queue.delete
		c.server.topic(queuesTopic).drop(name)
		c.say(of.number, 50, 41, func(b []byte) []byte { return append(b, 0, 0, 0, 0) })
	default:
		return errUnknown
	}
	return a.failed
}

// basic executes a method of class basic.
func (c *amqpConn) basic(of *amqpChannel, method uint16, a *arguments) error {
	switch method {
	case 10: // qos
		a.long()
		of.prefetch = int(a.short())
		c.plain(of.number, 60, 11)
	case 20: // consume
		a.short()
		queue, tag := a.text(), a.text()
		if a.failed != nil || of.reader != nil {
			return errUnknown // clients here have at most one consumer per channel
		}
		c.say(of.number, 60, 21, func(b []byte) []byte { return appendShort(b, tag) })
		c.consume(of, queue, tag)
	case 30: // cancel
		tag := a.text()
		c.say(of.number, 60, 31, func(b []byte) []byte { return appendShort(b, tag) })
	case 40: // publish
		a.short()
		of.exchange = a.text()
	case 80, 90, 120: // ack, reject, nack: a rejected message is dropped
		tag := a.longLong()
		of.settled(tag, method == 80 && a.octet()&1 != 0)
	default:
		return errUnknown
	}
	return a.failed
}

// add adds a group to a topic, and drop removes one.
func (t *topic) add(name string, g *group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.groups[name] = g
}

func (t *topic) drop(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.groups, name)
}

// arguments decodes the arguments of a method. After an error every value is empty.
type arguments struct {
	rest   []byte
	failed error
}

func (a *arguments) take(n int) []byte {
	if len(a.rest) < n {
		a.rest, a.failed = nil, errUnknown
		return make([]byte, n)
	}
	taken := a.rest[:n]
	a.rest = a.rest[n:]
	return taken
}

func (a *arguments) octet() byte      { return a.take(1)[0] }
func (a *arguments) short() uint16    { return binary.BigEndian.Uint16(a.take(2)) }
func (a *arguments) long() uint32     { return binary.BigEndian.Uint32(a.take(4)) }
func (a *arguments) longLong() uint64 { return binary.BigEndian.Uint64(a.take(8)) }
func (a *arguments) text() string     { return string(a.take(int(a.octet()))) }

// appendFrame appends a frame; what appends its payload.
func appendFrame(to []byte, kind byte, channel uint16, what func([]byte) []byte) []byte {
	to = binary.BigEndian.AppendUint16(append(to, kind), channel)
	at := len(to)
	to = what(append(to, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(to[at:], uint32(len(to)-at-4))
	return append(to, amqpEnd)
}

func appendMethod(to []byte, channel, class, method uint16, arguments func([]byte) []byte) []byte {
	return appendFrame(to, amqpMethods, channel, func(b []byte) []byte {
		return arguments(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, class), method))
	})
}

// appendContent appends a message, to follow the method that delivers it.
func appendContent(to []byte, channel uint16, body []byte) []byte {
	to = appendFrame(to, amqpHeaders, channel, func(b []byte) []byte { // class, weight, length, no properties
		b = binary.BigEndian.AppendUint64(append(b, 0, 60, 0, 0), uint64(len(body)))
		return append(b, 0, 0)
	})
	const most = amqpFrame - 8 // the frame adds as much around the payload
	for len(body) > 0 {
		part := body[:min(len(body), most)]
		to = appendFrame(to, amqpBodies, channel, func(b []byte) []byte { return append(b, part...) })
		body = body[len(part):]
	}
	return to
}

// appendShort appends a text of at most 255 bytes, appendLong one of any length, and appendTable a table of texts.
func appendShort(to []byte, text string) []byte { return append(append(to, byte(len(text))), text...) }

func appendLong(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...)
}

func appendTable(to []byte, pairs ...string) []byte {
	var table []byte
	for i := 0; i+1 < len(pairs); i += 2 {
		table = appendLong(append(appendShort(table, pairs[i]), 'S'), pairs[i+1])
	}
	return appendLong(to, string(table))
}
