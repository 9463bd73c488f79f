package null

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"
)

// NATS returns a null of NATS with JetStream: the client protocol's verbs, and of
// JetStream's what makes streams and consumers, acknowledges and is pulled.
func NATS(o Options) *Server {
	return newServer(o, func(s *Server, in io.Reader, out *writer) error {
		c := &natsConn{
			server:   s,
			out:      out,
			in:       bufio.NewReaderSize(in, 1<<16),
			subjects: map[string]string{},
			pulls:    map[string]*reader{},
		}
		return c.speak()
	})
}

// natsPayload is the most bytes of a message, its headers included.
const natsPayload = 2 << 20

// natsInfo is what a client is told first.
const natsInfo = `INFO {"server_id":"null","server_name":"null","version":"2.15.0","proto":1,"headers":true,"jetstream":true,"max_payload":2097152}` + "\r\n"

// natsConn is a client of NATS.
type natsConn struct {
	server   *Server
	in       *bufio.Reader
	out      *writer
	subjects map[string]string  // what it subscribed to, by subscription id
	pulls    map[string]*reader // of consumers, by stream and name
	acks     []byte             // acknowledgements of what was read at once
}

func (c *natsConn) speak() error {
	c.out.say(func(to []byte) []byte { return append(to, natsInfo...) })
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err // a line longer than the buffer is no client's here either
		}
		verb, rest, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(" "))
		if err := c.obey(string(verb), string(rest)); err != nil {
			return err
		}
		if c.in.Buffered() == 0 && len(c.acks) > 0 {
			c.out.say(func(to []byte) []byte { return append(to, c.acks...) })
			c.acks = c.acks[:0]
		}
	}
}

func (c *natsConn) obey(verb, rest string) error {
	words := strings.Fields(rest)
	switch strings.ToUpper(verb) {
	case "CONNECT", "PONG", "":
	case "PING":
		c.out.say(func(to []byte) []byte { return append(append(to, c.acks...), "PONG\r\n"...) })
		c.acks = c.acks[:0] // a client that waits for the PONG has what it waited for before
	case "SUB":
		if len(words) < 2 {
			return errUnknown
		}
		c.subjects[words[len(words)-1]] = words[0]
	case "UNSUB":
		if len(words) == 1 { // with a count it ends by itself, later
			delete(c.subjects, words[0])
		}
	case "PUB":
		return c.published(words, 1)
	case "HPUB":
		return c.published(words, 2)
	default:
		return errUnknown
	}
	return nil
}

// published reads a message: its subject, where its answer goes if anywhere, and as
// many lengths, of which the first of two is that of its headers.
func (c *natsConn) published(words []string, lengths int) error {
	if len(words) < 1+lengths || len(words) > 2+lengths {
		return errUnknown
	}
	reply := ""
	if len(words) == 2+lengths {
		reply = words[1]
	}
	total, err := strconv.Atoi(words[len(words)-1])
	if err != nil || total < 0 || total > natsPayload {
		return errUnknown
	}
	skip := 0
	if lengths == 2 {
		if skip, err = strconv.Atoi(words[len(words)-2]); err != nil || skip < 0 || skip > total {
			return errUnknown
		}
	}
	body := make([]byte, total+2)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return err
	}
	body = body[skip:total]
	switch subject := words[0]; {
	case strings.HasPrefix(subject, "$JS.ACK."):
		if reply != "" {
			c.answer(reply, nil)
		}
	case strings.HasPrefix(subject, "$JS.API."):
		c.ask(strings.Split(subject[len("$JS.API."):], "."), reply, body)
	default:
		c.store(subject, reply, body)
	}
	return nil
}

// store takes a message into a stream, whose name is its subject.
func (c *natsConn) store(subject, reply string, body []byte) {
	if !c.server.has(subject) {
		return // no stream listens
	}
	id := c.subscription(reply)
	if c.server.options.Delay == 0 {
		c.acks = appendNATS(c.acks, reply, id, "", c.publish(subject, body))
		return
	}
	c.server.late.do(func() {
		answer := c.publish(subject, body)
		c.out.say(func(to []byte) []byte { return appendNATS(to, reply, id, "", answer) })
	})
}

// publish hands a message on, and returns what its sender is told.
func (c *natsConn) publish(subject string, body []byte) []byte {
	if !c.server.topic(subject).publish(body) {
		return []byte(`{"error":{"code":503,"err_code":10077,"description":"nobody takes what waits"}}`)
	}
	return []byte(`{"stream":"` + subject + `","seq":1}`)
}

// answer sends a message to where the client waits for it.
func (c *natsConn) answer(reply string, body []byte) {
	id := c.subscription(reply)
	if id == "" {
		return
	}
	c.out.say(func(to []byte) []byte { return appendNATS(to, reply, id, "", body) })
}

// subscription is the id of a client's subscription that a subject falls under; "" of
// none. Clients here subscribe to inboxes, by their names or with * at the end.
func (c *natsConn) subscription(subject string) string {
	for id, pattern := range c.subjects {
		if pattern == subject {
			return id
		}
		if before, any := strings.CutSuffix(
			pattern,
			"*",
		); any && strings.HasPrefix(subject, before) &&
			!strings.Contains(subject[len(before):], ".") {
			return id
		}
	}
	return ""
}

// appendNATS appends a message as the protocol has it.
func appendNATS(to []byte, subject, id, reply string, body []byte) []byte {
	if id == "" {
		return to
	}
	to = append(append(append(append(to, "MSG "...), subject...), ' '), id...)
	if reply != "" {
		to = append(append(to, ' '), reply...)
	}
	to = strconv.AppendInt(append(to, ' '), int64(len(body)), 10)
	return append(append(append(to, "\r\n"...), body...), "\r\n"...)
}
