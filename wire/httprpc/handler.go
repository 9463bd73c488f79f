package httprpc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/wire/panics"
	"wirelab/wire/status"
)

// headerTimeout carries the milliseconds the caller still has, in decimal.
const headerTimeout = "Call-Timeout-Ms"

// The header's value is bounded to about 115 days.
const (
	timeoutDigits = 10
	timeoutMax    = 1e10 - 1
)

// Route is an operation as a server offers it.
type Route struct {
	Method string // any other is refused; "": none is
	// Answer answers one call. An error it returns before it began to write
	// becomes the reply; after that it can only cut the reply short, which
	// every client must notice. ctx ends with the call and with the caller's time.
	Answer func(ctx context.Context, c *Call) error

	parameters []string // what Answer reads of the URL; nil: nothing
	status     int      // of a success; 0: 200
}

// Accepted returns the route with 202 for a success in place of 200, as those
// have it that promise no more than to do what they were asked.
func (r Route) Accepted() Route {
	r.status = http.StatusAccepted
	return r
}

// Call is one request that is being answered.
type Call struct {
	Writer  http.ResponseWriter
	Request *http.Request

	handler   *Handler
	reply     string      // media type of the reply, as the caller calls it
	status    int         // of a success; 0: 200
	begun     bool        // whether the reply's header is out
	exact     bool        // whether a reply of one message announces its length; see receiving
	received  atomic.Bool // whether the request's body was read to its end
	place     *place      // of a handler of resources
	variables []string    // of the path, in the order of place.names
}

// Handler serves routes: by path, a map lookup, or those of [NewREST]. There
// is no reflection.
type Handler struct {
	routes  map[string]Route
	root    *place // of resources; nil: routes are served
	manner  manner
	nosniff []string  // the header's value, shared by all replies
	buffers sync.Pool // of *bytes.Buffer, for request bodies

	enveloped bool // see [Handler.Enveloped]
}

// NewHandler returns a handler of routes by path, which it keeps.
func NewHandler(routes map[string]Route) *Handler {
	return &Handler{
		routes:  routes,
		manner:  rpcManner,
		nosniff: []string{"nosniff"},
		buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
}

// listed is the route at a path as [Handler.Routes] lists it.
func (r Route) listed(path string) string {
	parameters := slices.Sorted(slices.Values(r.parameters))
	return strings.TrimSpace(r.Method + " " + path + " " + strings.Join(parameters, " "))
}

// Routes lists the routes, as "GET /persons/{id} id limit" with the parameters that are read; HEAD of a GET is
// not listed, and a route of any method has none before its path.
func (h *Handler) Routes() []string {
	var all []string
	for path, route := range h.routes {
		all = append(all, route.listed(path))
	}
	if h.root != nil {
		all = h.root.routes(all, "")
	}
	slices.Sort(all)
	return all
}

// ServeHTTP implements http.Handler. A panic of the service is the call's failure with Internal, and no
// other's. It panics with http.ErrAbortHandler to cut a reply that can no longer be told to have failed.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["X-Content-Type-Options"] = h.nosniff
	c := &Call{Writer: w, Request: r, handler: h, reply: MediaJSON}
	err := c.answer()
	if err == nil {
		return
	}
	if c.begun {
		panic(http.ErrAbortHandler) // cuts the reply, quietly
	}
	c.fail(err)
}

func (c *Call) answer() error {
	r := c.Request
	route, err := c.route()
	if err != nil {
		_ = c.negotiate(MediaJSON, everything) // the failure is reported in a form the caller reads, if there is one
		return err
	}
	c.status = route.status
	ctx := r.Context()
	if value := r.Header.Get(headerTimeout); value != "" {
		millis, err := strconv.ParseUint(value, 10, 64)
		if err != nil || len(value) > timeoutDigits {
			return status.Errorf(status.InvalidArgument, "header %s is %q; want at most %d digits", headerTimeout,
				value,
				timeoutDigits)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(millis)*time.Millisecond)
		defer cancel()
	}
	return Guard(ctx, func() error { return route.Answer(ctx, c) })
}

