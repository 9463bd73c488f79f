package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/api/register"
	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
)

// put stores texts.
func (s *rig) put(topic string, texts ...string) {
	s.Helper()
	for _, text := range texts {
		s.want(s.ask("POST", "/v1/topics/"+topic+"/messages", text, "Content-Type", kindBytes), 200, "offset")
	}
}

// A subscriber begins where it says, has ids, and continues behind the last one it got (hb-D29).
func TestBeginnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, query, last, want string }{
		{"the oldest", "?from=oldest", "", "0:a 1:b 2:c 3:d 4:e"},
		{"an offset", "?from=2", "", "2:c 3:d 4:e"},
		{"a time", "?from=TIME", "", "3:d 4:e"},
		{"behind the last", "?from=oldest", "1", "2:c 3:d 4:e"},
		{"behind the last, without more", "", "2", "3:d 4:e"},
		{"the tail", "", "", "4:e"},
		{"the tail, by its name", "?from=tail", "", "4:e"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			s := start(t, rest.Config{})
			s.topic("t")
			s.put("t", "a", "b", "c")
			at := read[struct{ Time string }](s,
				s.ask("POST", "/v1/topics/t/messages", "d", "Content-Type", kindBytes)).Time
			address, _ := s.serve()
			var header []string
			if c.last != "" {
				header = []string{"Last-Event-ID", c.last}
			}
			l := s.listen(address, "/v1/topics/t/events"+strings.ReplaceAll(c.query, "TIME", escape(at)), header...)
			s.put("t", "e")
			if got := l.texts(len(strings.Fields(c.want))); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Bytes of any kind arrive, as text only where they are text (hb-D28).
func TestDelivered(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	s.topic("t")
	nasty := "\x00\"\\\r\n\t\u2028😀 </script>"
	text, err := json.Marshal(nasty)
	if err != nil {
		t.Fatal(err)
	}
	s.want(s.post("/v1/topics/t/messages", `{"messages":[{"payload":`+string(text)+
		`,"key":"k","headers":[{"name":"\"n\"","value":"v"},{"name":"b","value_base64":"/w=="}]},{"payload_base64":"/w=="},{"payload":""}]}`), 200, "")
	address, _ := s.serve()
	l := s.listen(address, "/v1/topics/t/events?from=oldest")
	one, two, three := l.message(), l.message(), l.message()
	if *one.Payload != nasty || *one.Key != "k" || one.ID != "0" || *one.Offset != 0 || one.Attempt != 1 ||
		one.Topic != "t" || time.Since(one.Time).Abs() > time.Hour ||
		fmt.Sprint(one.Headers) != `[map[name:"n" value:v] map[name:b value_base64:/w==]]` {
		t.Errorf("%+v, payload %q", one, *one.Payload)
	}
	if two.Payload != nil || string(two.PayloadBase64) != "\xff" || two.ID != "1" || two.Key != nil ||
		two.Headers != nil {
		t.Errorf("%+v", two)
	}
	if three.Payload == nil || *three.Payload != "" {
		t.Errorf("%+v", three)
	}
	if d := s.listen(address,
		"/v1/topics/t/events?from=oldest&encoding=base64").message(); string(d.PayloadBase64) != nasty ||
		d.Payload != nil {
		t.Errorf("%+v", d)
	}
	// Messages in performance mode have no offset, and no id to go on behind.
	s.want(s.ask("POST", "/v1/topics/t/messages?mode=performance", "p", "Content-Type", kindBytes), 200, "")
	// The id is the last that the stream named.
	if d := l.message(); d.Offset != nil || d.Attempt != 0 || *d.Payload != "p" || d.ID != "2" {
		t.Errorf("%+v", d)
	}
}

// Members of a group share the work and acknowledge it; what one gives back comes
// to another, and what it did not acknowledge when it left (hb-D18, hb-D29).
func TestGroup(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	s.topic("t")
	s.put("t", "a", "b", "c", "d")
	address, _ := s.serve()
	first := s.listen(address, "/v1/topics/t/events?group=g&in_flight=2")
	if got := first.texts(2); got != "0:a 1:b" {
		t.Errorf("the first gets %s", got)
	}
	// which says nothing here
	second := s.listen(address, "/v1/topics/t/events?group=g&in_flight=2", "Last-Event-ID", "2")
	if got := second.texts(2); got != "2:c 3:d" {
		t.Errorf("the second gets %s", got)
	}
	if first.id == second.id || !strings.HasPrefix(first.id, "1-") {
		t.Errorf("ids %s and %s", first.id, second.id)
	}
	floor := func() uint64 {
		return read[struct{ Floor uint64 }](s,
			s.want(s.ask("GET", "/v1/topics/t/groups/g", ""), 200, `"members"`)).Floor
	}
	ack := func(id, verb, body string) answer { return s.post("/v1/subscriptions/"+id+"/"+verb, body) }
	s.want(ack(first.id, "ack", `{"ranges":[{"first":0,"last":0}]}`), 204, "")
	for _, verb := range []string{"ack", "nack"} { // 1 is not its own
		s.want(ack(second.id, verb, `{"ranges":[{"first":1,"last":1},{"first":2,"last":3}]}`), 400,
			"offset 1 was never delivered")
	}
	s.want(ack(second.id, "ack", `{"ranges":[{"first":2,"last":3}]}`), 204, "")
	if at := floor(); at != 1 {
		t.Errorf("the floor is %d: another member's message was acknowledged", at)
	}
	s.want(ack(first.id, "nack", `{"ranges":[{"first":1,"last":1}],"reason":"no"}`), 204, "")
	// It may come to either: the first leaves, so that it comes to the second.
	first.leave()
	for {
		d := second.message()
		if *d.Offset != 1 || d.Attempt < 2 {
			t.Errorf("%+v comes again", d)
		}
		s.want(ack(second.id, "ack", `{"ranges":[{"first":1,"last":1}]}`), 204, "")
		if floor() == 4 {
			break
		}
	}
}

// An acknowledgement says what is wrong with it.
func TestAckRefuses(t *testing.T) {
	t.Parallel()
	members := []broker.Member{{ID: 1, HTTP: "a:1"}, {ID: 2, HTTP: "b:2"}, {ID: 3}}
	m := memory(t)
	s := start(t, rest.Config{Broker: &scripted{
		Broker: m,
		status: &broker.Status{Node: 1, Leader: 1, Members: members},
	}})
	s.topic("t")
	address, _ := s.serve()
	l := s.listen(address, "/v1/topics/t/events?group=g")
	all := s.listen(address, "/v1/topics/t/events")
	const body = `{"ranges":[{"first":0,"last":0}]}`
	s.put("t", "a")
	l.texts(1)
	for _, c := range []struct {
		id, verb, body string
		status         int
	}{
		{l.id, "ack", body, 204},
		{l.id, "nack", body, 204},
		{l.id, "nack", `{"ranges":[{"first":0,"last":0}],"delay":"1s","reason":"r"}`, 204},
		{l.id, "ack", `{"ranges":[{"first":0,"last":1}]}`, 400},
		{l.id, "ack", `{"ranges":[{"first":77,"last":99}]}`, 400},
		{l.id, "nack", `{"ranges":[{"first":77,"last":99}]}`, 400},
		{l.id, "ack", `{"ranges":[]}`, 400},
		{l.id, "ack", `{"ranges":[{"first":1,"last":0}]}`, 400},
		{l.id, "ack", `{"ranges":[` + strings.Repeat(`{"first":0,"last":0},`, 4096) + `{"first":0,"last":0}]}`, 400},
		{l.id, "ack", `{"ranges":[{"first":0,"last":0}],"delay":"1s"}`, 400},
		{l.id, "nack", `{"ranges":[{"first":0,"last":0}],"delay":"-1s"}`, 400},
		{l.id, "nack", `{"ranges":[{"first":0,"last":0}],"delay":"soon"}`, 400},
		{all.id, "ack", body, 400},
		{"1-none", "ack", body, 404},
		{"none", "ack", body, 404},
		{"3-none", "ack", body, 404},
		{"4-none", "ack", body, 404},
		{"2-x%2Fy", "ack", body, 307},
		{"2-x%2Fy", "nack", body, 307},
	} {
		a := s.want(s.post("/v1/subscriptions/"+c.id+"/"+c.verb, c.body), c.status, "")
		if where := a.header.Get("Location"); c.status == 307 &&
			where != "http://b:2/v1/subscriptions/2-x%2Fy/"+c.verb {
			t.Errorf("it is sent to %q", where)
		}
	}
	l.leave()
	for _, err := l.events.Next(); err == nil; _, err = l.events.Next() {
	}
}

// Written data is acknowledged for readers who ask for that, and not before (hb-D29): a feed notes what was
// written when it is acknowledged.
func TestAutomaticAcks(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/v1/topics/t/events?group=g&ack=auto", "/subscribe?topic=t&group=g"} {
		w := &written{ResponseRecorder: httptest.NewRecorder()}
		var acked []broker.Range
		var early bool
		ctx, leave := context.WithCancel(t.Context())
		f := &feed{
			batches: []broker.Batch{{Offset: 5, Count: 2, Attempt: 1, Messages: brokertest.Messages("x", "y")}},
			ack: func(ranges []broker.Range) {
				acked = append(acked, ranges...)
				early = !strings.Contains(w.flushed, `"y"`)
				leave()
			},
		}
		b := &scripted{Broker: memory(t), subscribe: func(context.Context, broker.Start) (broker.Feed, error) {
			return f, nil
		}}
		s := start(t, rest.Config{Broker: b})
		s.handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "http://localhost"+target, http.NoBody))
		if early || fmt.Sprint(acked) != "[{5 6}]" || !f.closed.Load() {
			t.Errorf("%s: acknowledged %v, early: %v, closed: %v", target, acked, early, f.closed.Load())
		}
	}
}

