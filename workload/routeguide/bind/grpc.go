package bind

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/grpcbind"
	"wirelab/wire/stream"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/gen"
	"wirelab/workload/routeguide/gen/genconnect"
)

// GRPC carries the route guide over gRPC in plaintext, under the paths and the
// messages that existing clients know: those of routeguide.RouteGuide, and those
// of the published benchmark, which says v1.RouteGuide.
func GRPC() wirelab.Binding[routeguide.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(false))
}

// GRPCTLS is [GRPC] over TLS 1.3.
func GRPCTLS() wirelab.Binding[routeguide.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(true))
}

// rpc is the route guide on gRPC and Connect.
func rpc() grpcbind.Service[routeguide.Service] {
	return grpcbind.Service[routeguide.Service]{
		Names: []string{genconnect.RouteGuideName},
		// The published benchmark's checked-in stubs call this name, whatever its
		// .proto says; messages and methods are the same.
		Aliases: []wiregrpc.Alias{{Name: "v1.RouteGuide", Of: genconnect.RouteGuideName}},
		Register: func(to grpc.ServiceRegistrar, service routeguide.Service) {
			gen.RegisterRouteGuideServer(to, grpcServer{service: service})
		},
		Handle: func(mux *http.ServeMux, service routeguide.Service) {
			mux.Handle(genconnect.NewRouteGuideHandler(connectServer{service}, wireconnect.HandlerOptions()...))
		},
		GRPC: func(conn *grpc.ClientConn) routeguide.Service { return grpcStub{gen.NewRouteGuideClient(conn)} },
		Connect: func(client connect.HTTPClient, url string, speak ...connect.ClientOption) routeguide.Service {
			return newConnectStub(client, url, speak...)
		},
		RawHoles: rawHoles(), Fresh: []string{genconnect.RouteGuideRouteChatProcedure},
	}
}

// grpcServer answers for service through grpc-go.
type grpcServer struct {
	gen.UnimplementedRouteGuideServer
	service routeguide.Service
}

// GetFeature implements [gen.RouteGuideServer].
func (s grpcServer) GetFeature(ctx context.Context, at *gen.Point) (*gen.Feature, error) {
	feature, err := s.service.GetFeature(ctx, pointFromProto(at))
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return featureToProto(feature), nil
}

// ListFeatures implements [gen.RouteGuideServer].
func (s grpcServer) ListFeatures(in *gen.Rectangle, call grpc.ServerStreamingServer[gen.Feature]) error {
	for feature, err := range s.service.ListFeatures(call.Context(), rectangleFromProto(in)) {
		if err != nil {
			return wiregrpc.Encode(err)
		}
		if err := call.Send(featureToProto(feature)); err != nil {
			return err
		}
	}
	return nil
}

// RecordRoute implements [gen.RouteGuideServer].
func (s grpcServer) RecordRoute(call grpc.ClientStreamingServer[gen.Point, gen.RouteSummary]) error {
	points := stream.Items(call.Recv, pointFromProto, wiregrpc.Decode)
	summary, err := s.service.RecordRoute(call.Context(), points)
	if err != nil {
		return wiregrpc.Encode(err)
	}
	return call.SendAndClose(summaryToProto(summary))
}

// RouteChat implements [gen.RouteGuideServer]. Notes are read when the service
// asks for them, by the one goroutine that also sends its replies: those to a
// note are on their way before the next is read.
func (s grpcServer) RouteChat(call grpc.BidiStreamingServer[gen.RouteNote, gen.RouteNote]) error {
	notes := stream.Items(call.Recv, noteFromProto, wiregrpc.Decode)
	for note, err := range s.service.RouteChat(call.Context(), notes) {
		if err != nil {
			return wiregrpc.Encode(err)
		}
		if err := call.Send(noteToProto(note)); err != nil {
			return err
		}
	}
	return nil
}

// grpcStub is the service as a client sees it through grpc-go.
type grpcStub struct{ calls gen.RouteGuideClient }

var _ routeguide.Service = grpcStub{}

// GetFeature implements [routeguide.Service].
func (s grpcStub) GetFeature(ctx context.Context, at routeguide.Point) (routeguide.Feature, error) {
	feature, err := s.calls.GetFeature(ctx, pointToProto(at))
	if err != nil {
		return routeguide.Feature{}, wiregrpc.Decode(err)
	}
	return featureFromProto(feature), nil
}

// ListFeatures implements [routeguide.Service].
func (s grpcStub) ListFeatures(ctx context.Context, in routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
	return func(yield func(routeguide.Feature, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // which is how grpc-go is told that nobody reads on
		call, err := s.calls.ListFeatures(ctx, rectangleToProto(in))
		if err != nil {
			yield(routeguide.Feature{}, wiregrpc.Decode(err))
			return
		}
		stream.Items(call.Recv, featureFromProto, wiregrpc.Decode)(yield)
	}
}

// RecordRoute implements [routeguide.Service]. It sends from the caller's
// goroutine: there is nothing to receive before the end.
func (s grpcStub) RecordRoute(
	ctx context.Context, points iter.Seq2[routeguide.Point, error],
) (routeguide.RouteSummary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // so that a route that broke is not taken for one that ended
	call, err := s.calls.RecordRoute(ctx)
	if err != nil {
		return routeguide.RouteSummary{}, wiregrpc.Decode(err)
	}
	for point, err := range points {
		if err != nil {
			return routeguide.RouteSummary{}, err
		}
		if err := call.Send(pointToProto(point)); errors.Is(err, io.EOF) {
			break // the call is over; why is told below
		} else if err != nil {
			return routeguide.RouteSummary{}, wiregrpc.Decode(err)
		}
	}
	summary, err := call.CloseAndRecv()
	if err != nil {
		return routeguide.RouteSummary{}, wiregrpc.Decode(err)
	}
	return summaryFromProto(summary), nil
}

// RouteChat implements [routeguide.Service]; see [stream.Converse] for what an
// early stop waits for.
func (s grpcStub) RouteChat(
	ctx context.Context, notes iter.Seq2[routeguide.RouteNote, error],
) iter.Seq2[routeguide.RouteNote, error] {
	return stream.Converse(ctx, validNotes(notes),
		func(ctx context.Context) (stream.Duplex[routeguide.RouteNote, routeguide.RouteNote], error) {
			call, err := s.calls.RouteChat(ctx)
			if err != nil {
				return stream.Duplex[routeguide.RouteNote, routeguide.RouteNote]{}, wiregrpc.Decode(err)
			}
			return stream.Duplex[routeguide.RouteNote, routeguide.RouteNote]{
				Send:      func(n routeguide.RouteNote) error { return call.Send(noteToProto(n)) },
				CloseSend: call.CloseSend,
				Receive: func() (routeguide.RouteNote, error) {
					n, err := call.Recv()
					return noteFromProto(n), err
				},
				Translate: wiregrpc.Decode,
			}, nil
		})
}
