package graphql_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"wirelab/hermes/api/graphql"
	"wirelab/hermes/api/intake"
	"wirelab/hermes/api/register"
	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/internal/leaktest"
	"wirelab/wire/endpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// patience is how long a test waits for what must come.
const patience = time.Minute

// rig is an API behind the guard of package rest, as a node has it, over a broker in memory.
type rig struct {
	*testing.T
	memory  *brokertest.InMemory
	address string
	client  *http.Client
	intake  *intake.Intake
	stop    func()
}

func start(t *testing.T, b broker.Broker) *rig {
	t.Helper()
	return startBeating(t, b, 0)
}

// startBeating is start with a heartbeat; 0: the usual one.
func startBeating(t *testing.T, b broker.Broker, heartbeat time.Duration) *rig {
	t.Helper()
	s := &rig{T: t, client: &http.Client{Transport: &http.Transport{}, Timeout: patience}}
	t.Cleanup(s.client.CloseIdleConnections)
	s.intake = intake.New(intake.Options{Bytes: intake.Least, Patience: time.Millisecond})
	if b == nil {
		s.memory = brokertest.Memory()
		t.Cleanup(s.memory.Close)
		b = s.memory
	}
	ctx, cancel := context.WithCancel(context.Background())
	shared := register.New(3)
	mounts, err := graphql.Handlers(graphql.Config{
		Broker: b, Register: shared, Intake: s.intake,
		Origins: []string{"https://good.example"}, Heartbeat: heartbeat,
	})
	if err != nil {
		t.Fatal(err)
	}
	api, err := rest.New(rest.Config{
		Broker: b, Mounts: mounts, Register: shared, Intake: s.intake,
		Origins: []string{"https://good.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx, endpoint.Endpoint{Listener: listener}, false) }()
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	t.Cleanup(s.stop)
	return s
}

// body is a question as JSON.
func body(query string, variables ...any) []byte {
	asked := map[string]any{}
	for i := 0; i < len(variables); i += 2 {
		asked[variables[i].(string)] = variables[i+1]
	}
	text, err := json.Marshal(map[string]any{"query": query, "variables": asked})
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return text
}

// ask posts a question and returns the reply: its data as JSON, or its first
// error's code and message.
func (s *rig) ask(path, query string, variables ...any) string {
	s.Helper()
	return reply(s.T, []byte(s.raw(path, query, variables...)))
}

// raw posts a question and returns the reply unchanged.
func (s *rig) raw(path, query string, variables ...any) string {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, "http://"+s.address+path,
		bytes.NewReader(body(query, variables...)))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	w, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer w.Body.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(w.Body); err != nil {
		s.Fatal(err)
	}
	return got.String()
}

func reply(t *testing.T, text []byte) string {
	t.Helper()
	var got struct {
		Data   json.RawMessage
		Errors []failure
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(got.Errors) > 0 {
		return got.Errors[0].String()
	}
	return string(got.Data)
}

type failure struct {
	Message    string
	Extensions struct{ Code string }
}

func (f failure) String() string { return f.Extensions.Code + ": " + f.Message }

// want compares, where the expected value may be the beginning.
func (s *rig) want(got, want string) {
	s.Helper()
	if !strings.HasPrefix(got, want) {
		s.Errorf("%s\nwant %s", got, want)
	}
}

// socket is a connection of graphql-transport-ws.
type socket struct {
	*rig
	conn *websocket.Conn
}

func (s *rig) dial(path string, origin string) (*websocket.Conn, int, error) {
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	header := http.Header{}
	if origin != "" {
		header.Set("Origin", origin)
	}
	conn, w, err := websocket.Dial( //nolint:bodyclose // the library closes it
		ctx, "ws://"+s.address+path, &websocket.DialOptions{
			HTTPClient: &http.Client{Transport: s.client.Transport},
			HTTPHeader: header, Subprotocols: []string{"graphql-transport-ws"},
		})
	status := 0
	if w != nil {
		status = w.StatusCode
	}
	return conn, status, err
}

// open opens one that has begun.
func (s *rig) open(path string) *socket {
	s.Helper()
	conn, _, err := s.dial(path, "")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.CloseNow() })
	k := &socket{s, conn}
	k.send(`{"type":"connection_init"}`)
	k.want(k.next(), `{"type":"connection_ack"}`)
	return k
}

func (k *socket) send(text string) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), patience)
	defer cancel()
	if err := k.conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		k.Fatal(err)
	}
}

// subscribe begins an operation.
func (k *socket) subscribe(id, query string) {
	k.Helper()
	k.send(fmt.Sprintf(`{"id":%q,"type":"subscribe","payload":%s}`, id, body(query)))
}

func (k *socket) next() string {
	k.Helper()
	text, err := k.read()
	if err != nil {
		k.Fatal(err)
	}
	return text
}

func (k *socket) read() (string, error) {
	ctx, cancel := context.WithTimeout(k.Context(), patience)
	defer cancel()
	_, text, err := k.conn.Read(ctx)
	return string(text), err
}

// closed reads until the connection ends and returns the code it was closed with.
func (k *socket) closed() websocket.StatusCode {
	for {
		if _, err := k.read(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}