// written notes what was flushed.
type written struct {
	*httptest.ResponseRecorder
	flushed string
}

func (w *written) FlushError() error {
	w.flushed = w.Body.String()
	return nil
}

// An acknowledgement of which a part came too late says which; the stream that it is about continues, also
// where the API acknowledges by itself.
func TestLateAck(t *testing.T) {
	t.Parallel()
	f := &feed{late: []broker.Range{{First: 3, Last: 5}, {First: 7, Last: 7}}, batches: []broker.Batch{
		{Offset: 3, Count: 1, Attempt: 1, Messages: brokertest.Messages("x")}, {
			Offset: 4, Count: 1, Attempt: 1,
			Messages: brokertest.Messages("y"),
		},
	}}
	s := start(t, rest.Config{Broker: &scripted{Broker: memory(t), subscribe: func(context.Context,
		broker.Start,
	) (broker.Feed, error) {
		return f, nil
	}}})
	address, _ := s.serve()
	l := s.listen(address, "/v1/topics/t/events?group=g&ack=auto")
	if got := l.texts(2); got != "3:x 4:y" {
		t.Errorf("the reader gets %s", got)
	}
	a := s.want(s.post("/v1/subscriptions/"+l.id+"/ack", `{"ranges":[{"first":3,"last":8}]}`), 409, `"conflict"`)
	told := read[struct {
		Late []struct{ First, Last uint64 }
	}](s, a)
	if fmt.Sprint(told.Late) != "[{3 5} {7 7}]" {
		t.Errorf("late is %v", told.Late)
	}
	l.leave()
}

