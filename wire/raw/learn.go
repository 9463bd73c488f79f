package raw

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"wirelab"
)

// bodyMax is the size in bytes above which no body is taken, either way.
const bodyMax = 16 << 20

// learnTime is how long one request may take to be written down. It is done in
// memory: what lasts longer waits for a reply to what it has sent so far.
const learnTime = 5 * time.Second

// tellable is the shortest deadline that requests carry.
const tellable = 50 * time.Millisecond

// request is what one call sends.
type request struct {
	method, path string
	host         string  // that it names; "": the address of the server
	fields       []field // sorted; without those of the connection and content-length
	body         []byte
	length       bool   // whether the body's length is announced
	frame        []byte // all of it, on a wire of frames, whose path is the operation
}

// Transport is what a stub sends its requests through, as an
// http.RoundTripper or by the Do of an http.Client: it writes the request down
// and answers with what it was given, or not at all.
type Transport struct {
	mu    sync.Mutex // guards all below
	asked []request
	reply *http.Response // nil: none, the call fails
	err   error          // of a request that cannot be learnt
}

var _ http.RoundTripper = (*Transport)(nil)

// errLearning is how every call ends that is made to learn its request.
var errLearning = wirelab.Errorf(wirelab.Unavailable, "requests are being learnt; there is no server")

// Do is [Transport.RoundTrip].
func (t *Transport) Do(r *http.Request) (*http.Response, error) { return t.RoundTrip(r) }

// RoundTrip implements http.RoundTripper. It is safe for concurrent use.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	var err error
	if r.Body != nil {
		stop := context.AfterFunc(r.Context(), func() { _ = r.Body.Close() }) // wakes the reader
		body, err = io.ReadAll(io.LimitReader(r.Body, bodyMax+1))
		stop()
		_ = r.Body.Close()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reply != nil {
		reply := t.reply
		reply.Request = r
		return reply, nil
	}
	switch {
	case err != nil:
		t.err = errors.Join(t.err, err)
	case len(body) > bodyMax:
		t.err = errors.Join(t.err, wirelab.Errorf(wirelab.ResourceExhausted, "request of more than %d bytes", bodyMax))
	default:
		t.asked = append(t.asked, newRequest(r, body))
	}
	return nil, errLearning
}

// ofConnection are fields that belong to a connection, or that the driver
// writes itself. Compression is not asked for: see the package comment.
var ofConnection = map[string]bool{ // read only
	"connection": true, "keep-alive": true, "proxy-connection": true, "transfer-encoding": true,
	"upgrade": true, "host": true, "content-length": true, "accept-encoding": true,
}

func newRequest(r *http.Request, body []byte) request {
	q := request{method: r.Method, path: r.URL.RequestURI(), host: r.Host, body: body}
	if q.host == "" {
		q.host = r.URL.Host
	}
	if q.method == "" {
		q.method = http.MethodGet
	}
	agent := false
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		lower := strings.ToLower(name)
		if ofConnection[lower] {
			continue
		}
		agent = agent || lower == "user-agent"
		for _, value := range r.Header[name] {
			q.fields = append(q.fields, field{lower, value})
		}
	}
	if !agent {
		q.fields = append(q.fields, field{"user-agent", "wirelab-raw/1"})
	}
	// gRPC's own clients do not announce it, and net/http's only where there is a body.
	grpc := strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
	q.length = !grpc && (len(body) > 0 || q.method != http.MethodGet)
	return q
}

// same reports whether the two are the same bytes.
func (q *request) same(other request) bool {
	return q.method == other.method && q.path == other.path && q.host == other.host && q.length == other.length &&
		slices.Equal(q.fields, other.fields) && bytes.Equal(q.body, other.body)
}

// sum is equal for those that are the same.
func (q *request) sum(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(q.path) // it cannot fail
	_, _ = h.Write(q.body)
	for _, f := range q.fields {
		_, _ = h.WriteString(f.value)
	}
	_, _ = h.Write(q.frame)
	return h.Sum64()
}

// sameDeadline makes the time that a request says it has that of another: what
// the stub wrote is less by however long it took to write it.
func (q *request) sameDeadline(first request) {
	for i, f := range q.fields {
		if f.name != "grpc-timeout" && !strings.HasSuffix(f.name, "-timeout-ms") {
			continue
		}
		if at := slices.IndexFunc(first.fields, func(g field) bool { return g.name == f.name }); at >= 0 {
			q.fields[i].value = first.fields[at].value
		}
	}
}

// learn performs check once and returns the one request that it makes. It gives the call a deadline, for
// the request to carry, only if that is long enough not to pass before the request is made.
func (t *Transport) learn(
	ctx context.Context, deadline time.Duration, check func(context.Context) error,
) (request, error) {
	t.mu.Lock()
	t.asked, t.reply, t.err = nil, nil, nil
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(learnTime, cancel) // not a deadline of ctx, which the request would carry
	defer timer.Stop()
	if deadline >= tellable {
		var over context.CancelFunc
		ctx, over = context.WithTimeout(ctx, deadline)
		defer over()
	}
	answer := check(ctx) // fails, since nothing answers
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.err != nil:
		return request{}, wirelab.Errorf(wirelab.Unimplemented, "the request does not end by itself: %v", t.err)
	case len(t.asked) != 1:
		return request{}, wirelab.Errorf(wirelab.Unimplemented,
			"the call makes %d requests, and a raw driver one: %v", len(t.asked), answer)
	}
	return t.asked[0], nil
}

// replay performs check once against reply.
func (t *Transport) replay(ctx context.Context, reply *http.Response, check func(context.Context) error) error {
	t.mu.Lock()
	t.reply = reply
	t.mu.Unlock()
	return check(ctx)
}

// exchange is one request of the series, and the known part of its reply.
type exchange struct {
	request
	check func(context.Context) error // through the stub over the driver's Transport
	good  *accepted                   // nil before the first

	// HTTP/1.1 and frames: the request's bytes.
	text []byte
	// HTTP/1.1: the bytes of the last right reply. A reply that begins with
	// them is the same, since its length is in them.
	wire []byte

	// HTTP/2: the fields that differ from those of other exchanges, encoded
	// so that no table is needed, and both frames where that makes them fixed.
	ownPath, own []byte
	frames       []byte
	framesOf     *headerText
	dataAt       int // where in frames DATA begins; 0: there is none
}

// accepted is a reply that passed its check, by what the check can see.
type accepted struct {
	head, tail *kind
	body       []byte // never changed: replies under way are compared with it
}

// text1 writes the request as HTTP/1.1 does.
func (q *request) text1() []byte {
	dst := append(append(append(append([]byte(q.method), ' '), q.path...), " HTTP/1.1\r\nHost: "...), q.host...)
	for _, f := range q.fields {
		if f.name == "te" {
			continue // asks for trailers, which belong to gRPC
		}
		dst = append(append(append(append(dst, "\r\n"...), http.CanonicalHeaderKey(f.name)...), ": "...), f.value...)
	}
	if q.length {
		dst = strconv.AppendInt(append(dst, "\r\nContent-Length: "...), int64(len(q.body)), 10)
	}
	return append(append(dst, "\r\n\r\n"...), q.body...)
}

// common returns the fields that all exchanges have.
func common(all []*exchange) []field {
	var shared []field
	for _, f := range all[0].fields {
		if !slices.ContainsFunc(all, func(x *exchange) bool { return !slices.Contains(x.fields, f) }) {
			shared = append(shared, f)
		}
	}
	return shared
}
