package rawtcp

import (
	"context"
	"strconv"
	"time"

	"wirelab"
	"wirelab/wire/exchange"
	"wirelab/wire/raw"
)

// Raw returns the raw driver of a binding, of whose operations it carries those
// with one request. stub is the binding's over a client.
func Raw[S any](holes map[string]string, stub func(*exchange.Client) S) *wirelab.Raw[S] {
	frames := raw.Frames{
		Limit: exchange.MessageLimit,
		Ends:  exchange.Ends,
		Request: func(message []byte, deadline time.Duration) ([]byte, string, int, error) {
			same, operation, payload, err := exchange.Retimed(message, deadline)
			return same, strconv.Itoa(int(operation)), payload, err
		},
	}
	return raw.Framed(frames, holes, func(t *raw.Tape) S {
		return stub(exchange.NewClient(1, func(ctx context.Context) (exchange.Conn, error) { return t.Open(ctx), nil }))
	})
}
