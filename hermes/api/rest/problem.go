package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// mediaProblem is the type of a failure's body.
const mediaProblem = "application/problem+json"

// statusClosed is what a call that its caller gave up travels as: it is not read, but logs of proxies show it.
// It is nginx's.
const statusClosed = 499

// statuses is the error table of this API.
var statuses = [...]int{
	status.Internal:          http.StatusInternalServerError,
	status.InvalidArgument:   http.StatusBadRequest,
	status.NotFound:          http.StatusNotFound,
	status.Conflict:          http.StatusConflict,
	status.PermissionDenied:  http.StatusForbidden,
	status.Unauthenticated:   http.StatusUnauthorized,
	status.ResourceExhausted: http.StatusTooManyRequests,
	status.DeadlineExceeded:  http.StatusGatewayTimeout,
	status.Canceled:          statusClosed,
	status.Unavailable:       http.StatusServiceUnavailable,
	status.Unimplemented:     http.StatusNotImplemented,
}

// refusal is a failure that HTTP has its own status for.
type refusal struct {
	status int
	told   error // always a *status.Error
}

func (r *refusal) Error() string { return r.told.Error() }

// Unwrap makes a refusal what it tells for CodeOf and Public.
func (r *refusal) Unwrap() error { return r.told }

func refuse(httpStatus int, code status.Code, format string, args ...any) error {
	return &refusal{status: httpStatus, told: status.Errorf(code, format, args...)}
}

// problem is the body of a failure.
type problem struct {
	Title  string `json:"title"` // of the status
	Status int    `json:"status"`
	Code   string `json:"code"` // of package status, by name
	Detail string `json:"detail"`
	Reason string `json:"reason,omitempty"` // what the code does not tell: out_of_range
	Leader string `json:"leader,omitempty"` // address of the leader's HTTP API, where that helps
	// Late is, of an acknowledgement, what came too late and was dropped.
	Late []rangeJSON `json:"late,omitempty"`
}

func problemOf(err error, leader string) problem {
	public := status.Public(err)
	p := problem{
		Status: http.StatusInternalServerError,
		Code:   public.Code.String(),
		Detail: strings.ToValidUTF8(public.Message, "\uFFFD"), // JSON holds no other text
	}
	if int(public.Code) < len(statuses) {
		p.Status = statuses[public.Code]
	}
	if p.Reason = broker.Reason(err); p.Reason == broker.OutOfRange {
		p.Status = http.StatusRequestedRangeNotSatisfiable
	}
	var refused *refusal
	if errors.As(err, &refused) {
		p.Status = refused.status
	}
	late, _ := broker.Late(err)
	for _, r := range late {
		p.Late = append(p.Late, rangeJSON(r))
	}
	if public.Code == status.Unavailable {
		p.Leader = leader
	}
	if p.Title = http.StatusText(p.Status); p.Status == statusClosed {
		p.Title = "Client Closed Request"
	}
	return p
}

// encode makes it JSON. It panics if that cannot be, which numbers and texts
// never cause.
func (p problem) encode() []byte {
	data, err := json.Marshal(p)
	if err != nil {
		panic("rest: " + err.Error()) // texts and a number always marshal
	}
	return data
}

// fail replies with the part of err that callers may see.
func (c *call) fail(err error) {
	p := problemOf(err, c.leader(c.ctx))
	if p.Status == http.StatusInternalServerError {
		c.config.Log.ErrorContext(c.ctx, "request failed", "method", c.request.Method, "route", c.route.path, "error",
			err)
	}
	h := c.writer.Header()
	if p.Leader != "" {
		h.Set("X-Leader-Hint", p.Leader)
	}
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="hermes"`)
	}
	c.send(p.Status, mediaProblem, p.encode())
}
