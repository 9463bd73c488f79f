package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/internal/leaktest"
	"wirelab/wire/endpoint"
	"wirelab/wire/sse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(all{m})) }

// all runs the tests and then asks whether every operation that is described was
// seen to succeed, so that no description goes unheld.
type all struct{ *testing.M }

func (a all) Run() int {
	code := a.M.Run()
	if code != 0 || flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.fuzz").Value.String() != "" {
		return code
	}
	if missing := loaded.unseen(); len(missing) > 0 {
		fmt.Fprintln(os.Stderr, "no test saw these succeed, so nothing holds them to their description:", missing)
		return 1
	}
	return code
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// rig is an API over a broker in memory.
type rig struct {
	*testing.T
	memory  *brokertest.InMemory
	api     *rest.API
	handler http.Handler
	spec    *specification
	header  http.Header // of every request
}

// start makes an API. A zero field of config is the test's: a broker in memory.
func start(t *testing.T, config rest.Config) *rig {
	t.Helper()
	s := &rig{T: t, spec: spec(t), header: http.Header{}}
	if config.Broker == nil {
		s.memory = brokertest.Memory()
		t.Cleanup(s.memory.Close)
		config.Broker = s.memory
	}
	var err error
	if s.api, err = rest.New(config); err != nil {
		t.Fatal(err)
	}
	s.handler = s.api.Handler(t.Context())
	return s
}

// answer is a reply.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask asks, and holds question and answer to the description.
func (s *rig) ask(method, target, body string, header ...string) answer {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, target, strings.NewReader(body))
	r.Host = "localhost"
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	for name, values := range s.header {
		r.Header[name] = values
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	a := answer{w.Code, w.Header(), w.Body.String()}
	if err := s.spec.check(r, body, a); err != nil {
		s.Errorf("%s %s %.100q: %d %.300s: not as described: %v", method, target, body, a.status, a.body, err)
	}
	return a
}

const kindJSON = "application/json"

// post asks with JSON.
func (s *rig) post(target, body string) answer {
	s.Helper()
	return s.ask(http.MethodPost, target, body, "Content-Type", kindJSON)
}

// want checks a status and a part of the body.
func (s *rig) want(a answer, status int, part string) answer {
	s.Helper()
	if a.status != status || !strings.Contains(a.body, part) {
		s.Errorf("%d %.400s; want %d with %q", a.status, a.body, status, part)
	}
	return a
}

// topic makes one.
func (s *rig) topic(name string) {
	s.Helper()
	s.want(s.ask(http.MethodPut, "/v1/topics/"+name, ""), 200, name)
}

// read decodes an answer.
func read[T any](s *rig, a answer) T {
	s.Helper()
	var v T
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		s.Fatalf("%d %.200s: %v", a.status, a.body, err)
	}
	return v
}

// serve serves the API on loopback until the test ends or stop is called.
func (s *rig) serve() (address string, stop func()) {
	s.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.api.Serve(ctx, endpoint.Endpoint{Listener: listener}, false) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("Serve: %v", err)
		}
	}
	s.Cleanup(stop)
	return listener.Addr().String(), stop
}

// listener reads one stream of events.
type listener struct {
	*rig
	response *http.Response
	events   *sse.Reader
	leave    context.CancelFunc
	id       string // of the subscription
}

// listen subscribes at an address and waits until that is so.
func (s *rig) listen(address, target string, header ...string) *listener {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 3*patience) // longer than any test waits for the server's part
	s.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+target, http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	transport := &http.Transport{}
	s.Cleanup(transport.CloseIdleConnections)
	w, err := transport.RoundTrip(r)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = w.Body.Close() })
	if w.StatusCode != http.StatusOK || w.Header.Get("Content-Type") != "text/event-stream" ||
		w.Header.Get("Cache-Control") != "no-store" {
		text, _ := io.ReadAll(w.Body)
		s.Fatalf("%s: %d %v %s", target, w.StatusCode, w.Header, text)
	}
	l := &listener{rig: s, response: w, events: sse.NewReader(w.Body), leave: cancel}
	first := l.next()
	var opened struct {
		Subscription string `json:"subscription"`
		SubID        string `json:"sub_id"`
	}
	if err := json.Unmarshal(first.Data, &opened); err != nil || first.Name != "open" && first.Name != "connected" {
		s.Fatalf("the first event is %s %s", first.Name, first.Data)
	}
	l.id = opened.Subscription + opened.SubID
	return l
}