// broken is a connection that takes so much and then no more.
type broken struct {
	*httptest.ResponseRecorder
	left int
}

func (w *broken) Write(text []byte) (int, error) {
	if w.left -= len(text); w.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return w.ResponseRecorder.Write(text)
}

// What could not be written was not tried: it is given back, and no more than that.
func TestUnwrittenIsGivenBack(t *testing.T) {
	t.Parallel()
	for left, want := range map[int]int64{400: 2, 1 << 20: 0} {
		f := &feed{err: status.Errorf(status.NotFound, "the end"), batches: []broker.Batch{
			{Offset: 5, Count: 1, Attempt: 1, Messages: brokertest.Messages("x")},
			{Offset: 6, Count: 2, Attempt: 1, Messages: brokertest.Messages(strings.Repeat("y", 300), "z")},
		}}
		b := &scripted{Broker: memory(t), subscribe: func(context.Context, broker.Start) (broker.Feed, error) {
			return f, nil
		}}
		s := start(t, rest.Config{Broker: b})
		w := &broken{httptest.NewRecorder(), left}
		s.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET",
			"http://localhost/v1/topics/t/events?group=g", http.NoBody))
		if got := f.unsent.Load(); got != want || !strings.Contains(w.Body.String(), `"x"`) {
			t.Errorf("with %d bytes: %d messages are given back, want %d; written: %s", left, got, want, w.Body)
		}
	}
}

