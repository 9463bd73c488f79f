package null

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"
)

// NATS returns a null of NATS with JetStream: the verbs of the client protocol, and of JetStream the creation of
// streams and consumers, acknowledgements and pull requests.
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

// natsPayload is the maximum length of a message with its headers, in bytes.
const natsPayload = 2 << 20

// natsInfo is the first line that a client receives.
const natsInfo = `INFO {"server_id":"null","server_name":"null","version":"2.15.0","proto":1,"headers":true,"jetstream":true,"max_payload":2097152}` + "\r\n"

// natsConn is a client of NATS.
type natsConn struct {
	server   *Server
	in       *bufio.Reader
	out      *writer
	subjects map[string]string  // by subscription id
	pulls    map[string]*reader // of consumers, by stream and name
	acks     []byte             // acknowledgements for the messages read together
}

func (c *natsConn) speak() error {
	c.out.say(func(to []byte) []byte { return append(to, natsInfo...) })
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err // clients here send no line longer than the buffer
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
		c.acks = c.acks[:0] // flush before the PONG: the client relies on that order
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

// published reads a message: its subject, its reply subject if any, and lengths lengths. Of two lengths the first
// is that of the headers.
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

// store stores a message in a stream, whose name is its subject.
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

// publish passes a message on, and returns the reply for its sender.
func (c *natsConn) publish(subject string, body []byte) []byte {
	if !c.server.topic(subject).publish(body) {
		return []byte(`{"error":{"code":503,"err_code":10077,"description":"no consumer takes the waiting messages"}}`)
	}
	return []byte(`{"stream":"` + subject + `","seq":1}`)
}

// answer sends a message to the reply subject of the client.
func (c *natsConn) answer(reply string, body []byte) {
	id := c.subscription(reply)
	if id == "" {
		return
	}
	c.out.say(func(to []byte) []byte { return appendNATS(to, reply, id, "", body) })
}

// subscription returns the id of the client's subscription that matches a subject; "" if none does. Clients here
// subscribe to inboxes, by exact name or with * at the end.
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

// appendNATS appends a message in the format of the protocol.
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
