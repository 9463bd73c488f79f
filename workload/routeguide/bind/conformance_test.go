package bind_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/wire/edgevalues"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/bind"
)

// TestConformance tests every cell; package conformance defines the tests.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	conformance.Run(t, bind.Workload(), conformance.Suite[routeguide.Service]{
		Scripts:    "testdata",
		EdgeValues: edgeValues(),
		Probes:     probes(),
		Behaviour:  behaviour(),
		EveryPair:  true, // for all workloads: it has every kind of operation
	})
}

type (
	point = routeguide.Point
	note  = routeguide.RouteNote
)

func at(latitude, longitude int32) point { return point{Latitude: latitude, Longitude: longitude} }

func says(where point, message string) note { return note{Location: where, Message: message} }

// pointEdges are the points that wires carry wrongly.
func pointEdges() []edgevalues.Value[point] {
	const lat, lon = routeguide.LatitudeLimit, routeguide.LongitudeLimit
	all := []edgevalues.Value[point]{
		{Name: "corner", Value: at(lat, lon), Why: "is the last on Earth"},
		{Name: "other-corner", Value: at(-lat, -lon), Why: "is the first on Earth"},
		{Name: "latitude-only", Value: at(1, 0), Why: "has one coordinate that an encoding leaves out"},
		{Name: "longitude-only", Value: at(0, -1), Why: "has one coordinate that an encoding leaves out"},
		{Name: "swappable", Value: at(lat, -lat-1), Why: "is on Earth only with its coordinates in order"},
		{Name: "latitude-over", Value: at(lat+1, 0), Why: "is one beyond the pole"},
		{Name: "latitude-under", Value: at(-lat-1, 0), Why: "is one beyond the pole"},
		{Name: "longitude-over", Value: at(0, lon+1), Why: "is one beyond the date line"},
		{Name: "longitude-under", Value: at(0, -lon-1), Why: "is one beyond the date line"},
		{Name: "published", Value: routeguide.Published, Why: "is what the published experiment asks"},
	}
	for _, v := range edgevalues.Int32s() {
		all = append(all, edgevalues.Value[point]{Name: "both-" + v.Name, Value: at(v.Value, v.Value), Why: v.Why})
	}
	return all
}

// asked is a typed edge value: operation o with the one request req.
func asked(o wirelab.Operation[routeguide.Service], name, why string) conformance.EdgeValue[routeguide.Service] {
	e, err := o.Draw("", nil)
	if err != nil {
		panic(err) // o has a default way to draw, or it is not an operation
	}
	return conformance.EdgeValue[routeguide.Service]{Operation: o.Name, Name: name, Why: why, Exchange: e}
}

func edgeValues() []conformance.EdgeValue[routeguide.Service] {
	var all []conformance.EdgeValue[routeguide.Service]
	record := func(name, why string, route []point) {
		all = append(all, asked(wirelab.ClientStreaming("RecordRoute",
			always(route), routeguide.Service.RecordRoute), name, why))
	}
	chat := func(name, why string, notes []note) {
		all = append(all, asked(wirelab.BidiStreaming("RouteChat",
			always(notes), routeguide.Service.RouteChat), name, why))
	}
	for _, v := range pointEdges() {
		all = append(
			all,
			asked(wirelab.Unary("GetFeature", always(v.Value), routeguide.Service.GetFeature), v.Name, v.Why),
			asked(wirelab.ServerStreaming("ListFeatures",
				always(routeguide.Rectangle{Lo: v.Value}), routeguide.Service.ListFeatures), "lo-"+v.Name, v.Why),
			asked(wirelab.ServerStreaming("ListFeatures",
				always(routeguide.Rectangle{Hi: v.Value}), routeguide.Service.ListFeatures), "hi-"+v.Name, v.Why),
		)
		record("last-"+v.Name, v.Why, []point{{}, routeguide.Published, v.Value})
		chat("at-"+v.Name, v.Why, []note{says(v.Value, "here"), says(v.Value, "again")})
	}
	for i, v := range edgevalues.TextsUpTo(routeguide.MessageLimit) {
		here := at(int32(i), 77)
		chat("text-"+v.Name, v.Why, []note{says(here, v.Value), says(here, "x"+v.Value), says(here, "")})
	}
	for i, v := range edgevalues.BrokenTexts() {
		chat("broken-"+v.Name, v.Why, []note{says(at(int32(i), 78), "before"), says(at(int32(i), 78), v.Value)})
	}
	chat("text-over", "is one byte longer than the contract admits",
		[]note{says(at(1, 79), strings.Repeat("x", routeguide.MessageLimit+1))})
	chat("empty", "has no request at all", nil)
	chat("twenty", "is more than are kept at a place", slices.Repeat([]note{says(at(2, 79), "same")}, 20))
	record("empty", "has no request at all", nil)
	record("single", "has no leg", []point{routeguide.Published})
	record("same", "has legs of no length, where rounding may leave the domain of a root",
		slices.Repeat([]point{routeguide.Published}, 100))
	record("at-limit", "is the longest the contract admits", slices.Repeat([]point{{}}, routeguide.RouteLimit))
	record("over-limit", "is one point too long, and refused while the caller may still be sending",
		slices.Repeat([]point{{}}, routeguide.RouteLimit+1))
	record("around", "is longer than 32 bits of metres hold (duh-D03)",
		slices.Repeat([]point{at(routeguide.LatitudeLimit, 0), at(-routeguide.LatitudeLimit, 0)}, 120))
	record("refused-early", "fails at its first point, with thousands still to come",
		append([]point{{Latitude: routeguide.LatitudeLimit + 1}}, slices.Repeat([]point{{}}, 5000)...))
	return all
}

