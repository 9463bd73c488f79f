package exchange

import (
	"context"
	"io"

	"wirelab"
)

// Serving is a wire's server of handlers.
type Serving func(context.Context, wirelab.Endpoint, ...Handler) error

// ServerOf makes a binding's server over a wire that speaks this package's
// messages; handlers are a service's operations.
func ServerOf[S any](library string, serve Serving, handlers func(S) []Handler) wirelab.Server[S] {
	return wirelab.Server[S]{
		Library: library,
		Serve: func(ctx context.Context, at wirelab.Endpoint, service S) error {
			return serve(ctx, at, handlers(service)...)
		},
	}
}

// DialerOf makes a binding's client over such a wire; stub is the service over a
// client.
func DialerOf[S any](library string, dial func(wirelab.Dialing) *Client, stub func(*Client) S) wirelab.Dialer[S] {
	return wirelab.Dialer[S]{
		Library: library,
		Dial: func(_ context.Context, to wirelab.Dialing) (S, io.Closer, error) {
			client := dial(to)
			return stub(client), client, nil
		},
	}
}
