package graphql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"wirelab/wire/httprpc"
	"wirelab/wire/status"
)

// subprotocol is that of GraphQL over WebSocket, as package graphql-ws has it.
const subprotocol = "graphql-transport-ws"

// The codes with which that protocol closes a connection.
const (
	closeBad       websocket.StatusCode = 4400
	closeStranger  websocket.StatusCode = 4401
	closeProtocol  websocket.StatusCode = 4406
	closeLate      websocket.StatusCode = 4408
	closeDuplicate websocket.StatusCode = 4409
	closeTwice     websocket.StatusCode = 4429
)

// The bounds of a connection. What gqlgen's own transport lacks is the first: one
// connection of its may run any number of operations.
const (
	operationsLimit = 64
	initTime        = 10 * time.Second // to begin
	pingTime        = 10 * time.Second // between pings, and for an answer
	writeTime       = 30 * time.Second // for one message to a slow reader
)

// Sockets serves a schema by graphql-transport-ws, with the limits that [Handler]
// has; resolvers are as for [Serve]. Connections end as ending does, with 1001.
// Pages of an origin other than the server's are refused but for those named, such
// as "https://example.com". counted is asked to read each message, and its release is called when
// the message was dealt with; end makes the reading fail. nil: nothing is counted.
func Sockets(ending context.Context, schema graphql.ExecutableSchema, origins []string, counted Counted) http.Handler {
	server := newServer(schema)
	if counted == nil {
		counted = func(_ context.Context, r io.Reader, _ func()) (io.Reader, func()) { return r, func() {} }
	}
	server.AddTransport(sockets{ending, origins, counted})
	return server
}

// Counted is how messages are read where their memory is bounded in sum. The reader's errors of package status
// are sent to the peer.
type Counted func(ctx context.Context, r io.Reader, end func()) (counted io.Reader, release func())

// sockets is the transport.
type sockets struct {
	ending  context.Context
	origins []string
	counted Counted
}

var _ graphql.Transport = sockets{}

// Supports implements [graphql.Transport].
func (sockets) Supports(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// Do implements [graphql.Transport].
func (s sockets) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{subprotocol}, OriginPatterns: s.origins, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return // the library has answered
	}
	if conn.Subprotocol() != subprotocol {
		_ = conn.Close(closeProtocol, "Subprotocol not acceptable")
		return
	}
	conn.SetReadLimit(httprpc.MessageLimit)
	// net/http ends the request's context when it gives the connection away.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	k := &socket{
		conn: conn, exec: exec, header: r.Header, cancel: cancel, counted: s.counted, operations: map[string]*running{},
	}
	defer k.running.Wait()
	defer cancel()
	defer conn.CloseNow() //nolint:errcheck // it is closed already, if all went well
	closed := make(chan struct{})
	stop := context.AfterFunc(s.ending, func() {
		defer close(closed)
		_ = conn.Close(websocket.StatusGoingAway, "the server is stopping") // ends the reading below
		cancel()
	})
	defer func() {
		if !stop() {
			<-closed
		}
	}()
	k.running.Add(1)
	k.late = time.AfterFunc(initTime, func() {
		defer k.running.Done()
		_ = conn.Close(closeLate, "Connection initialisation timeout")
	})
	defer k.inTime()
	if code, why := k.converse(ctx); code != 0 {
		_ = conn.Close(code, why)
	}
}

// socket is one connection.
type socket struct {
	conn    *websocket.Conn
	exec    graphql.GraphExecutor
	header  http.Header
	cancel  context.CancelFunc
	counted Counted
	running sync.WaitGroup // operations, and the pings

	late *time.Timer // closes a connection that does not begin; the reader's goroutine's alone

	mu         sync.Mutex // guards all below
	operations map[string]*running
}

// running is an operation that runs; its place in memory tells it from another
// that has its id later.
type running struct{ cancel context.CancelFunc }

// inTime ends the wait for a beginning.
func (k *socket) inTime() {
	if k.late != nil && k.late.Stop() {
		k.running.Done()
	}
	k.late = nil
}

// envelope is a message of the protocol.
type envelope struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// converse reads until the connection ends, or returns with what it is to be closed.
func (k *socket) converse(ctx context.Context) (code websocket.StatusCode, why string) {
	begun := false
	for {
		in, release, err := k.read(ctx)
		var full *status.Error
		switch {
		case errors.As(err, &full):
			return websocket.StatusTryAgainLater, fmt.Sprintf("%.120s", full.Message)
		case err != nil:
			return 0, ""
		case in == nil:
			return closeBad, "Invalid message"
		}
		if in.Type == "subscribe" && begun {
			if code, why := k.subscribe(ctx, in, release); code != 0 {
				return code, why
			}
			continue
		}
		release()
		switch in.Type {
		case "connection_init":
			if begun {
				return closeTwice, "Too many initialisation requests"
			}
			begun = true
			k.inTime()
			if !k.send(ctx, envelope{Type: "connection_ack"}) {
				return 0, ""
			}
			k.running.Go(func() { k.ping(ctx) })
		case "ping":
			k.send(ctx, envelope{Type: "pong"})
		case "pong":
		case "complete":
			k.end(in.ID, nil)
		case "subscribe":
			return closeStranger, "Unauthorized"
		default:
			return closeBad, "Invalid message"
		}
	}
}

