package wirelab

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
)

// Kind says which sides of a call are streams.
type Kind string

// The kinds.
const (
	UnaryCall    Kind = "unary"
	ServerStream Kind = "server stream"
	ClientStream Kind = "client stream"
	BidiStream   Kind = "bidirectional stream"
)

// Message is a value that crosses a wire. Equal is the equality of the contract, which may ignore fields that
// depend on a clock.
type Message[T any] interface{ Equal(T) bool }

// Operation is one thing a workload does. Build one with [Unary], [ServerStreaming], [ClientStreaming] or
// [BidiStreaming]. The method expression passed there is the call.
type Operation[S any] struct {
	Name string
	Kind Kind
	// Fresh operations depend on the effects of earlier calls. An exchange drawn for one may be used once, and its
	// requests are never repeated.
	Fresh bool
	// Followed operations are those built with [Following].
	Followed bool
	// Requests names the ways to draw requests; the first is the default.
	Requests []string

	draw  map[string]func(*rand.Rand) Exchange[S]
	parse func(data []byte) (Exchange[S], error)
	// feed reads the operation as a feed from service and checks it against reference; nil for an operation that is
	// not a feed, see [Feeding].
	feed func(ctx context.Context, service, reference S, rate int64, each func(Stamp, error) bool) error
}

// Exchange is one call before it is made: its request, and ways to send it.
type Exchange[S any] struct {
	// ID identifies the entry that the request carries; "" unless the operation is a [Following] one.
	ID string
	// Request renders the request for people.
	Request func() string
	// Value returns the request itself, for callers that write it in their own format.
	Value func() any
	// Ask performs the call and returns every item of the reply in order. On an error it returns the items that
	// came before it.
	Ask func(ctx context.Context, service S) ([]any, error)
	// Expect asks reference once and returns a check that asks a service the same and compares the replies. An
	// error on both sides with the same code is equal. For a unary call the check itself allocates nothing.
	Expect func(ctx context.Context, reference S) Check[S]
}

// Check performs a call. It returns nil if the reply was as expected, the error of the call if it failed, or a
// [*Mismatch].
type Check[S any] func(ctx context.Context, service S) error

// Mismatch is a reply that differs from the reply of the reference. An arm with a mismatch gets no performance
// number.
type Mismatch struct{ Got, Want string }

// Error shows both replies.
func (m *Mismatch) Error() string { return fmt.Sprintf("reply %s, want %s", m.Got, m.Want) }

// Draw draws an exchange. requests is one of o.Requests, or "" for the first.
func (o Operation[S]) Draw(requests string, r *rand.Rand) (Exchange[S], error) {
	if requests == "" {
		requests = o.Requests[0]
	}
	draw, ok := o.draw[requests]
	if !ok {
		return Exchange[S]{}, Errorf(InvalidArgument, "operation %s has no requests %q; it has %s",
			o.Name, requests, strings.Join(o.Requests, ", "))
	}
	return draw(r), nil
}

// Parse makes an exchange from requests in JSON: an object for a unary call or a server stream, an array of objects
// for the other kinds. Field names are those of the domain, in any case; unknown names are an error.
func (o Operation[S]) Parse(data []byte) (Exchange[S], error) { return o.parse(data) }

// Once marks the operation Fresh.
func (o Operation[S]) Once() Operation[S] {
	o.Fresh = true
	return o
}

// Drawing is a named way to draw requests of type Req.
type Drawing[Req any] struct {
	Name string
	Draw func(*rand.Rand) Req
}

// Drawn is the name of the default way: requests spread over the data set.
const Drawn = "drawn"

// Unary describes a call with one request and one reply.
func Unary[S, Req any, Rep Message[Rep]](
	name string, draw func(*rand.Rand) Req,
	call func(S, context.Context, Req) (Rep, error), more ...Drawing[Req],
) Operation[S] {
	return describe(name, UnaryCall, draw, more, func(req Req) Exchange[S] { return unaryExchange(req, call) })
}

// unaryExchange returns the exchange of a call with one request and one reply.
func unaryExchange[S, Req any, Rep Message[Rep]](req Req, call func(S, context.Context, Req) (Rep, error)) Exchange[S] {
	return Exchange[S]{
		Request: func() string { return fmt.Sprintf("%+v", req) },
		Value:   func() any { return req },
		Ask: func(ctx context.Context, s S) ([]any, error) {
			rep, err := call(s, ctx, req)
			if err != nil {
				return nil, err
			}
			return []any{rep}, nil
		},
		Expect: func(ctx context.Context, reference S) Check[S] {
			want, wantErr := call(reference, ctx, req)
			return func(ctx context.Context, s S) error {
				got, err := call(s, ctx, req)
				if err != nil || wantErr != nil {
					return compareErrors(err, wantErr)
				}
				if !got.Equal(want) {
					return &Mismatch{Got: fmt.Sprintf("%+v", got), Want: fmt.Sprintf("%+v", want)}
				}
				return nil
			}
		},
	}
}

