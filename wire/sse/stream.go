package sse

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"wirelab/wire/httprpc"
	"wirelab/wire/status"
)

// The names of the last event of a stream.
const (
	endEvent     = "end"
	failureEvent = "failure"
)

// EndID is the id of the end of a stream that can be resumed. It is no item's.
const EndID = "(end)"

// headerLast is the header in which a reader names the last event it got.
const headerLast = "Last-Event-Id"

// openTime is how long a stream with a heartbeat waits for its first item, or
// failure, before the reply begins without.
const openTime = 250 * time.Millisecond

// Stream is how the replies to a request become events. The zero value but for
// Codec is that of [ServerStream].
type Stream[Req, Rep any] struct {
	Codec   httprpc.Codec[Rep] // of JSON
	Name    string             // of each item's event; "": none, which EventSource calls "message"
	Failure string             // of the event that ends a stream which failed; "": "failure"
	// Heartbeat is after how long without an event a comment is written; 0: never.
	Heartbeat time.Duration
	// AnyOrigin lets pages of any origin read the stream.
	AnyOrigin bool
	Resume    *Resume[Req, Rep] // nil: a stream that broke is lost
}

// Resume is how a stream continues where it broke.
type Resume[Req, Rep any] struct {
	// Retry is how long a reader is instructed to wait before it connects again, in whole milliseconds.
	Retry time.Duration
	// ID names an item, in the header of a request: no line break, and not [EndID].
	ID func(*Rep) string
	// After changes a request to begin after the item of an id, whatever it said.
	After func(req *Req, id string)
	// Rest changes a request, for our client, to ask for what it asked less its
	// first n items, and reports whether that can be anything.
	Rest func(req *Req, n int64) bool
	// Shift changes an item, for our client, that came in a request's answer
	// after n items of it had come before; nil: an item does not tell its place.
	Shift func(rep *Rep, n int64)
}

// Query turns a request into a query and back. Decode must refuse what it
// cannot read with InvalidArgument.
type Query[T any] struct {
	Encode func(T) url.Values
	Decode func(url.Values) (T, error)
}

// ServerStream is the route of a call with one request and a stream of replies.
func ServerStream[Req, Rep any](
	request Query[Req], reply httprpc.Codec[Rep], call func(context.Context, Req) iter.Seq2[Rep, error],
) httprpc.Route {
	stream := Stream[Req, Rep]{Codec: reply}
	return httprpc.Route{Method: http.MethodGet, Answer: func(ctx context.Context, c *httprpc.Call) error {
		if err := c.Accepts(httprpc.MediaEvents); err != nil {
			return err
		}
		query, err := url.ParseQuery(c.Request.URL.RawQuery)
		if err != nil {
			return status.Errorf(status.InvalidArgument, "query: %v", err)
		}
		req, err := request.Decode(query)
		if err != nil {
			return err
		}
		ctx, release := c.Interruptible(ctx)
		defer release()
		return stream.send(ctx, c, req, call)
	}}
}

// Framing is the stream as one of a route's framings; see [httprpc.GetStream].
func (s Stream[Req, Rep]) Framing() httprpc.Framing[Req, Rep] {
	return httprpc.Framing[Req, Rep]{MediaType: httprpc.MediaEvents, Send: s.send}
}

// send answers c with the items that call makes of req. The reply begins with the first item, so that a call that
// fails before it has its own status, or with the first heartbeat.
func (s *Stream[Req, Rep]) send(
	ctx context.Context, c *httprpc.Call, req Req, call func(context.Context, Req) iter.Seq2[Rep, error],
) error {
	header := c.Writer.Header()
	if s.AnyOrigin {
		header.Set("Access-Control-Allow-Origin", "*")
	}
	if s.Resume != nil {
		switch last := c.Request.Header.Get(headerLast); last {
		case "":
		case EndID:
			c.Nothing()
			return nil
		default:
			s.Resume.After(&req, last)
		}
	}
	header.Set("Cache-Control", "no-store") // or a proxy may answer the next call
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	out := newEventWriter(c, s, leave)
	defer out.rest()
	err := httprpc.Guard(ctx, func() error {
		for item, err := range call(ctx, req) {
			if err != nil {
				return err
			}
			if more, err := s.item(out, &item); !more {
				return err
			}
		}
		return nil
	})
	out.rest()
	switch {
	case out.broken != nil:
		return out.broken
	case err != nil && !c.Begun():
		return err
	}
	return s.end(out, err)
}