func (l *listener) next() sse.Event {
	l.Helper()
	e, err := l.events.Next()
	if err != nil {
		l.Fatalf("no event: %v", err)
	}
	e.Data = bytes.Clone(e.Data)
	return e
}

// delivered is a message as an event has it.
type delivered struct {
	ID            string // of the event
	Topic         string
	Offset        *uint64
	Time          time.Time
	Attempt       uint32
	Payload       *string
	PayloadBase64 []byte `json:"payload_base64"`
	Key           *string
	Headers       []map[string]string
}

// message reads a message's event.
func (l *listener) message() delivered {
	l.Helper()
	e := l.next()
	if e.Name != "" {
		l.Fatalf("event %s %s; want a message", e.Name, e.Data)
	}
	if err := l.spec.fits("Delivered", e.Data); err != nil {
		l.Errorf("%s is not as described: %v", e.Data, err)
	}
	d := delivered{ID: e.ID}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		l.Fatal(err)
	}
	return d
}

// text reads a message's event as "offset:payload".
func (l *listener) text() string {
	l.Helper()
	d := l.message()
	if d.Payload == nil || d.Offset == nil {
		return fmt.Sprintf("%+v", d)
	}
	return fmt.Sprintf("%d:%s", *d.Offset, *d.Payload)
}

// texts reads some.
func (l *listener) texts(n int) string {
	l.Helper()
	var all []string
	for range n {
		all = append(all, l.text())
	}
	return strings.Join(all, " ")
}

// failure reads the last event, which says why the stream ends, and that it does.
func (l *listener) failure() string {
	l.Helper()
	e := l.next()
	if e.Name != "failure" {
		l.Fatalf("event %q %s; want failure", e.Name, e.Data)
	}
	if err := l.spec.fits("Problem", e.Data); err != nil {
		l.Errorf("%s is not as described: %v", e.Data, err)
	}
	if _, err := l.events.Next(); err != io.EOF {
		l.Errorf("behind the failure: %v", err)
	}
	var p struct{ Code string }
	if err := json.Unmarshal(e.Data, &p); err != nil {
		l.Fatal(err)
	}
	return p.Code
}

// scripted is a broker whose publishes, feeds and status a test writes.
type scripted struct {
	broker.Broker
	publish   func(context.Context, broker.Run, func(broker.Verdict))
	subscribe func(context.Context, broker.Start) (broker.Feed, error)
	status    *broker.Status
	leader    *broker.Member
	join      func(broker.Member)
}

func (s *scripted) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	if s.publish == nil {
		s.Broker.Publish(ctx, run, done)
		return
	}
	s.publish(ctx, run, done)
}

func (s *scripted) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	if s.subscribe == nil {
		return s.Broker.Subscribe(ctx, start)
	}
	return s.subscribe(ctx, start)
}

func (s *scripted) Status(ctx context.Context) (broker.Status, error) {
	if s.status == nil {
		return s.Broker.Status(ctx)
	}
	return *s.status, nil
}

func (s *scripted) Leader() (broker.Member, bool) {
	if s.leader == nil {
		return s.Broker.Leader()
	}
	return *s.leader, true
}

func (s *scripted) Join(ctx context.Context, m broker.Member) (broker.Status, error) {
	if s.join == nil {
		return s.Broker.Join(ctx, m)
	}
	s.join(m)
	return s.Status(ctx)
}

func (s *scripted) Remove(ctx context.Context, id uint64) (broker.Status, error) {
	if s.status == nil {
		return s.Broker.Remove(ctx, id)
	}
	return *s.status, nil
}

// memory is a broker in memory that ends with the test.
func memory(t *testing.T) *brokertest.InMemory {
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	return m
}

func escape(text string) string { return url.PathEscape(text) }
