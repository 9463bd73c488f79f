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
	// replyLimit is the maximum length of a reply in bytes.
	replyLimit = 64 << 10
	// idleTime is how long an idle connection is kept.
	idleTime = 90 * time.Second
	// noLogger is the error message if the logger does not answer.
	noLogger = "the logger does not answer over HTTP"
	// The connection limits of the published client: ms-F13.
	publishedIdle, publishedIdlePerHost = 100, 10
	// headerTimeout gives the logger the remaining time of the caller, in ms, as grpc-timeout and our net/rpc do,
	// so that the deadline is the same on every path.
	headerTimeout = "Call-Timeout-Ms"
	// HeaderRequestID carries the id of a request.
	HeaderRequestID = "X-Request-Id"
)

// byHTTP uses HTTP/1.1 with a JSON body: POST /log.
type byHTTP struct {
	transport *http.Transport
	log       url.URL
	health    string
	options   Options
}

var _ Path = (*byHTTP)(nil)

// HTTP returns the path that POSTs to /log of the logger at host:port, which replies with 202. It connects with its
// first calls.
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
		_ = reply.Body.Close() // unread, which ends the connection
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

// request builds the POST of a body. net/http sends it again only if a kept connection had been closed before any
// byte of it was written, as gRPC and our net/rpc do. With an Idempotency-Key net/http would retry whenever a kept
// connection breaks. The ids would make that safe, but then a failure would look like a slow success on this path
// alone.
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

// read reads a reply to its end, and returns the error in it.
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

// finish closes a reply. Its error does not matter: the reply has been read.
func finish(reply *http.Response) { _ = reply.Body.Close() }

// failureOf returns the error of a failed reply. Our loggers name the code, in the envelope or in the format of our
// other HTTP wires. If a reply names none, it comes from other software, and the code follows from the status.
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

// codeOfStatus derives a code from the status of a reply that names none.
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

// Check implements [Path]: GET /health. A logger without that route counts as available.
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