// eventWriter writes the events of one reply. Items and heartbeats come from two
// goroutines.
type eventWriter struct {
	call  *httprpc.Call
	flush func() error
	leave context.CancelFunc // ends the service's work when its reader is gone
	every time.Duration      // between heartbeats; 0: there are none
	retry time.Duration      // told once, at the start; 0: not at all
	beats sync.WaitGroup     // the timer that is set, or its call that runs
	timer *time.Timer        // nil: there are no heartbeats. Assigned once

	mu     sync.Mutex // guards all below, and the reply
	buffer []byte
	quiet  bool // nothing was written since the last heartbeat was due
	ended  bool // no heartbeat may follow
	broken error
}

func newEventWriter[Req, Rep any](c *httprpc.Call, s *Stream[Req, Rep], leave context.CancelFunc) *eventWriter {
	o := &eventWriter{
		call: c, flush: http.NewResponseController(c.Writer).Flush, leave: leave, every: s.Heartbeat,
		quiet: true,
	}
	if s.Resume != nil {
		o.retry = s.Resume.Retry
	}
	if o.every > 0 {
		o.mu.Lock() // until there is a timer to set again
		defer o.mu.Unlock()
		o.beats.Add(1)
		o.timer = time.AfterFunc(min(o.every, openTime), o.beat)
	}
	return o
}

// beat writes a comment if nothing else was written for long enough.
func (o *eventWriter) beat() {
	defer o.beats.Done()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	if o.quiet {
		o.begin()
		if !o.write(append(o.buffer, ":\n\n"...)) {
			o.leave()
			return
		}
	}
	o.quiet = true
	o.beats.Add(1)
	o.timer.Reset(o.every)
}

// rest returns when no heartbeat is or will be written. It may be called again.
func (o *eventWriter) rest() {
	o.mu.Lock()
	ended := o.ended
	o.ended = true
	o.mu.Unlock()
	if o.timer == nil || ended {
		return
	}
	if o.timer.Stop() {
		o.beats.Done()
	}
	o.beats.Wait()
}

// begin starts the reply, if need be, with the buffer empty but for what comes
// before the first event.
func (o *eventWriter) begin() {
	o.buffer = o.buffer[:0]
	if o.call.Begun() {
		return
	}
	o.call.Begin(httprpc.MediaEvents)
	if o.retry > 0 {
		o.buffer = append(strconv.AppendInt(append(o.buffer, "retry: "...), o.retry.Milliseconds(), 10), "\n\n"...)
	}
}

// put writes an event, in the form of an append, and reports whether its reader may get it.
func (o *eventWriter) put(form func(buffer []byte, name, id string, data []byte) []byte, name, id string,
	data []byte,
) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken != nil {
		return false
	}
	o.begin()
	return o.write(form(o.buffer, name, id, data))
}

// write writes text, which is the buffer with more behind it, and keeps it for
// the next. There is no deadline: a slow reader is waited for until the call's
// context ends; see [httprpc.Call.Interruptible].
func (o *eventWriter) write(text []byte) bool {
	o.buffer, o.quiet = text, false
	if _, o.broken = o.call.Writer.Write(text); o.broken == nil {
		o.broken = o.flush()
	}
	return o.broken == nil
}

// item writes an item and reports whether to go on.
func (s *Stream[Req, Rep]) item(out *eventWriter, item *Rep) (bool, error) {
	data, err := s.Codec.Encode(*item)
	if err != nil {
		return false, err
	}
	id := ""
	if s.Resume != nil {
		id = s.Resume.ID(item)
		if id == EndID || strings.ContainsAny(id, "\x00\r\n") {
			return false, status.Caused(status.BadProtocol, status.Internal, "%.64q is no id of an event", id)
		}
	}
	return out.put(AppendEvent, s.Name, id, data), nil
}

// end writes the last event, with err if there is one.
func (s *Stream[Req, Rep]) end(out *eventWriter, err error) error {
	name, id, data := s.failure(), "", []byte("{}")
	if err != nil {
		data = httprpc.EncodeError(err)
	} else if name = endEvent; s.Resume != nil {
		id = EndID
	}
	out.put(appendLast, name, id, data)
	return out.broken
}

// failure is the name of the event that ends a stream which failed.
func (s *Stream[Req, Rep]) failure() string {
	if s.Failure != "" {
		return s.Failure
	}
	return failureEvent
}

// other is the other name of items' events.
func (s *Stream[Req, Rep]) other() string {
	if s.Name != "" {
		return s.Name
	}
	return "message"
}
