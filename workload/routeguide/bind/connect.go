package bind

import (
	"context"
	"iter"

	"connectrpc.com/connect"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/wire/stream"
	"wirelab/workload/routeguide"
)

// Connect carries the route guide over the Connect protocol on HTTP/2 in plaintext.
func Connect() wirelab.Binding[routeguide.Service] {
	return rpc().OverConnect(wireconnect.Protocol())
}

// ConnectHTTP1 carries the route guide over the Connect protocol on HTTP/1.1,
// but for RouteChat.
func ConnectHTTP1() wirelab.Binding[routeguide.Service] {
	s := rpc()
	s.Connect = func(client connect.HTTPClient, url string, speak ...connect.ClientOption) routeguide.Service {
		return chatless{newConnectStub(client, url, speak...)}
	}
	b := s.OverConnect(wireconnect.ProtocolHTTP1())
	b.Holes = map[string]string{"RouteChat": noChat}
	return b
}

// noChat is why the Connect protocol does not carry RouteChat over HTTP/1.1.
const noChat = "the Connect protocol asks for HTTP/2 here: connect-go answers a bidirectional call over HTTP/1.1 " +
	"with status 505"

// chatless is a stub without RouteChat.
type chatless struct{ routeguide.Service }

// RouteChat implements [routeguide.Service]: a hole.
func (chatless) RouteChat(
	context.Context, iter.Seq2[routeguide.RouteNote, error],
) iter.Seq2[routeguide.RouteNote, error] {
	return stream.Failed[routeguide.RouteNote](wirelab.Errorf(wirelab.Unimplemented, "%s", noChat))
}