// always draws one request.
func always[Req any](req Req) func(*rand.Rand) Req {
	return func(*rand.Rand) Req { return req }
}

// probes are the contract's promises about order in time.
func probes() []conformance.Probe[routeguide.Service] {
	return []conformance.Probe[routeguide.Service]{
		{
			Name: "ping-pong", Operation: "RouteChat",
			Why:   "the replies to a note come before the next note is read",
			Check: pingPong,
		},
		{
			Name: "send-error", Operation: "RecordRoute",
			Why:   "an error among the points ends the call with it",
			Check: sendError,
		},
	}
}

func pingPong(ctx context.Context, service routeguide.Service) error {
	const notes = 5
	here := at(123, 456)
	replied := make(chan struct{}, 64) // more than all replies
	sent, wanted, got := 0, 0, 0
	var failure error
	asking := func(yield func(note, error) bool) {
		for i := range notes {
			sent++
			if !yield(says(here, fmt.Sprint("note ", i)), nil) {
				return
			}
			for range i + 1 { // the note and those before it
				select {
				case <-replied:
				case <-ctx.Done():
					return
				}
			}
		}
	}
	for reply, err := range service.RouteChat(ctx, asking) {
		if err != nil {
			return fmt.Errorf("after %d replies: %w", got, err)
		}
		if reply.Location != here && failure == nil {
			failure = fmt.Errorf("reply %d is at %v", got, reply.Location)
		}
		got++
		replied <- struct{}{}
	}
	for i := range notes {
		wanted += i + 1
	}
	if failure == nil && (got != wanted || sent != notes) {
		failure = fmt.Errorf("%d replies to %d notes, want %d to %d", got, sent, wanted, notes)
	}
	return failure
}

// errCaller is what a caller's own stream fails with.
var errCaller = wirelab.Errorf(wirelab.Conflict, "the caller changed its mind")

// sendError breaks the route off at its start and later, often enough to meet
// the moment at which a transport has taken the call but sent nothing of it.
func sendError(ctx context.Context, service routeguide.Service) error {
	for i := range 60 {
		_, err := service.RecordRoute(ctx, func(yield func(point, error) bool) {
			for range i % 3 {
				if !yield(routeguide.Published, nil) {
					return
				}
			}
			yield(point{}, errCaller)
		})
		var coded *wirelab.Error
		if !errors.As(err, &coded) || coded.Code != wirelab.Conflict {
			return fmt.Errorf("the call ends with %w, want %w", err, errCaller)
		}
	}
	return nil
}

// behaviour reads the features of an area.
func behaviour() conformance.Behaviour[routeguide.Service] {
	return conformance.Behaviour[routeguide.Service]{
		Stream: "ListFeatures",
		Read: func(ctx context.Context, service routeguide.Service, item func() bool) error {
			for _, err := range service.ListFeatures(ctx, routeguide.Rectangle{}) {
				if err != nil {
					return err
				}
				if !item() {
					return nil
				}
			}
			return nil
		},
	}
}
