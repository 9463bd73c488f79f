package netrpc

import (
	"context"
	"time"

	"wirelab"
	"wirelab/wire/panics"
)

// MessageLimit is the size in bytes above which no message is sent or taken,
// header included.
const MessageLimit = wirelab.MessageLimit

// Request is the argument of every method.
type Request[T any] struct {
	Timeout time.Duration // the time the caller has left; 0 for no deadline
	Body    T

	ctx context.Context // the call's, on the server
	seq uint64          // the call's number, on the client once it was sent
	was bool            // sent
}

// Reply is the reply of every method.
type Reply[T any] struct {
	Failure *Failure // nil for success
	Body    T
}

// Failure is a failed call. Code is the name of a [wirelab.Code]: the error
// table of this wire is that of the names.
type Failure struct {
	Code    string
	Message string
}

// failureOf is what the peer receives of err.
func failureOf(err error) *Failure {
	public := wirelab.Public(err)
	return &Failure{Code: public.Code.String(), Message: public.Message}
}

// err returns the error that a failure describes. An unknown code reads as Internal.
func (f *Failure) err() error {
	code, ok := wirelab.ParseCode(f.Code)
	if !ok {
		return wirelab.Errorf(wirelab.Internal, "failure of unknown code %q: %s", f.Code, f.Message)
	}
	return &wirelab.Error{Code: code, Message: f.Message}
}

// CancelRequest is the argument of Control.Cancel.
type CancelRequest struct{ Seq uint64 }

// CancelReply is the reply of Control.Cancel. It has a field because gob wants one.
type CancelReply struct{ Heard bool }

// control is the service next to each connection's own.
const control = "Control"

// Control is the service under the name Control.
type Control struct{}

// Cancel answers a cancel, which took effect when it was read: net/rpc starts
// methods in no particular order, and this one must not overtake its call.
func (Control) Cancel(_ *CancelRequest, reply *CancelReply) error {
	reply.Heard = true
	return nil
}

// Answer answers a request by a service's method. It is what the methods of a
// registered receiver call; it always returns nil, since failures travel in
// the reply. A panic in call is Internal, and its stack goes to the process's
// log, since the caller must not see it.
func Answer[Req, Rep any](
	req *Request[Req], rep *Reply[Rep], call func(context.Context, Req) (Rep, error),
) error {
	ctx := req.ctx
	if ctx == nil {
		ctx = context.Background() // registered on some other server
	}
	defer func() {
		if p := recover(); p != nil {
			rep.Failure = failureOf(panics.Error(ctx, p))
		}
	}()
	body, err := call(ctx, req.Body)
	if err != nil {
		rep.Failure = failureOf(err)
		return nil
	}
	rep.Body = body
	return nil
}

// admitted is a request as the server's codec sees it.
type admitted interface {
	timeout() time.Duration
	admit(ctx context.Context)
}

func (r *Request[T]) timeout() time.Duration    { return r.Timeout }
func (r *Request[T]) admit(ctx context.Context) { r.ctx = ctx }

// Admitted is an argument of a service [Next to]. Admit is called before its method, with the call's context:
// it ends with the connection, since no time that the caller has left is on such a wire.
type Admitted interface{ Admit(ctx context.Context) }

// numbered is a request as the client's codec sees it.
type numbered interface{ sent(seq uint64) }

func (r *Request[T]) sent(seq uint64) { r.seq, r.was = seq, true }