// ServerStreaming describes a call with one request and a stream of replies.
func ServerStreaming[S, Req any, Rep Message[Rep]](
	name string, draw func(*rand.Rand) Req,
	call func(S, context.Context, Req) iter.Seq2[Rep, error], more ...Drawing[Req],
) Operation[S] {
	return describe(name, ServerStream, draw, more, func(req Req) Exchange[S] {
		return streamExchange(req, func(ctx context.Context, s S) iter.Seq2[Rep, error] {
			return call(s, ctx, req)
		})
	})
}

// ClientStreaming describes a call with a stream of requests and one reply.
func ClientStreaming[S, Req any, Rep Message[Rep]](
	name string, draw func(*rand.Rand) []Req,
	call func(S, context.Context, iter.Seq2[Req, error]) (Rep, error), more ...Drawing[[]Req],
) Operation[S] {
	return describe(name, ClientStream, draw, more, func(reqs []Req) Exchange[S] {
		return streamExchange(reqs, func(ctx context.Context, s S) iter.Seq2[Rep, error] {
			return func(yield func(Rep, error) bool) {
				yield(call(s, ctx, items(reqs)))
			}
		})
	})
}

// BidiStreaming describes a call with streams both ways.
func BidiStreaming[S, Req any, Rep Message[Rep]](
	name string, draw func(*rand.Rand) []Req,
	call func(S, context.Context, iter.Seq2[Req, error]) iter.Seq2[Rep, error], more ...Drawing[[]Req],
) Operation[S] {
	return describe(name, BidiStream, draw, more, func(reqs []Req) Exchange[S] {
		return streamExchange(reqs, func(ctx context.Context, s S) iter.Seq2[Rep, error] {
			return call(s, ctx, items(reqs))
		})
	})
}

// streamExchange returns the exchange of a call whose reply is read item by item.
func streamExchange[S, Req any, Rep Message[Rep]](
	req Req, call func(context.Context, S) iter.Seq2[Rep, error],
) Exchange[S] {
	collect := func(ctx context.Context, s S) (got []Rep, err error) {
		for rep, err := range call(ctx, s) {
			if err != nil {
				return got, err
			}
			got = append(got, rep)
		}
		return got, nil
	}
	return Exchange[S]{
		Request: func() string { return fmt.Sprintf("%+v", req) },
		Value:   func() any { return req },
		Ask: func(ctx context.Context, s S) ([]any, error) {
			got, err := collect(ctx, s)
			all := make([]any, len(got))
			for i := range got {
				all[i] = got[i]
			}
			return all, err
		},
		Expect: func(ctx context.Context, reference S) Check[S] {
			want, wantErr := collect(ctx, reference)
			return func(ctx context.Context, s S) error {
				n := 0
				for got, err := range call(ctx, s) {
					if err != nil {
						// Items before an error are not compared: a wire may deliver or drop them once the call has
						// failed.
						return compareErrors(err, wantErr)
					}
					if n >= len(want) {
						return &Mismatch{
							Got:  fmt.Sprintf("item %d: %+v", n, got),
							Want: fmt.Sprintf("%d items", len(want)),
						}
					}
					if !got.Equal(want[n]) {
						return &Mismatch{Got: fmt.Sprintf("item %d: %+v", n, got), Want: fmt.Sprintf("%+v", want[n])}
					}
					n++
				}
				if wantErr != nil {
					return compareErrors(nil, wantErr)
				}
				if n != len(want) {
					return &Mismatch{Got: fmt.Sprintf("%d items", n), Want: fmt.Sprintf("%d items", len(want))}
				}
				return nil
			}
		},
	}
}

// compareErrors compares the outcomes of a call in which at least one side failed.
func compareErrors(got, want error) error {
	switch {
	case want == nil:
		return got
	case got == nil:
		return &Mismatch{Got: "success", Want: want.Error()}
	case CodeOf(got) != CodeOf(want):
		return &Mismatch{Got: got.Error(), Want: want.Error()}
	}
	return nil
}

// items returns a slice as a stream without errors.
func items[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range all {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// describe builds an operation from its ways to draw a request.
func describe[S, Req any](
	name string, kind Kind, draw func(*rand.Rand) Req, more []Drawing[Req], exchange func(Req) Exchange[S],
) Operation[S] {
	o := Operation[S]{Name: name, Kind: kind, draw: map[string]func(*rand.Rand) Exchange[S]{}}
	for _, d := range append([]Drawing[Req]{{Drawn, draw}}, more...) {
		o.Requests = append(o.Requests, d.Name)
		o.draw[d.Name] = func(r *rand.Rand) Exchange[S] { return exchange(d.Draw(r)) }
	}
	o.parse = func(data []byte) (Exchange[S], error) {
		var req Req
		decoder := json.NewDecoder(strings.NewReader(string(data)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&req); err != nil {
			return Exchange[S]{}, Errorf(InvalidArgument, "request of %s: %v", name, err)
		}
		if decoder.More() {
			return Exchange[S]{}, Errorf(InvalidArgument, "request of %s: more follows the JSON value", name)
		}
		return exchange(req), nil
	}
	return o
}
