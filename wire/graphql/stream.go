package graphql

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"wirelab/wire/httprpc"
	"wirelab/wire/panics"
	"wirelab/wire/sse"
	"wirelab/wire/status"
)

// The names of the events of a subscription.
const (
	nextEvent     = "next"
	completeEvent = "complete"
)

func wantsEvents(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), httprpc.MediaEvents)
}

// source is where a subscription's items come from. Its resolver hands gqlgen
// a channel, which can neither say why it ended nor be waited for; this can.
type source struct {
	running sync.WaitGroup
	err     error  // why the items ended, if not well; read after running
	begun   func() // called when the subscription stands; nil: no one asks
	after   func() // called when an item was written; nil: no one asks. Set before the first
}

// wrote tells anyone who asks that an item was written.
func (s *source) wrote() {
	if s.after != nil {
		s.after()
	}
}

type sourceKey struct{}

// Stream returns a service's stream as a subscription's resolver returns it. The stream ends with ctx. It fails
// outside a subscription. To call it is to say that the subscription stands, which its reader learns.
func Stream[T any](ctx context.Context, items iter.Seq2[T, error]) (<-chan *T, error) {
	from, ok := ctx.Value(sourceKey{}).(*source)
	if !ok {
		return nil, status.Errorf(status.InvalidArgument, "a subscription needs Accept: %s, or a WebSocket",
			httprpc.MediaEvents)
	}
	if from.begun != nil {
		from.begun()
	}
	out := make(chan *T) // unbuffered: the service waits for the wire
	from.running.Go(func() {
		defer close(out)
		from.err = pump(ctx, items, out)
	})
	return out, nil
}

// StreamThen is [Stream], which calls written each time that an item was written
// to the connection, in turn. It must not block.
func StreamThen[T any](ctx context.Context, items iter.Seq2[T, error], written func()) (<-chan *T, error) {
	if from, ok := ctx.Value(sourceKey{}).(*source); ok {
		from.after = written
	}
	return Stream(ctx, items)
}

// pump passes items on until they end, which is nil, or fail.
func pump[T any](ctx context.Context, items iter.Seq2[T, error], out chan<- *T) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panics.Error(ctx, p)
		}
	}()
	for item, err := range items {
		if err != nil {
			return err
		}
		select {
		case out <- &item:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// A service that just stops when its time is over has not ended well.
	return ctx.Err()
}

// events answers subscriptions with server-sent events. gqlgen has such a
// transport, but its complete event has no data, so that readers which keep to
// the standard drop it and an end cannot be told from a cut; and it has no way
// for a stream to fail after its first item.
type events struct {
	heartbeat time.Duration // 0: none
}

var _ graphql.Transport = events{}

// Supports implements [graphql.Transport].
func (events) Supports(r *http.Request) bool { return wantsEvents(r) }

// Do implements [graphql.Transport]. The reply begins when the subscription stands, and not with
// the first event, for which its reader may have to wait for hours.
func (e events) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	from := &source{}
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), sourceKey{}, from))
	defer from.running.Wait()
	defer cancel()

	operation, refused := prepare(ctx, r, exec)
	if refused != nil {
		write(w, http.StatusBadRequest, mediaResponse, refused)
		return
	}
	ctx = graphql.WithOperationContext(ctx, operation)
	w.Header().Set("Content-Type", httprpc.MediaEvents)
	w.Header().Set("Cache-Control", "no-store")
	out := &eventWriter{to: w, flush: http.NewResponseController(w).Flush}
	from.begun = out.begin
	if e.heartbeat > 0 {
		beating, still := context.WithCancel(ctx)
		var beats sync.WaitGroup
		beats.Go(func() { out.beat(beating, e.heartbeat, cancel) })
		defer beats.Wait()
		defer still()
	}
	responses, ctx := exec.DispatchOperation(ctx, operation)
	for response := responses(ctx); response != nil; response = responses(ctx) {
		if !out.send(nextEvent, response) {
			return
		}
		from.wrote()
	}
	from.running.Wait() // its channel is closed, or its context has ended
	if from.err != nil {
		if !out.send(nextEvent, exec.DispatchError(ctx, gqlerror.List{gqlerror.Wrap(status.Public(from.err))})) {
			return
		}
	}
	out.send(completeEvent, nil)
}

// eventWriter writes the events of one reply, and the heartbeats between them.
type eventWriter struct {
	flush func() error

	mu     sync.Mutex // guards all below, and flush
	to     io.Writer
	buffer []byte
	wrote  bool // since the last heartbeat was due
}

// begin sends the headers. If it fails, so does the next write.
func (o *eventWriter) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.flush()
}

// send writes an event and reports whether its reader may get it.
func (o *eventWriter) send(name string, content any) bool {
	data := []byte{}
	if content != nil {
		var err error
		if data, err = json.Marshal(content); err != nil {
			panic(err) // gqlgen's own JSON is well formed
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buffer = sse.AppendEvent(o.buffer[:0], name, "", data)
	o.wrote = true
	return o.write(o.buffer)
}

func (o *eventWriter) write(text []byte) bool {
	if _, err := o.to.Write(text); err != nil {
		return false
	}
	return o.flush() == nil
}

// beat writes a comment whenever nothing was written for a while, until ctx ends or the reader
// is gone, which ends the call.
func (o *eventWriter) beat(ctx context.Context, every time.Duration, end context.CancelFunc) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		o.mu.Lock()
		gone := !o.wrote && !o.write([]byte(":\n\n"))
		o.wrote = false
		o.mu.Unlock()
		if gone {
			end()
			return
		}
	}
}