// feed gives batches, then waits for its end, or ends with an error.
type feed struct {
	batches []broker.Batch
	err     error
	ack     func([]broker.Range)
	late    []broker.Range // of every acknowledgement
	closed  atomic.Bool
	unsent  atomic.Int64
}

func (f *feed) Next(ctx context.Context, _ broker.Room) (broker.Batch, error) {
	if len(f.batches) > 0 {
		b := f.batches[0]
		f.batches = f.batches[1:]
		return b, nil
	}
	if f.err != nil {
		return broker.Batch{}, f.err
	}
	<-ctx.Done()
	return broker.Batch{}, status.Public(ctx.Err())
}

// Return notes what was not sent.
func (f *feed) Return(count int) { f.unsent.Add(int64(count)) }

func (f *feed) Ack(_ context.Context, ranges []broker.Range) error {
	if len(f.late) > 0 {
		return &broker.LateError{Ranges: f.late}
	}
	f.ack(ranges)
	return nil
}

func (f *feed) Nack(context.Context, []broker.Range, string, int64) error { return nil }

func (f *feed) Close() { f.closed.Store(true) }

// A stream whose feed ends says so and ends; so does one whose node stops, which
// waits for none (hb-D20, hb-D31).
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	s.topic("t")
	s.topic("gone")
	address, stop := s.serve()
	l, g := s.listen(address, "/v1/topics/t/events"), s.listen(address, "/v1/topics/gone/events")
	s.want(s.ask("DELETE", "/v1/topics/gone", ""), 204, "")
	if code := g.failure(); code != "not_found" {
		t.Errorf("a deleted topic: %s", code)
	}
	group := s.listen(address, "/v1/topics/t/events?group=g")
	s.memory.Lead(false)
	if code := group.failure(); code != "unavailable" {
		t.Errorf("a leader lost: %s", code)
	}
	s.memory.Lead(true)
	timed := s.listen(address, "/v1/topics/t/events", "Call-Timeout-Ms", "100")
	if code := timed.failure(); code != "deadline_exceeded" {
		t.Errorf("a time that is over: %s", code)
	}
	stop()
	if code := l.failure(); code != "unavailable" {
		t.Errorf("a stop: %s", code)
	}
}

// Comments come while nothing else does.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{Heartbeat: time.Millisecond})
	s.topic("t")
	address, _ := s.serve()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/topics/t/events",
		http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	w, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	var text strings.Builder
	for strings.Count(text.String(), ":\n\n") < 4 {
		if _, err := io.CopyN(&text, w.Body, 1); err != nil {
			t.Fatalf("%q: %v", text.String(), err)
		}
	}
	if !strings.HasPrefix(text.String(), "retry: 1000\n\nevent: open\ndata: {\"subscription\":\"1-") {
		t.Errorf("%q", text.String())
	}
}

// A reader that does not read is given up after its time, and its feed is closed; In the meantime another gets
// everything.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	big := strings.Repeat("x", hermes.PayloadLimit/2)
	b := &scripted{Broker: memory(t), subscribe: func(context.Context, broker.Start) (broker.Feed, error) {
		return &endless{
			batch:  broker.Batch{Count: 1, Attempt: 1, Messages: brokertest.Messages(big)},
			closed: closed,
		}, nil
	}}
	s := start(t, rest.Config{Broker: b, WriteTime: 20 * time.Millisecond})
	address, _ := s.serve()
	s.listen(address, "/v1/topics/t/events") // and reads no further
	select {
	case <-closed:
	case <-time.NewTimer(patience).C:
		t.Fatal("the feed of a reader that does not read stays open")
	}
}