// route finds the route of the call.
func (c *Call) route() (Route, error) {
	if c.handler.root != nil {
		return c.resource()
	}
	route, ok := c.handler.routes[c.Request.URL.Path]
	if !ok {
		return Route{}, c.noPath()
	}
	if route.Method != "" && c.Request.Method != route.Method {
		return Route{}, c.noMethod(route.Method)
	}
	return route, nil
}

func (c *Call) noPath() error {
	return refuse(c.handler.manner.path, status.Unimplemented, "no such method: %s", c.asked())
}

func (c *Call) noMethod(allow string) error {
	c.Writer.Header().Set("Allow", allow)
	return refuse(http.StatusMethodNotAllowed, status.Unimplemented, "%s takes %s, not %s", c.asked(), allow,
		c.Request.Method)
}

// asked is the path that the caller knows: a server may have mounted the handler at another than it answers at.
func (c *Call) asked() string {
	if at, err := url.ParseRequestURI(c.Request.RequestURI); err == nil && at.Path != "" {
		return at.Path
	}
	return c.Request.URL.Path
}

// Guard calls answer and turns a panic in it into Internal. The stack goes to the process's log, since the
// caller must not see it and no other would. It panics only with http.ErrAbortHandler, and only if answer did:
// that is net/http's way to cut a reply.
func Guard(ctx context.Context, answer func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // a panic is compared, as net/http does
				panic(p)
			}
			err = panics.Error(ctx, p)
		}
	}()
	return answer()
}

// negotiate settles the reply's media type, which is otherwise where the
// caller does not mind.
func (c *Call) negotiate(otherwise string, offered offer) error {
	accept := c.Request.Header["Accept"]
	if len(accept) == 0 {
		c.reply = otherwise
		return nil
	}
	wanted := accept[0]
	if len(accept) > 1 { // a list may be cut over several fields
		wanted = strings.Join(accept, ",")
	}
	name, ok := accepted(wanted, otherwise, offered)
	if !ok {
		return refuse(c.handler.manner.accept, status.InvalidArgument, "nothing in Accept %q is known: %v", wanted,
			offered)
	}
	c.reply = name
	return nil
}

// encodings settles both encodings of a call that has one message each way,
// of those offered for each.
func (c *Call) encodings(requests, replies offer) (in, out Encoding, err error) {
	sent := c.Request.Header.Get("Content-Type")
	in, name := encodingOf(sent)
	if in == 0 && (name == "" || anything(name)) {
		in, name = JSON, MediaJSON
	}
	if !requests.has(in) {
		_ = c.negotiate(MediaJSON, everything)
		return 0, 0, refuse(c.handler.manner.content, status.InvalidArgument, "content type %q is not known: %v", sent,
			requests)
	}
	if !replies.has(in) { // else what a caller that does not mind gets
		name = replies.first().mediaType()
	}
	if err := c.negotiate(name, replies); err != nil {
		return 0, 0, err
	}
	out, _ = encodingOf(c.reply)
	return in, out, nil
}

// bufferKept is the size in bytes up to which a buffer is kept for the next call.
const bufferKept = 64 << 10

// readMessage reads the request's body to its end and decodes it.
func readMessage[T any](c *Call, codec *Codec[T]) (v T, err error) {
	r := c.Request
	if r.ContentLength > MessageLimit {
		return v, errTooLarge()
	}
	buffer := c.handler.buffers.Get().(*bytes.Buffer)
	buffer.Reset()
	defer func() {
		if buffer.Cap() <= bufferKept {
			c.handler.buffers.Put(buffer)
		}
	}()
	n, err := buffer.ReadFrom(io.LimitReader(r.Body, MessageLimit+1))
	c.received.Store(true)
	if err != nil {
		return v, refuse(c.handler.manner.transport, status.Canceled, "the request's body could not be read")
	}
	if n > MessageLimit {
		return v, errTooLarge()
	}
	v, err = codec.Decode(buffer.Bytes())
	if err != nil {
		return v, c.unreadable(err, codec.Encoding, n == 0)
	}
	return v, nil
}

