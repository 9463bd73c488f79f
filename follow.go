package wirelab

import (
	"context"
	"math/rand/v2"
)

// Following describes a unary call whose effect may come after its reply: what
// it hands over has an id, by which the journals of the services that it goes
// through tell when it took effect. Its requests may be made once ([Operation.Once]),
// since two entries of one id could not be told apart.
//
// It is a constructor of its own because a method of [Operation] knows no Req.
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
		return nil, nil, Errorf(InvalidArgument, "what %s hands over has no id, so that nobody can follow it",
			operation)
	}
	if _, err := o.Draw(requests, newDraws(seed)); err != nil {
		return nil, nil, err
	}
	call, last = c.once(o, requests, newDraws(seed))
	return call, last, nil
}

// once is a caller whose requests are drawn as they are made, each for one call
// and one reference; last is the ID of the exchange drawn last. That requests
// can be drawn was seen.
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
