package wirelab

import (
	"context"
	"math/rand/v2"
)

// Following describes a unary call whose effect may come after its reply. Its request
// carries an entry with an id, and the journals of the services on the way record by
// this id when the entry took effect. A request may be made only once ([Operation.Once]),
// because two entries with one id could not be distinguished.
//
// Following is a separate constructor because a method of [Operation] does not know Req.
func Following[S, Req any, Rep Message[Rep]](
	name string, draw func(*rand.Rand) Req,
	call func(S, context.Context, Req) (Rep, error),
	id func(Req) string, more ...Drawing[Req],
) Operation[S] {
	o := describe(name, UnaryCall, draw, more, func(req Req) Exchange[S] {
		exchange := unaryExchange(req, call)
		exchange.ID = id(req)
		return exchange
	})
	o.Followed = true
	return o.Once()
}

// Follow implements [Client].
func (c *typedClient[S]) Follow(operation, requests string,
	seed uint64,
) (call func(context.Context) error, last func() string, err error) {
	o, err := c.workload.operation(operation)
	if err != nil {
		return nil, nil, err
	}
	if !o.Followed {
		return nil, nil, Errorf(InvalidArgument, "requests of %s have no id, so their entries cannot be tracked",
			operation)
	}
	if _, err := o.Draw(requests, newDraws(seed)); err != nil {
		return nil, nil, err
	}
	call, last = c.once(o, requests, newDraws(seed))
	return call, last, nil
}

// once returns a caller that draws a new request for each call and compares the reply
// with that of a new reference. last returns the ID of the last drawn exchange. The
// caller has checked that requests can be drawn.
func (c *typedClient[S]) once(o Operation[S], requests string,
	r *rand.Rand,
) (call func(context.Context) error, last func() string) {
	id := ""
	call = func(ctx context.Context) error {
		exchange, err := o.Draw(requests, r)
		if err != nil {
			return err
		}
		id = exchange.ID
		return exchange.Expect(ctx, c.workload.New())(ctx, c.stub)
	}
	return call, func() string { return id }
}
