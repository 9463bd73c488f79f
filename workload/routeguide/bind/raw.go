package bind

import (
	"net/http"

	"connectrpc.com/connect"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/wire/raw"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/gen/genconnect"
)

// rawHoles are the operations that no raw driver carries.
func rawHoles() map[string]string {
	return map[string]string{
		"RouteChat": "its replies depend on what was said before, and come while the call is still sending: " +
			"neither can be made beforehand",
	}
}

// withRawConnect adds the raw driver and the null responder to a binding that
// connect-go speaks: gRPC with connect.WithGRPC, else the Connect protocol.
func withRawConnect(
	b wirelab.Binding[routeguide.Service], over raw.Over, more ...connect.ClientOption,
) wirelab.Binding[routeguide.Service] {
	options := append(wireconnect.ClientOptions(), more...)
	b.Raw = raw.Driver(over, rawHoles(), func(t *raw.Transport, scheme, address string) routeguide.Service {
		return connectStub{calls: genconnect.NewRouteGuideClient(t, scheme+"://"+address, options...)}
	})
	b.Null = raw.Null(over, func(service routeguide.Service) http.Handler {
		mux := http.NewServeMux()
		mux.Handle(genconnect.NewRouteGuideHandler(connectServer{service}, wireconnect.HandlerOptions()...))
		return mux
	}, genconnect.RouteGuideRouteChatProcedure)
	return b
}
