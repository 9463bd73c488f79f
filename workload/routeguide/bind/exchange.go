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

// newExchangeStub returns the stub over a client.
func newExchangeStub(client *exchange.Client) routeguide.Service {
	return newExchangeCalls(client)
}

// RouteChat implements [routeguide.Service]. It refuses notes that wires would carry differently.
func (s *exchangeCalls) RouteChat(
	ctx context.Context, notes iter.Seq2[routeguide.RouteNote, error],
) iter.Seq2[routeguide.RouteNote, error] {
	return s.routeChat.CallBidiStream(ctx, s.client, validNotes(notes))
}
