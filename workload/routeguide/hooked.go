package routeguide

import (
	"context"
	"iter"
	"strings"

	"wirelab"
)

// Wrap returns service with hooks, which are called as [wirelab.Hooks] documents.
func Wrap(service Service, hooks wirelab.Hooks) Service { return hooked{service, hooks} }

// hooked is a service with hooks.
type hooked struct {
	service Service
	hooks   wirelab.Hooks // Before and After are set
}

func (h hooked) ListFeatures(ctx context.Context, in Rectangle) iter.Seq2[Feature, error] {
	large := Feature{Name: strings.Repeat("n", wirelab.ItemSize)}
	return wirelab.BetweenItems(ctx, h.hooks, "ListFeatures", h.service.ListFeatures, in,
		func(uint64) Feature { return large })
}

func (h hooked) RecordRoute(ctx context.Context, points iter.Seq2[Point, error]) (RouteSummary, error) {
	defer h.hooks.After("RecordRoute")
	var route []Point
	for p, err := range points {
		if err != nil {
			return RouteSummary{}, err
		}
		if len(route) > RouteLimit {
			break // the service refuses such a route, so the rest is not stored
		}
		route = append(route, p)
	}
	if err := h.hooks.Before(ctx, "RecordRoute"); err != nil {
		return RouteSummary{}, err
	}
	return h.service.RecordRoute(ctx, func(yield func(Point, error) bool) {
		for _, p := range route {
			if !yield(p, nil) {
				return
			}
		}
	})
}
