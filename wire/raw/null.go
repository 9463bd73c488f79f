package raw

import (
	"context"
	"net/http"

	"wirelab"
)

// Null returns the null responder of a binding: handler makes the handler that
// is asked once for each reply. The replies of the paths in fresh depend on
// more than their request, and so are asked for each time; an element may name
// one method of a path, as in "POST /person".
//
// It obeys the contract of [wirelab.Server], and stops as fast as it can: a
// request that is whole has been answered.
func Null[S any](
	over Over, handler func(S) http.Handler, fresh ...string,
) func(context.Context, wirelab.Endpoint, S) error {
	return func(ctx context.Context, at wirelab.Endpoint, service S) error {
		switch {
		case at.Listener == nil:
			return wirelab.Errorf(wirelab.InvalidArgument, "a null responder needs a listener")
		case over.Secure && at.Certificate == nil:
			return wirelab.Errorf(wirelab.InvalidArgument, "a null responder over TLS needs a certificate")
		}
		return serveNull(ctx, at, over, newResponder(handler(service), over, fresh))
	}
}

// server is a protocol that answers.
type server interface {
	protocol
	// stop says goodbye, if the protocol has a word for it.
	stop()
	// quitting reports whether the connection ends when its output is sent.
	quitting() bool
	// paused reports whether it waits for its output to be sent, and then to
	// be given what it left of its input.
	paused() bool
}

// outMax is how many bytes of replies are made before the kernel has taken some.
const outMax = 4 << 20

// newServer makes the server's end of a connection.
func newServer(over Over, r *responder, heads heads) server {
	if over.Version == HTTP2 {
		return newNull2(r)
	}
	return &null1{responder: r, heads: heads}
}
