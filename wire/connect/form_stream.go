package connect

import (
	"context"
	"iter"
	"net/http"

	"connectrpc.com/connect"

	"wirelab/wire/codec"
)

// HandleServerStream is [HandleUnary] for a method that answers with a stream.
// connect-go writes each message through to the connection, and waits there
// for a reader that is behind.
func HandleServerStream[Req, Rep any](
	procedure, encoding string, request codec.Form[Req], reply codec.Form[Rep],
	call func(context.Context, Req) iter.Seq2[Rep, error], more ...connect.HandlerOption,
) http.Handler {
	return connect.NewServerStreamHandler(procedure, func(
		ctx context.Context, message *connect.Request[codec.Message[Req]], to *connect.ServerStream[codec.Message[Rep]],
	) error {
		req, err := message.Msg.As(&request).Request()
		if err != nil {
			return Encode(err)
		}
		for item, err := range call(ctx, req) {
			if err != nil {
				return Encode(err)
			}
			if err := to.Send(reply.Of(item)); err != nil {
				return err
			}
		}
		return nil
	}, formOptions(encoding, request, reply, more)...)
}

// CallServerStream is [CallUnary] for a method that answers with a stream.
// Leaving its loop early ends the call.
func CallServerStream[Req, Rep any](
	client connect.HTTPClient, baseURL, procedure, encoding string, request codec.Form[Req], reply codec.Form[Rep],
	more ...connect.ClientOption,
) func(context.Context, Req) iter.Seq2[Rep, error] {
	calls := formClient(client, baseURL+procedure, encoding, request, reply, more)
	return func(ctx context.Context, req Req) iter.Seq2[Rep, error] {
		return func(yield func(Rep, error) bool) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			var none Rep
			sent := request.Of(req)
			call, err := calls.CallServerStream(ctx, connect.NewRequest(sent))
			if err != nil {
				yield(none, codec.Ours(sent.Sent(), Decode(err)))
				return
			}
			// Resets the stream if its end was not read, else keeps the connection.
			defer func() { _ = call.Close() }()
			for call.Receive() {
				item, err := call.Msg().Reply()
				if !yield(item, err) || err != nil {
					return
				}
			}
			if err := call.Err(); err != nil {
				yield(none, Decode(err))
			}
		}
	}
}
