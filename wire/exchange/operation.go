package exchange

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"wirelab"
)

// Codec turns values into payloads and back.
type Codec[T any] struct {
	// Append appends v's payload to b.
	Append func(b []byte, v T) ([]byte, error)
	// Parse reads a payload, of which it keeps no part.
	Parse func(payload []byte) (T, error)
}

// Operation is something that is asked by number. Both sides hold the same one.
type Operation[Req, Rep any] struct {
	Number  byte // unique in a service
	Request Codec[Req]
	Reply   Codec[Rep]
}

// Handler answers an operation. Make one with [Operation.Unary] or its siblings.
type Handler struct {
	number byte
	// streams is whether requests follow the call, up to an end.
	streams bool
	answer  func(ctx context.Context, s *session, payload []byte) error
}

// Unary answers one request with one reply.
func (o Operation[Req, Rep]) Unary(answer func(context.Context, Req) (Rep, error)) Handler {
	return Handler{number: o.Number, answer: func(ctx context.Context, s *session, payload []byte) error {
		req, err := parseRequest(o.Request, payload)
		if err != nil {
			return err
		}
		rep, err := answer(ctx, req)
		if err != nil {
			return err
		}
		return send(s.link, kindLast, o.Reply, rep)
	}}
}

// ServerStream answers one request with a stream. An answer that ends after
// its context did is a failure (see until): a service that just stops must not
// be taken for one that was done.
func (o Operation[Req, Rep]) ServerStream(answer func(context.Context, Req) iter.Seq2[Rep, error]) Handler {
	return Handler{number: o.Number, answer: func(ctx context.Context, s *session, payload []byte) error {
		req, err := parseRequest(o.Request, payload)
		if err != nil {
			return err
		}
		if err := s.until(ctx, func() error { return sendAll(s.link, o.Reply, answer(ctx, req)) }); err != nil {
			return err
		}
		return s.end()
	}}
}

// ClientStream answers a stream of requests with one reply.
func (o Operation[Req, Rep]) ClientStream(answer func(context.Context, iter.Seq2[Req, error]) (Rep, error)) Handler {
	return Handler{number: o.Number, streams: true, answer: func(ctx context.Context, s *session, _ []byte) error {
		var rep Rep
		err := s.until(ctx, func() (err error) {
			rep, err = answer(ctx, requests(ctx, s, o.Request))
			return err
		})
		if err != nil {
			return err
		}
		return send(s.link, kindLast, o.Reply, rep)
	}}
}

// BidiStream answers a stream of requests with a stream, in one goroutine:
// requests are read when the service asks for them.
func (o Operation[Req, Rep]) BidiStream(
	answer func(context.Context, iter.Seq2[Req, error]) iter.Seq2[Rep, error],
) Handler {
	return Handler{number: o.Number, streams: true, answer: func(ctx context.Context, s *session, _ []byte) error {
		err := s.until(ctx, func() error {
			return sendAll(s.link, o.Reply, answer(ctx, requests(ctx, s, o.Request)))
		})
		if err != nil {
			return err
		}
		return s.end()
	}}
}

func parseRequest[Req any](codec Codec[Req], payload []byte) (Req, error) {
	req, err := codec.Parse(payload)
	var told *wirelab.Error
	if errors.As(err, &told) {
		return req, err // the codec's own words, meant for the caller
	}
	if err != nil {
		return req, wirelab.Errorf(wirelab.InvalidArgument, "the request is not a message: %v", err)
	}
	return req, nil
}

// send sends v in a message of kind k.
func send[T any](l *link, k kind, codec Codec[T], v T) error {
	frame, err := codec.Append(append(l.frame(), byte(k)), v)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return l.send(frame)
}

// sendAll sends a stream, but not its end.
func sendAll[T any](l *link, codec Codec[T], items iter.Seq2[T, error]) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		if err := send(l, kindItem, codec, item); err != nil {
			return err
		}
	}
	return nil
}

// requests is the stream of a call's requests, up to its end. It may be ranged
// over again to read on.
func requests[Req any](ctx context.Context, s *session, codec Codec[Req]) iter.Seq2[Req, error] {
	return func(yield func(Req, error) bool) {
		var none Req
		for !s.ended {
			content, err := s.next(ctx)
			if err != nil {
				yield(none, err)
				return
			}
			if s.ended {
				return
			}
			req, err := parseRequest(codec, content)
			if !yield(req, err) || err != nil {
				return
			}
		}
	}
}
