package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/httprpc"
	"wirelab/wire/sse"
	"wirelab/wire/status"
)

// batchLimit is how many bytes of messages are asked of a feed at once, and so
// about what a subscriber has in memory.
const batchLimit = 256 << 10

// ackTime is how long an acknowledgement may take.
const ackTime = 30 * time.Second

// form is how the events of a stream are written.
type form struct {
	open     func(id string) (name string, data []byte)
	message  func(dst []byte, at *place, m *hermes.Message) []byte
	retry    bool
	autoAck  bool
	position bool // events have ids, by which a reader continues
}

// events answers GET /v1/topics/{topic}/events.
func (c *call) events() error {
	start := broker.Start{Topic: c.variables[0], Group: c.query.text("group")}
	from := c.query.text("from")
	ack := c.query.choice("ack", "manual", "auto")
	base64Only := c.query.choice("encoding", "auto", "base64") == "base64"
	start.InFlight = int(c.query.number("in_flight", hermes.GroupRanges)) // at most that
	start.Create = c.query.flag("create")
	if err := c.query.done(); err != nil {
		return err
	}
	if err := c.names(); err != nil {
		return err
	}
	last := c.request.Header.Get("Last-Event-ID")
	switch {
	case start.Group != "" && from != "":
		return status.Errorf(status.InvalidArgument,
			"from and group are both given: a group continues where it is; seek it, or create it from elsewhere")
	case start.Group != "":
		if err := hermes.CheckGroup(start.Group); err != nil {
			return err
		}
		start.From = broker.FromGroup
	case start.InFlight != 0:
		return status.Errorf(status.InvalidArgument, "in_flight is for groups")
	case last != "": // EventSource has come back: this goes before from, which its URL keeps
		if err := resume(last, &start); err != nil {
			return err
		}
	case from != "":
		if err := spelling.From(from, &start); err != nil {
			return err
		}
	}
	return c.subscribe(start, form{
		open: func(id string) (string, []byte) {
			return "open", c.opened(id, &start)
		},
		message: func(dst []byte, at *place, m *hermes.Message) []byte {
			return appendDelivered(dst, at, m, base64Only)
		},
		retry: true, autoAck: ack == "auto" && start.Group != "", position: true,
	})
}

// resume begins behind the message whose event was the last that a reader got.
func resume(last string, start *broker.Start) error {
	offset, err := strconv.ParseUint(last, 10, 64)
	if err != nil || offset == math.MaxUint64 {
		return status.Errorf(status.InvalidArgument,
			"Last-Event-ID is %.40q, which is no event's id here: they are offsets", last)
	}
	start.From, start.Offset = broker.FromOffset, offset+1
	return nil
}

// opened is what a subscriber gets first. It panics if that cannot be JSON, which texts never cause.
func (c *call) opened(id string, start *broker.Start) []byte {
	data, err := json.Marshal(struct {
		Subscription string `json:"subscription"`
		Topic        string `json:"topic"`
		Group        string `json:"group,omitempty"`
		Node         string `json:"node"`
	}{id, start.Topic, start.Group, strconv.FormatUint(c.node(c.ctx), 10)})
	if err != nil {
		panic("rest: " + err.Error()) // texts always marshal
	}
	return data
}

// subscribe opens a feed and writes it as events until the reader leaves, the feed ends, or the API does. What
// fails before the feed is open is a status.
func (c *call) subscribe(start broker.Start, f form) error {
	if err := c.accepts(httprpc.MediaEvents); err != nil {
		return err
	}
	if err := c.withoutBody(); err != nil {
		return err
	}
	if c.request.Method == http.MethodHead {
		c.begin()
		return nil
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if err := c.open.Reserve(); err != nil {
		return err
	}
	defer c.open.Release()
	feed, err := c.broker.Subscribe(ctx, start)
	if err != nil {
		return err
	}
	defer feed.Close()
	id := c.open.Add(c.node(ctx), feed, start.Group != "")
	defer c.open.Remove(id)

	s := &stream{call: c, start: &start, form: f, control: http.NewResponseController(c.writer)}
	// Else the server's for a request's body would pass for the reader's leaving.
	_ = s.control.SetReadDeadline(time.Time{})
	defer func() { _ = s.control.SetWriteDeadline(time.Time{}) }()
	return s.run(ctx, cancel, id, feed)
}

func (c *call) begin() {
	c.begun = true
	c.writer.Header().Set("Content-Type", httprpc.MediaEvents)
	c.writer.WriteHeader(http.StatusOK)
}

// stream writes one subscription.
type stream struct {
	call    *call
	start   *broker.Start
	form    form
	control *http.ResponseController
	buffer  []byte
	message hermes.Message // used again for each
}

// run pumps the feed in a separate goroutine, with no queue between: a Next that a heartbeat cut short could
// lose what it was about to give. It waits for the goroutine, however it ends (hb-D20, hb-D30).
func (s *stream) run(ctx context.Context, cancel context.CancelFunc, id string, feed broker.Feed) error {
	batches := make(chan broker.Batch)
	var ended error // why the feed did; read once batches is closed
	var pump sync.WaitGroup
	defer pump.Wait()
	defer cancel()
	pump.Go(func() {
		defer close(batches)
		for {
			b, err := feed.Next(ctx, broker.Room{Bytes: batchLimit})
			if err != nil {
				ended = err
				return
			}
			select {
			case batches <- b:
			case <-ctx.Done():
				feed.Return(b.Count)
				ended = ctx.Err()
				return
			}
		}
	})
	s.call.begin()
	if !s.begin(id) {
		return nil
	}
	beat := time.NewTicker(s.call.config.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case b, more := <-batches:
			if !more {
				s.fail(ended)
				return nil
			}
			if written, ok := s.batch(&b); !ok {
				feed.Return(b.Count - written)
				return nil
			}
			if err := s.acknowledge(ctx, feed, &b); err != nil {
				s.fail(err)
				return nil
			}
			beat.Reset(s.call.config.Heartbeat)
		case <-beat.C:
			if !s.write(append(s.buffer[:0], ":\n\n"...)) {
				return nil
			}
		case <-s.call.ending.Done():
			s.fail(status.Errorf(status.Unavailable, "the node is stopping: subscribe again, at another"))
			return nil
		case <-ctx.Done():
			s.fail(ctx.Err())
			return nil
		}
	}
}

