package connect

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"wirelab/wire/codec"
)

// formCodec is connect-go's codec of one method whose messages are in an
// encoding of their own. connect-go makes the messages that it receives, and
// so the codec gives them their form.
type formCodec[Req, Rep any] struct {
	name    string
	request codec.Form[Req]
	reply   codec.Form[Rep]
}

// Name implements [connect.Codec].
func (c *formCodec[Req, Rep]) Name() string { return c.name }

// Marshal implements [connect.Codec].
func (c *formCodec[Req, Rep]) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend is what connect-go calls where it has a buffer.
func (c *formCodec[Req, Rep]) MarshalAppend(dst []byte, v any) ([]byte, error) {
	carrier, ok := v.(codec.Carrier)
	if !ok {
		return nil, errForeign
	}
	return carrier.Append(dst)
}

// Unmarshal implements [connect.Codec].
func (c *formCodec[Req, Rep]) Unmarshal(data []byte, v any) error {
	switch m := v.(type) {
	case *codec.Message[Req]:
		m.As(&c.request).Take(data)
	case *codec.Message[Rep]:
		m.As(&c.reply).Take(data)
	default:
		return errForeign
	}
	return nil
}

// errForeign is a message that is none of the method's: a mistake in the source.
var errForeign = errors.New("the message is of another method")

// deafCodec refuses the messages of an encoding that connect-go's handlers
// would take, but the service does not speak.
type deafCodec struct{ name, want string }

// Name implements [connect.Codec].
func (c deafCodec) Name() string { return c.name }

// Marshal implements [connect.Codec].
func (c deafCodec) Marshal(any) ([]byte, error) { return nil, c.refuse() }

// Unmarshal implements [connect.Codec].
func (c deafCodec) Unmarshal([]byte, any) error { return c.refuse() }

func (c deafCodec) refuse() error {
	return errors.New("the call is in " + c.name + "; this service speaks " + c.want)
}

// HandleUnary returns the handler of a unary method at a procedure's path,
// /service/method, whose messages are in the encoding of a name such as "avro".
func HandleUnary[Req, Rep any](
	procedure, encoding string, request codec.Form[Req], reply codec.Form[Rep],
	call func(context.Context, Req) (Rep, error), more ...connect.HandlerOption,
) http.Handler {
	return connect.NewUnaryHandler(procedure, func(
		ctx context.Context, message *connect.Request[codec.Message[Req]],
	) (*connect.Response[codec.Message[Rep]], error) {
		req, err := message.Msg.As(&request).Request()
		if err != nil {
			return nil, Encode(err)
		}
		rep, err := call(ctx, req)
		if err != nil {
			return nil, Encode(err)
		}
		return connect.NewResponse(reply.Of(rep)), nil
	}, formOptions(encoding, request, reply, more)...)
}

// formOptions are the options of a handler that speaks one encoding alone.
func formOptions[Req, Rep any](
	encoding string, request codec.Form[Req], reply codec.Form[Rep], more []connect.HandlerOption,
) []connect.HandlerOption {
	options := append(HandlerOptions(), more...)
	for _, usual := range []string{"proto", "json"} {
		if usual != encoding {
			options = append(options, connect.WithCodec(deafCodec{name: usual, want: encoding}))
		}
	}
	return append(options, connect.WithCodec(&formCodec[Req, Rep]{name: encoding, request: request, reply: reply}))
}

// CallUnary returns the stub of a unary method at a procedure's path, whose
// messages are in the encoding of a name such as "avro".
func CallUnary[Req, Rep any](
	client connect.HTTPClient, baseURL, procedure, encoding string, request codec.Form[Req], reply codec.Form[Rep],
	more ...connect.ClientOption,
) func(context.Context, Req) (Rep, error) {
	calls := formClient(client, baseURL+procedure, encoding, request, reply, more)
	return func(ctx context.Context, req Req) (rep Rep, err error) {
		sent := request.Of(req)
		received, err := calls.CallUnary(ctx, connect.NewRequest(sent))
		if err != nil {
			return rep, codec.Ours(sent.Sent(), Decode(err))
		}
		return received.Msg.Reply()
	}
}

// formClient is connect-go's client of one method in its own encoding.
func formClient[Req, Rep any](
	client connect.HTTPClient, url, encoding string, request codec.Form[Req], reply codec.Form[Rep],
	more []connect.ClientOption,
) *connect.Client[codec.Message[Req], codec.Message[Rep]] {
	options := append(ClientOptions(), more...)
	options = append(options, connect.WithCodec(&formCodec[Req, Rep]{name: encoding, request: request, reply: reply}))
	return connect.NewClient[codec.Message[Req], codec.Message[Rep]](client, url, options...)
}