// read reads a message; nil is one that is none of the protocol's.
func (k *socket) read(ctx context.Context) (in *envelope, release func(), err error) {
	kind, from, err := k.conn.Reader(ctx)
	if err != nil {
		return nil, nil, err
	}
	counted, release := k.counted(ctx, from, k.cancel)
	text, err := io.ReadAll(counted)
	if err != nil {
		release()
		return nil, nil, err
	}
	in = new(envelope)
	if kind != websocket.MessageText || json.Unmarshal(text, in) != nil {
		release()
		return nil, nil, nil //nolint:nilerr // as the comment says
	}
	return in, release, nil
}

// send writes a message, one at a time as the library sees to, and reports whether
// it could; a reader that does not take it loses the connection.
func (k *socket) send(ctx context.Context, out envelope) bool {
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // gqlgen's own JSON is well formed
	}
	// Not with ctx's end: the library closes a connection in the middle of whose message the
	// context ends, which here is the subscriber's completing one operation of many.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if k.conn.Write(ctx, websocket.MessageText, text) != nil {
		k.cancel()
		return false
	}
	return true
}

// ping finds out a peer that is gone without a word.
func (k *socket) ping(ctx context.Context) {
	tick := time.NewTicker(pingTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, pingTime)
		err := k.conn.Ping(limited)
		cancel()
		if err != nil {
			k.cancel()
			_ = k.conn.CloseNow()
			return
		}
	}
}

// subscribe begins an operation, of whichever kind. release is called at its end.
func (k *socket) subscribe(ctx context.Context, in *envelope, release func()) (code websocket.StatusCode, why string) {
	if in.ID == "" {
		release()
		return closeBad, "Invalid message"
	}
	ctx, cancel := context.WithCancel(ctx)
	k.mu.Lock()
	_, twice := k.operations[in.ID]
	full := len(k.operations) >= operationsLimit
	this := &running{cancel}
	if !twice && !full {
		k.operations[in.ID] = this
	}
	k.mu.Unlock()
	switch {
	case twice:
		cancel()
		release()
		return closeDuplicate, "Subscriber already exists"
	case full:
		cancel()
		release()
		err := status.Errorf(status.ResourceExhausted, "more than %d operations on one connection", operationsLimit)
		k.fail(ctx, in.ID, k.exec.DispatchError(ctx, gqlerror.List{gqlerror.Wrap(err)}))
		return 0, ""
	}
	k.running.Go(func() {
		defer release()
		defer cancel()
		defer k.end(in.ID, this)
		k.run(ctx, in)
	})
	return 0, ""
}

// end ends the operation of an id, if it is still there, and this one if one is named.
func (k *socket) end(id string, this *running) {
	k.mu.Lock()
	there := k.operations[id]
	if there != nil && (this == nil || this == there) {
		delete(k.operations, id)
		there.cancel()
	}
	k.mu.Unlock()
}

// fail tells that an operation failed, which ends it.
func (k *socket) fail(ctx context.Context, id string, response *graphql.Response) {
	text, err := json.Marshal(response.Errors)
	if err != nil {
		panic(err) // gqlgen's own JSON is well formed
	}
	k.send(context.WithoutCancel(ctx), envelope{ID: id, Type: "error", Payload: text})
}

// run runs an operation to its end. It waits for what its resolvers began.
func (k *socket) run(ctx context.Context, in *envelope) {
	from := &source{}
	ctx = context.WithValue(ctx, sourceKey{}, from)
	ctx, leave := context.WithCancel(ctx)
	defer from.running.Wait()
	defer leave()
	start := graphql.Now()
	asked, err := parseRequest(in.Payload)
	if err != nil {
		k.fail(ctx, in.ID, k.exec.DispatchError(ctx, gqlerror.List{gqlerror.Wrap(err)}))
		return
	}
	operation, errs := k.exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: asked.Query, OperationName: asked.OperationName, Variables: asked.Variables,
		Headers: k.header, ReadTime: graphql.TraceTiming{Start: start, End: graphql.Now()},
	})
	if errs != nil {
		k.fail(ctx, in.ID, k.exec.DispatchError(graphql.WithOperationContext(ctx, operation), errs))
		return
	}
	ctx = graphql.WithOperationContext(ctx, operation)
	if operation.Operation.Operation == ast.Subscription && len(in.Payload) > lastingLimit {
		k.fail(ctx, in.ID, k.exec.DispatchError(ctx, gqlerror.List{gqlerror.Wrap(errLasting())}))
		return
	}
	responses, ctx := k.exec.DispatchOperation(ctx, operation)
	for response := responses(ctx); response != nil; response = responses(ctx) {
		text, err := json.Marshal(response)
		if err != nil {
			panic(err) // gqlgen's own JSON is well formed
		}
		if ctx.Err() != nil || !k.send(ctx, envelope{ID: in.ID, Type: "next", Payload: text}) {
			return
		}
		from.wrote()
	}
	if ctx.Err() != nil {
		return // the peer has ended it, or is gone
	}
	from.running.Wait() // its channel is closed
	if from.err != nil {
		k.fail(ctx, in.ID, k.exec.DispatchError(ctx, gqlerror.List{gqlerror.Wrap(status.Public(from.err))}))
		return
	}
	k.send(ctx, envelope{ID: in.ID, Type: "complete"})
}
