package bind

import (
	"context"
	"iter"

	"wirelab/wire/exchange"
	"wirelab/workload/routeguide"
)

// What the wires that speak package exchange share: the operations by number,
// in the published message types. The numbers are for ever, like those of
// fields. They stand in functions, not variables, since codecs are functions.

func getFeature() exchange.Operation[routeguide.Point, routeguide.Feature] {
	return exchange.Operation[routeguide.Point, routeguide.Feature]{
		Number: 1, Request: exchange.ProtoOf(pointToProto, pointFromProto), Reply: exchange.ProtoOf(featureToProto, featureFromProto),
	}
}

func listFeatures() exchange.Operation[routeguide.Rectangle, routeguide.Feature] {
	return exchange.Operation[routeguide.Rectangle, routeguide.Feature]{
		Number: 2, Request: exchange.ProtoOf(rectangleToProto, rectangleFromProto), Reply: exchange.ProtoOf(featureToProto, featureFromProto),
	}
}

func recordRoute() exchange.Operation[routeguide.Point, routeguide.RouteSummary] {
	return exchange.Operation[routeguide.Point, routeguide.RouteSummary]{
		Number: 3, Request: exchange.ProtoOf(pointToProto, pointFromProto), Reply: exchange.ProtoOf(summaryToProto, summaryFromProto),
	}
}

func routeChat() exchange.Operation[routeguide.RouteNote, routeguide.RouteNote] {
	return exchange.Operation[routeguide.RouteNote, routeguide.RouteNote]{
		Number: 4, Request: exchange.ProtoOf(noteToProto, noteFromProto), Reply: exchange.ProtoOf(noteToProto, noteFromProto),
	}
}

// exchangeHandlers are the operations, for wires that speak package exchange.
func exchangeHandlers(service routeguide.Service) []exchange.Handler {
	return []exchange.Handler{
		getFeature().Unary(service.GetFeature),
		listFeatures().ServerStream(service.ListFeatures),
		recordRoute().ClientStream(service.RecordRoute),
		routeChat().BidiStream(service.RouteChat),
	}
}

// newExchangeStub returns the stub over a client.
func newExchangeStub(client *exchange.Client) routeguide.Service {
	return &exchangeStub{
		client: client,
		get:    getFeature(), list: listFeatures(), record: recordRoute(), chat: routeChat(),
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
