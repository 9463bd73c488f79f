package bind

import (
	"context"
	"io"
	"iter"

	"google.golang.org/protobuf/proto"

	"wirelab"
	"wirelab/wire/exchange"
	"wirelab/workload/routeguide"
)

// What the wires that speak package exchange share: the operations by number,
// in the published message types. The numbers are for ever, like those of
// fields. They stand in functions, not variables, since codecs are functions.

func getFeature() exchange.Operation[routeguide.Point, routeguide.Feature] {
	return exchange.Operation[routeguide.Point, routeguide.Feature]{
		Number: 1, Request: payload(pointToProto, pointFromProto), Reply: payload(featureToProto, featureFromProto),
	}
}

func listFeatures() exchange.Operation[routeguide.Rectangle, routeguide.Feature] {
	return exchange.Operation[routeguide.Rectangle, routeguide.Feature]{
		Number: 2, Request: payload(rectangleToProto, rectangleFromProto), Reply: payload(featureToProto, featureFromProto),
	}
}

func recordRoute() exchange.Operation[routeguide.Point, routeguide.RouteSummary] {
	return exchange.Operation[routeguide.Point, routeguide.RouteSummary]{
		Number: 3, Request: payload(pointToProto, pointFromProto), Reply: payload(summaryToProto, summaryFromProto),
	}
}

func routeChat() exchange.Operation[routeguide.RouteNote, routeguide.RouteNote] {
	return exchange.Operation[routeguide.RouteNote, routeguide.RouteNote]{
		Number: 4, Request: payload(noteToProto, noteFromProto), Reply: payload(noteToProto, noteFromProto),
	}
}

// payload is the codec of T through the message M.
func payload[T, M any, P interface {
	*M
	proto.Message
}](to func(T) P, from func(P) T,
) exchange.Codec[T] {
	return exchange.Codec[T]{
		Append: func(b []byte, v T) ([]byte, error) { return proto.MarshalOptions{}.MarshalAppend(b, to(v)) },
		Parse: func(data []byte) (v T, err error) {
			m := P(new(M))
			if err := proto.Unmarshal(data, m); err != nil {
				return v, err
			}
			return from(m), nil
		},
	}
}

// exchangeServer serves over a wire that speaks package exchange.
func exchangeServer(
	library string, serve func(context.Context, wirelab.Endpoint, ...exchange.Handler) error,
) wirelab.Server[routeguide.Service] {
	return wirelab.Server[routeguide.Service]{
		Library: library,
		Serve: func(ctx context.Context, at wirelab.Endpoint, service routeguide.Service) error {
			return serve(ctx, at,
				getFeature().Unary(service.GetFeature),
				listFeatures().ServerStream(service.ListFeatures),
				recordRoute().ClientStream(service.RecordRoute),
				routeChat().BidiStream(service.RouteChat))
		},
	}
}

// exchangeDialer calls over a wire that speaks package exchange.
func exchangeDialer(library string, dial func(wirelab.Dialing) *exchange.Client) wirelab.Dialer[routeguide.Service] {
	return wirelab.Dialer[routeguide.Service]{
		Library: library,
		Dial: func(_ context.Context, to wirelab.Dialing) (routeguide.Service, io.Closer, error) {
			client := dial(to)
			return &exchangeStub{
				client: client,
				get:    getFeature(), list: listFeatures(), record: recordRoute(), chat: routeChat(),
			}, client, nil
		},
	}
}

// exchangeStub is the service as a client sees it.
type exchangeStub struct {
	client *exchange.Client
	get    exchange.Operation[routeguide.Point, routeguide.Feature]
	list   exchange.Operation[routeguide.Rectangle, routeguide.Feature]
	record exchange.Operation[routeguide.Point, routeguide.RouteSummary]
	chat   exchange.Operation[routeguide.RouteNote, routeguide.RouteNote]
}

var _ routeguide.Service = (*exchangeStub)(nil)

// GetFeature implements [routeguide.Service].
func (s *exchangeStub) GetFeature(ctx context.Context, at routeguide.Point) (routeguide.Feature, error) {
	return s.get.Call(ctx, s.client, at)
}

// ListFeatures implements [routeguide.Service].
func (s *exchangeStub) ListFeatures(ctx context.Context, in routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
	return s.list.CallServerStream(ctx, s.client, in)
}

// RecordRoute implements [routeguide.Service].
func (s *exchangeStub) RecordRoute(
	ctx context.Context, points iter.Seq2[routeguide.Point, error],
) (routeguide.RouteSummary, error) {
	return s.record.CallClientStream(ctx, s.client, points)
}

// RouteChat implements [routeguide.Service].
func (s *exchangeStub) RouteChat(
	ctx context.Context, notes iter.Seq2[routeguide.RouteNote, error],
) iter.Seq2[routeguide.RouteNote, error] {
	return s.chat.CallBidiStream(ctx, s.client, validNotes(notes))
}
