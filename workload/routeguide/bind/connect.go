package bind

import (
	"context"
	"errors"
	"io"
	"iter"

	"connectrpc.com/connect"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/wire/stream"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/gen"
	"wirelab/workload/routeguide/gen/genconnect"
)

// Connect carries the route guide over the Connect protocol on HTTP/2 in plaintext.
func Connect() wirelab.Binding[routeguide.Service] {
	return rpc().OverConnect(wireconnect.Protocol())
}

// ConnectHTTP1 carries the route guide over the Connect protocol on HTTP/1.1,
// but for RouteChat.
func ConnectHTTP1() wirelab.Binding[routeguide.Service] {
	const noChat = "the Connect protocol asks for HTTP/2 here: connect-go answers a bidirectional call over HTTP/1.1 with status 505"
	s := rpc()
	s.Connect = func(client connect.HTTPClient, url string, speak ...connect.ClientOption) routeguide.Service {
		stub := newConnectStub(client, url, speak...)
		stub.noChat = noChat
		return stub
	}
	b := s.OverConnect(wireconnect.ProtocolHTTP1())
	b.Holes = map[string]string{"RouteChat": noChat}
	return b
}

// connectServer answers for service through connect-go, whichever protocol the call came by.
type connectServer struct{ service routeguide.Service }

var _ genconnect.RouteGuideHandler = connectServer{}

// GetFeature implements [genconnect.RouteGuideHandler].
func (s connectServer) GetFeature(
	ctx context.Context, at *connect.Request[gen.Point],
) (*connect.Response[gen.Feature], error) {
	feature, err := s.service.GetFeature(ctx, pointFromProto(at.Msg))
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(featureToProto(feature)), nil
}

// ListFeatures implements [genconnect.RouteGuideHandler].
func (s connectServer) ListFeatures(
	ctx context.Context, in *connect.Request[gen.Rectangle], call *connect.ServerStream[gen.Feature],
) error {
	for feature, err := range s.service.ListFeatures(ctx, rectangleFromProto(in.Msg)) {
		if err != nil {
			return wireconnect.Encode(err)
		}
		if err := call.Send(featureToProto(feature)); err != nil {
			return err
		}
	}
	return nil
}

// RecordRoute implements [genconnect.RouteGuideHandler].
func (s connectServer) RecordRoute(
	ctx context.Context, call *connect.ClientStream[gen.Point],
) (*connect.Response[gen.RouteSummary], error) {
	receive := func() (*gen.Point, error) {
		if call.Receive() {
			return call.Msg(), nil
		}
		if err := call.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	summary, err := s.service.RecordRoute(ctx, stream.Items(receive, pointFromProto, wireconnect.Decode))
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(summaryToProto(summary)), nil
}

// RouteChat implements [genconnect.RouteGuideHandler]. As with grpc-go, one
// goroutine reads and replies, so the replies to a note precede the next read.
func (s connectServer) RouteChat(ctx context.Context, call *connect.BidiStream[gen.RouteNote, gen.RouteNote]) error {
	notes := stream.Items(call.Receive, noteFromProto, wireconnect.Decode)
	for note, err := range s.service.RouteChat(ctx, notes) {
		if err != nil {
			return wireconnect.Encode(err)
		}
		if err := call.Send(noteToProto(note)); err != nil {
			return err
		}
	}
	return nil
}

// connectStub is the service as a client sees it through connect-go.
type connectStub struct {
	calls  genconnect.RouteGuideClient
	noChat string // why RouteChat is a hole; "" where it is none
}

var _ routeguide.Service = connectStub{}

// newConnectStub returns a stub that speaks the Connect protocol unless told otherwise.
func newConnectStub(client connect.HTTPClient, url string, speak ...connect.ClientOption) connectStub {
	return connectStub{calls: genconnect.NewRouteGuideClient(client, url, append(wireconnect.ClientOptions(), speak...)...)}
}

// GetFeature implements [routeguide.Service].
func (s connectStub) GetFeature(ctx context.Context, at routeguide.Point) (routeguide.Feature, error) {
	feature, err := s.calls.GetFeature(ctx, connect.NewRequest(pointToProto(at)))
	if err != nil {
		return routeguide.Feature{}, wireconnect.Decode(err)
	}
	return featureFromProto(feature.Msg), nil
}

// ListFeatures implements [routeguide.Service].
func (s connectStub) ListFeatures(ctx context.Context, in routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
	return func(yield func(routeguide.Feature, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		call, err := s.calls.ListFeatures(ctx, connect.NewRequest(rectangleToProto(in)))
		if err != nil {
			yield(routeguide.Feature{}, wireconnect.Decode(err))
			return
		}
		// Resets the stream if its end was not read, else keeps the connection.
		defer func() { _ = call.Close() }()
		for call.Receive() {
			if !yield(featureFromProto(call.Msg()), nil) {
				return
			}
		}
		if err := call.Err(); err != nil {
			yield(routeguide.Feature{}, wireconnect.Decode(err))
		}
	}
}

// RecordRoute implements [routeguide.Service]. It sends from the caller's
// goroutine: there is nothing to receive before the end.
func (s connectStub) RecordRoute(
	ctx context.Context, points iter.Seq2[routeguide.Point, error],
) (routeguide.RouteSummary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // so that a route that broke is not taken for one that ended
	call := s.calls.RecordRoute(ctx)
	for point, err := range points {
		if err != nil {
			return routeguide.RouteSummary{}, err
		}
		if err := call.Send(pointToProto(point)); errors.Is(err, io.EOF) {
			break // the call is over; why is told below
		} else if err != nil {
			return routeguide.RouteSummary{}, wireconnect.Decode(err)
		}
	}
	summary, err := call.CloseAndReceive()
	if err != nil {
		return routeguide.RouteSummary{}, wireconnect.Decode(err)
	}
	return summaryFromProto(summary.Msg), nil
}

// RouteChat implements [routeguide.Service]; see [stream.Converse] for what an
// early stop waits for.
func (s connectStub) RouteChat(
	ctx context.Context, notes iter.Seq2[routeguide.RouteNote, error],
) iter.Seq2[routeguide.RouteNote, error] {
	if s.noChat != "" {
		return failed[routeguide.RouteNote](wirelab.Errorf(wirelab.Unimplemented, "%s", s.noChat))
	}
	return stream.Converse(ctx, validNotes(notes),
		func(ctx context.Context) (stream.Duplex[routeguide.RouteNote, routeguide.RouteNote], error) {
			call := s.calls.RouteChat(ctx)
			// Without this the call would begin with the first note, and
			// Receive would wait for it. A failure is Receive's to report.
			_ = call.Send(nil)
			return stream.Duplex[routeguide.RouteNote, routeguide.RouteNote]{
				Send:      func(n routeguide.RouteNote) error { return call.Send(noteToProto(n)) },
				CloseSend: call.CloseRequest,
				Receive: func() (routeguide.RouteNote, error) {
					n, err := call.Receive()
					return noteFromProto(n), err
				},
				// Not CloseRequest: to the server that would be an end, not a stop.
				Close:     func() { _ = call.CloseResponse() },
				Translate: wireconnect.Decode,
			}, nil
		})
}
