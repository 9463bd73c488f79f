package path

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"wirelab"
	"wirelab/pipeline/message"
	"wirelab/workload/logging"
)

const (
	// replyLimit is how many bytes of a reply are read.
	replyLimit = 64 << 10
	// idleTime is how long a connection is kept for nothing.
	idleTime = 90 * time.Second
	// noLogger is what is told where nobody answers.
	noLogger = "the logger does not answer over HTTP"
	// The published client's connections: ms-F13.
	publishedIdle, publishedIdlePerHost = 100, 10
	// headerTimeout tells the logger, in ms, how long its caller waits, as
	// grpc-timeout and the house's net/rpc do: the same deadline on every path.
	headerTimeout = "Call-Timeout-Ms"
	// HeaderRequestID carries a request's id.
	HeaderRequestID = "X-Request-Id"
)

// byHTTP is HTTP/1.1 with a JSON body: POST /log.
type byHTTP struct {
	transport *http.Transport
	log       url.URL
	health    string
	options   Options
}

var _ Path = (*byHTTP)(nil)

// HTTP returns the path that POSTs to /log of the logger at host:port, whose
// reply is 202. It connects with its first calls.
func HTTP(address string, o Options) Path {
	dialer := net.Dialer{KeepAlive: idleTime}
	transport := &http.Transport{
		DialContext: dialer.DialContext, IdleConnTimeout: idleTime, DisableCompression: true,
		MaxResponseHeaderBytes: replyLimit, Protocols: new(http.Protocols),
		MaxConnsPerHost: o.connections(), MaxIdleConnsPerHost: o.connections(),
	}
	transport.Protocols.SetHTTP1(true)
	if o.AsPublished {
		transport.MaxConnsPerHost = 0
		transport.MaxIdleConns, transport.MaxIdleConnsPerHost = publishedIdle, publishedIdlePerHost
	}
	return &byHTTP{
		transport: transport, options: o,
		log:    url.URL{Scheme: "http", Host: address, Path: "/log"},
		health: (&url.URL{Scheme: "http", Host: address, Path: "/health"}).String(),
	}
}

// Log implements [Path].
func (p *byHTTP) Log(ctx context.Context, entry logging.Entry) (Receipt, error) {
	ctx, cancel, err := p.options.begin(ctx, &entry)
	if err != nil {
		return Receipt{}, err
	}
	defer cancel()
	body, err := message.Encode(entry)
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{ID: entry.ID, Written: time.Now()}
	reply, err := p.transport.RoundTrip(p.request(ctx, body))
	if err != nil {
		return receipt, failed(ctx, err, noLogger)
	}
	if p.options.AsPublished {
		_ = reply.Body.Close() // unread, and so the connection's end
		if reply.StatusCode != http.StatusAccepted {
			return receipt, wirelab.Errorf(codeOfStatus(reply.StatusCode), "the logger answered with status %d",
				reply.StatusCode)
		}
	} else if err := read(reply); err != nil {
		return receipt, failed(ctx, err, noLogger)
	}
	receipt.Confirmed = time.Now()
	return receipt, nil
}

// request is the POST of a body. net/http sends it again where a kept connection
// had been closed before any of it was written, and only there, as gRPC and the
// house's net/rpc do. An Idempotency-Key would make it try again whenever a kept
// connection breaks, which ids would bear, but a failure would look like a slow
// success on this path alone.
func (p *byHTTP) request(ctx context.Context, body []byte) *http.Request {
	target := p.log
	r := (&http.Request{
		Method: http.MethodPost, URL: &target, Host: target.Host, ContentLength: int64(len(body)),
		Body:    io.NopCloser(bytes.NewReader(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
		Header:  http.Header{"Content-Type": {"application/json"}},
	}).WithContext(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		left := max(time.Until(deadline).Milliseconds()+1, 1) // rounded up: the logger must not give up first
		r.Header[headerTimeout] = []string{strconv.FormatInt(left, 10)}
	}
	if id := requestID(ctx); id != "" {
		r.Header[HeaderRequestID] = []string{id}
	}
	return r
}

// read reads a reply to its end, and returns the error that it tells of.
func read(reply *http.Response) error {
	defer finish(reply)
	body, err := io.ReadAll(io.LimitReader(reply.Body, replyLimit))
	if err != nil {
		return err
	}
	if reply.StatusCode == http.StatusAccepted {
		return nil
	}
	return failureOf(reply.StatusCode, body)
}

// finish closes a reply. Its error is of no use: what was wanted has been read.
func finish(reply *http.Response) { _ = reply.Body.Close() }

// failureOf is the error that a failed reply tells of. Loggers of the house say
// the code by name, in the envelope or as the house's other HTTP wires do; a
// reply without one is somebody else's, and its status has to do.
func failureOf(status int, body []byte) error {
	var told struct {
		Message *string           `json:"message"`
		Details map[string]string `json:"details"`
		Data    struct {
			Code string `json:"code"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &told); err != nil || told.Message == nil {
		return wirelab.Errorf(codeOfStatus(status), "the logger answered with status %d", status)
	}
	for _, name := range []string{told.Data.Code, told.Details["wirelab.code"]} {
		if code, ok := wirelab.ParseCode(name); ok {
			return &wirelab.Error{Code: code, Message: *told.Message}
		}
	}
	return &wirelab.Error{Code: codeOfStatus(status), Message: *told.Message}
}

// codeOfStatus guesses the code of a reply that names none.
func codeOfStatus(status int) wirelab.Code {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return wirelab.InvalidArgument
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return wirelab.Unimplemented // there is no /log
	case http.StatusConflict:
		return wirelab.Conflict
	case http.StatusUnauthorized:
		return wirelab.Unauthenticated
	case http.StatusForbidden:
		return wirelab.PermissionDenied
	case http.StatusTooManyRequests:
		return wirelab.ResourceExhausted
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return wirelab.DeadlineExceeded
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return wirelab.Unavailable
	}
	return wirelab.Internal
}

// Check implements [Path]: GET /health. A logger that has none is there too.
func (p *byHTTP) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.options.deadline())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.health, http.NoBody)
	if err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "the logger's address cannot be used")
	}
	reply, err := p.transport.RoundTrip(r)
	if err != nil {
		return failed(ctx, err, noLogger)
	}
	defer finish(reply)
	body, err := io.ReadAll(io.LimitReader(reply.Body, replyLimit))
	if err != nil {
		return failed(ctx, err, noLogger)
	}
	if reply.StatusCode >= http.StatusInternalServerError && reply.StatusCode != http.StatusNotImplemented {
		return failureOf(reply.StatusCode, body)
	}
	return nil
}

// Close implements [Path].
func (p *byHTTP) Close() error {
	p.transport.CloseIdleConnections()
	return nil
}
