package bind

import (
	"context"
	"io"
	"iter"

	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/routeguide"
)

// netrpcName is the name of the service, as net/rpc's clients say it.
const netrpcName = "RouteGuide"

// NetRPC carries the route guide over net/rpc, in gob of the domain's own
// types, which is how net/rpc is used: their fields' names are on the wire.
func NetRPC() wirelab.Binding[routeguide.Service] {
	return wirelab.Binding[routeguide.Service]{
		Protocol: netrpc.Protocol(),
		Style:    wirelab.Idiomatic,
		Holes: map[string]string{
			"ListFeatures": "net/rpc has no streams: one reply answers one request",
			"RecordRoute":  "net/rpc has no streams: a list in one request is another operation",
			"RouteChat":    "net/rpc has no streams: one reply answers one request",
		},
		Servers: []wirelab.Server[routeguide.Service]{{
			Library: "net/rpc",
			Serve: func(ctx context.Context, at wirelab.Endpoint, service routeguide.Service) error {
				return netrpc.Serve(ctx, at, netrpcName, &netrpcServer{service})
			},
		}},
		Clients: []wirelab.Dialer[routeguide.Service]{{
			Library: "net/rpc",
			Dial: func(_ context.Context, to wirelab.Dialing) (routeguide.Service, io.Closer, error) {
				client := netrpc.Dial(to)
				return netrpcStub{client}, client, nil
			},
		}},
	}
}

// netrpcServer is the receiver whose methods net/rpc finds.
type netrpcServer struct{ service routeguide.Service }

// GetFeature is the method RouteGuide.GetFeature.
func (s *netrpcServer) GetFeature(
	req *netrpc.Request[routeguide.Point], rep *netrpc.Reply[routeguide.Feature],
) error {
	return netrpc.Answer(req, rep, s.service.GetFeature)
}

// netrpcStub is the service as a client sees it.
type netrpcStub struct{ client *netrpc.Client }

var _ routeguide.Service = netrpcStub{}

// GetFeature implements [routeguide.Service].
func (s netrpcStub) GetFeature(ctx context.Context, at routeguide.Point) (routeguide.Feature, error) {
	return netrpc.Call[routeguide.Point, routeguide.Feature](ctx, s.client, netrpcName+".GetFeature", at)
}

// ListFeatures implements [routeguide.Service]: a hole.
func (netrpcStub) ListFeatures(context.Context, routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
	return failed[routeguide.Feature](errNoStreams("ListFeatures"))
}

// RecordRoute implements [routeguide.Service]: a hole.
func (netrpcStub) RecordRoute(context.Context, iter.Seq2[routeguide.Point, error]) (routeguide.RouteSummary, error) {
	return routeguide.RouteSummary{}, errNoStreams("RecordRoute")
}

// RouteChat implements [routeguide.Service]: a hole.
func (netrpcStub) RouteChat(context.Context, iter.Seq2[routeguide.RouteNote, error]) iter.Seq2[routeguide.RouteNote, error] {
	return failed[routeguide.RouteNote](errNoStreams("RouteChat"))
}

func errNoStreams(operation string) error {
	return wirelab.Errorf(wirelab.Unimplemented, "%s: net/rpc has no streams", operation)
}