// endless always has the same batch.
type endless struct {
	feed
	batch  broker.Batch
	closed chan struct{}
}

func (e *endless) Next(ctx context.Context, _ broker.Room) (broker.Batch, error) {
	return e.batch, ctx.Err()
}

func (e *endless) Close() { close(e.closed) }

// A reader that leaves ends its feed, whatever that waits for (hb-D04, hb-D30).
func TestReaderLeaves(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	b := &scripted{Broker: memory(t), subscribe: func(context.Context, broker.Start) (broker.Feed, error) {
		return &parting{closed: closed}, nil
	}}
	s := start(t, rest.Config{Broker: b})
	address, _ := s.serve()
	s.listen(address, "/v1/topics/t/events").leave()
	select {
	case <-closed:
	case <-time.NewTimer(patience).C:
		t.Fatal("the feed of a reader that left stays open")
	}
}

// parting tells when it is closed.
type parting struct {
	feed
	closed chan struct{}
}

func (p *parting) Close() { close(p.closed) }

// Subscriptions are bounded, and a place is free again when one ends.
func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{Register: register.New(1)})
	s.topic("t")
	s.topic("u")
	address, _ := s.serve()
	l := s.listen(address, "/v1/topics/t/events")
	s.want(s.ask("GET", "/v1/topics/u/events", ""), 429, "resource_exhausted")
	s.want(s.ask("DELETE", "/v1/topics/t", ""), 204, "")
	l.failure()
	s.listen(address, "/v1/topics/u/events")
}

// What cannot be subscribed to is a status, and no stream.
func TestSubscribeRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	s.topic("t")
	const to = "/v1/topics/t/events"
	for _, c := range []struct {
		why, to string
		status  int
		header  []string
	}{
		{"a topic that is not there", "/v1/topics/none/events", 404, nil},
		{"another place", to + "?from=middle", 400, nil},
		{"a negative offset", to + "?from=-1", 400, nil},
		{"a time beyond 64 bits", to + "?from=9999-01-01T00:00:00Z", 400, nil},
		{"a place of a group", to + "?from=oldest&group=g", 400, nil},
		{"a group by a reserved name", to + "?group=__REPLAY__", 400, nil},
		{"a group by a wrong name", to + "?group=a%00", 400, nil},
		{"in_flight without a group", to + "?in_flight=1", 400, nil},
		{"in_flight beyond its bound", to + "?group=g&in_flight=10001", 400, nil},
		{"another way to acknowledge", to + "?group=g&ack=never", 400, nil},
		{"unknown parameter", to + "?groups=g", 400, nil},
		{"an id that is none", to, 400, []string{"Last-Event-ID", "x"}},
		{"an id at the end", to, 400, []string{"Last-Event-ID", "18446744073709551615"}},
		{"another type", to, 406, []string{"Accept", "application/json"}},
		{"the origin's without a topic", "/subscribe", 400, nil},
		{"the origin's with a wrong group", "/subscribe?topic=t&group=%2F", 400, nil},
	} {
		if a := s.ask("GET", c.to, "", c.header...); a.status != c.status {
			t.Errorf("%s: %d %s, want %d", c.why, a.status, a.body, c.status)
		}
	}
	for _, c := range []string{"text/event-stream", "*/*", "text/html, text/*;q=0.5"} {
		if a := s.ask("HEAD", to, "", "Accept", c); a.status != 200 ||
			a.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("Accept %s: %d", c, a.status)
		}
	}
	if got := read[struct{ Subscribers int }](s, s.ask("GET", "/v1/topics/t", "")).Subscribers; got != 0 {
		t.Errorf("%d subscribers", got)
	}
	s.want(s.ask("GET", "/v1/topics/made/events?create=yes", ""), 400, "create")
}
