package netrpc

import (
	"context"
	"io"

	"wirelab"
)

// Why net/rpc does not carry an operation.
const (
	NoStreams = "net/rpc has no streams: one reply answers one request"
	NoUploads = "net/rpc has no streams: a list in one request is another operation"
)

// BindingOf returns the binding of a service S over net/rpc, under the name by which clients of net/rpc call it.
// receiver has the methods that net/rpc finds, stub is the service over a client, and holes are the operations that
// it does not carry. Further services on the same server follow.
func BindingOf[S any](
	name string, receiver func(S) any, stub func(*Client) S, holes map[string]string, beside ...func(S) Beside,
) wirelab.Binding[S] {
	return wirelab.Binding[S]{
		Protocol: Protocol(),
		Style:    wirelab.Idiomatic,
		Holes:    holes,
		Servers: []wirelab.Server[S]{{
			Library: "net/rpc",
			Serve: func(ctx context.Context, at wirelab.Endpoint, service S) error {
				others := make([]Beside, len(beside))
				for i, other := range beside {
					others[i] = other(service)
				}
				return Serve(ctx, at, name, receiver(service), others...)
			},
		}},
		Clients: []wirelab.Dialer[S]{{
			Library: "net/rpc",
			Dial: func(_ context.Context, to wirelab.Dialing) (S, io.Closer, error) {
				client := Dial(to)
				return stub(client), client, nil
			},
		}},
	}
}