// retry is how long EventSource is instructed to wait before it comes back.
const retry = "retry: 1000\n\n"

// begin writes what comes before the first message, and a comment, by which some
// proxies and readers first notice that the stream is open.
func (s *stream) begin(id string) bool {
	s.buffer = s.buffer[:0]
	if s.form.retry {
		s.buffer = append(s.buffer, retry...)
	}
	name, data := s.form.open(id)
	s.buffer = sse.AppendEvent(s.buffer, name, "", data)
	return s.write(append(s.buffer, ":\n\n"...))
}

// batch writes a batch's messages as events, flushed together; written counts those that were, ok tells whether all.
func (s *stream) batch(b *broker.Batch) (written int, ok bool) {
	at := place{topic: s.start.Topic, offset: b.Offset, time: b.Time, attempt: b.Attempt}
	out := s.buffer[:0]
	if b.Gap != nil && s.form.position { // one without offsets could do nothing with them
		out = sse.AppendEvent(out, "gap", "", fmt.Appendf(nil, `{"first":%d,"last":%d}`, b.Gap.First, b.Gap.Last))
	}
	for message := range record.Messages(b.Messages) {
		if err := record.ReadMessage(message, &s.message); err != nil {
			s.fail(err)
			return written, false
		}
		if s.form.position && at.attempt > 0 {
			out = append(strconv.AppendUint(append(out, "id: "...), at.offset, 10), '\n')
		}
		out = append(out, "data: "...) // the JSON has no line break
		out = append(s.form.message(out, &at, &s.message), "\n\n"...)
		at.offset++
		if len(out) < batchLimit {
			continue
		}
		if !s.write(out) {
			return written, false
		}
		written = int(at.offset - b.Offset)
		out = s.buffer[:0]
	}
	s.call.tally.consumed(s.start.Topic, b.Count)
	if len(out) > 0 && !s.write(out) {
		return written, false
	}
	return b.Count, true
}

// bufferKept is the size in bytes up to which a stream keeps its buffer.
const bufferKept = 64 << 10

// write sends text, which is the buffer with more behind it, within the time
// that a reader may take for it.
func (s *stream) write(text []byte) bool {
	if s.buffer = text; cap(text) > bufferKept {
		s.buffer = nil
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(s.call.config.WriteTime)) // all versions can
	if _, err := s.call.writer.Write(text); err != nil {
		return false
	}
	return s.control.Flush() == nil
}

// fail tells why the stream ends, unless it is that its reader left.
func (s *stream) fail(err error) {
	if s.call.request.Context().Err() != nil {
		return
	}
	leader := s.call.leader(s.call.request.Context())
	s.write(sse.AppendEvent(s.buffer[:0], "failure", "", problemOf(err, leader).encode()))
}

// acknowledge is for readers who leave that to the API: only what was written is acknowledged (hb-D29). One
// that came too late is no failure of the stream: the message comes to another reader too.
func (s *stream) acknowledge(ctx context.Context, feed broker.Feed, b *broker.Batch) error {
	if !s.form.autoAck || b.Attempt == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	_, err := broker.Late(feed.Ack(ctx, []broker.Range{{First: b.Offset, Last: b.Offset + uint64(b.Count) - 1}}))
	return err
}