// unreadable is what the caller receives of a body that could not be decoded: a codec's own words if they are
// meant for it, never a library's.
func (c *Call) unreadable(err error, e Encoding, empty bool) error {
	var coded *status.Error
	switch {
	case errors.As(err, &coded):
		return coded
	case empty:
		return refuse(c.handler.manner.body, status.InvalidArgument, "the body is empty and cannot be read as %s",
			e.mediaType())
	}
	return refuse(c.handler.manner.body, status.InvalidArgument, "the body cannot be read as %s", e.mediaType())
}

func errTooLarge() error {
	return refuse(http.StatusRequestEntityTooLarge, status.ResourceExhausted, "message of more than %d bytes",
		MessageLimit)
}

// Begin starts a reply that succeeds so far: nothing can refuse it after.
func (c *Call) Begin(mediaType string) {
	c.begun = true
	c.Writer.Header().Set("Content-Type", mediaType)
	c.Writer.WriteHeader(cmp.Or(c.status, http.StatusOK))
}

// Nothing replies that all is well and that there is nothing to say: 204.
func (c *Call) Nothing() {
	c.begun = true
	c.Writer.WriteHeader(http.StatusNoContent)
}

// Begun reports whether the reply has been started.
func (c *Call) Begun() bool { return c.begun }

// announce tells the length of the reply if it must be told; else net/http does it.
func (c *Call) announce(data []byte) {
	if c.exact {
		c.Writer.Header().Set("Content-Length", strconv.Itoa(len(data)))
	}
}

// send replies with a message.
func (c *Call) send(data []byte) error {
	c.announce(data)
	c.Begin(c.reply)
	_, err := c.Writer.Write(data)
	return err
}

// fail replies with err's status and body. It panics with
// http.ErrAbortHandler, net/http's way to give up, if the caller is gone.
func (c *Call) fail(err error) {
	encoding, _ := encodingOf(c.reply)
	body := bodyOf(err)
	body.Error = c.handler.enveloped
	data := body.encode(encoding)
	c.announce(data)
	c.begun = true
	c.Writer.Header().Set("Content-Type", c.reply)
	c.Writer.WriteHeader(body.Code)
	if _, err := c.Writer.Write(data); err != nil {
		panic(http.ErrAbortHandler) // the caller is gone
	}
}

// Unary is the route of a call with one message each way. Each must have a
// form at least.
func Unary[Req, Rep any](requests Forms[Req], replies Forms[Rep], call func(context.Context, Req) (Rep, error)) Route {
	takes, gives := requests.offers(), replies.offers()
	return Route{Method: http.MethodPost, Answer: func(ctx context.Context, c *Call) error {
		in, out, err := c.encodings(takes, gives)
		if err != nil {
			return err
		}
		req, err := readMessage(c, requests.In(in))
		if err != nil {
			return err
		}
		c.unhurry(ctx)
		return reply(ctx, c, &replies, out, req, call)
	}}
}

// reply makes a call and answers c with what came of it.
func reply[Req, Rep any](
	ctx context.Context, c *Call, replies *Forms[Rep], out Encoding, req Req,
	call func(context.Context, Req) (Rep, error),
) error {
	rep, err := call(ctx, req)
	if err != nil {
		return err
	}
	data, err := replies.In(out).Encode(rep)
	if err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	return c.send(data)
}

// unhurry lifts the deadline of the request's body, once it is read, from a
// call that may last longer: HTTP/1.1 servers go on watching the connection
// under it and would take its passing for the caller's leaving.
func (c *Call) unhurry(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < bodyTimeout/2 {
		return // the usual case: the call is over long before
	}
	// Not every version can, and those that cannot need not.
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{})
}
