package bind

import (
	"context"
	"io"
	"iter"
	"net/http"

	engine "github.com/99designs/gqlgen/graphql"

	"wirelab"
	"wirelab/wire/graphql"
	"wirelab/wire/httprpc"
	"wirelab/wire/raw"
	"wirelab/wire/stream"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/gen/gengraphql"
)

// GraphQL carries the route guide by the schema in schema/routeguide.graphqls.
// One feature is a query and a list of them a subscription, as items come; a
// client cannot stream in GraphQL at all.
func GraphQL() wirelab.Binding[routeguide.Service] {
	return wirelab.Binding[routeguide.Service]{
		Protocol: graphql.Protocol(),
		Style:    wirelab.Idiomatic,
		Holes: map[string]string{
			"RecordRoute": "GraphQL has no client streams: a mutation with a list of points is another operation",
			"RouteChat":   "GraphQL has no streams both ways: a subscription takes its variables once",
		},
		Servers: []wirelab.Server[routeguide.Service]{{
			Library: "gqlgen",
			Serve: func(ctx context.Context, at wirelab.Endpoint, service routeguide.Service) error {
				return graphql.Serve(ctx, at, graphqlSchema(service))
			},
		}},
		Clients: []wirelab.Dialer[routeguide.Service]{{
			Library: "net/http",
			Dial: func(_ context.Context, to wirelab.Dialing) (routeguide.Service, io.Closer, error) {
				client := graphql.Dial(to)
				return newGraphQLStub(client), client, nil
			},
		}},
		Raw: raw.Driver(raw.Over{Version: raw.HTTP1}, nil, func(t *raw.Transport, scheme, address string) routeguide.Service {
			return newGraphQLStub(httprpc.NewClient(t, scheme, address, 1, func() error { return nil }))
		}),
		Null: raw.Null(raw.Over{Version: raw.HTTP1}, func(service routeguide.Service) http.Handler {
			return graphql.Handler(graphqlSchema(service), 0)
		}),
	}
}

func graphqlSchema(service routeguide.Service) engine.ExecutableSchema {
	return gengraphql.NewExecutableSchema(gengraphql.Config{Resolvers: graphqlResolver{service}})
}

// graphqlResolver answers for service. An argument that is absent, or null,
// reads as its zero value.
type graphqlResolver struct{ service routeguide.Service }

var _ gengraphql.ResolverRoot = graphqlResolver{}

// Query implements [gengraphql.ResolverRoot].
func (r graphqlResolver) Query() gengraphql.QueryResolver { return r }

// Subscription implements [gengraphql.ResolverRoot].
func (r graphqlResolver) Subscription() gengraphql.SubscriptionResolver { return r }

// GetFeature implements [gengraphql.QueryResolver].
func (r graphqlResolver) GetFeature(ctx context.Context, at *routeguide.Point) (*routeguide.Feature, error) {
	feature, err := r.service.GetFeature(ctx, orZero(at))
	if err != nil {
		return nil, graphql.Told(err)
	}
	return &feature, nil
}

// ListFeatures implements [gengraphql.SubscriptionResolver].
func (r graphqlResolver) ListFeatures(ctx context.Context, in *routeguide.Rectangle) (<-chan *routeguide.Feature, error) {
	return graphql.Stream(ctx, r.service.ListFeatures(ctx, orZero(in)))
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// The texts of the operations, and their variables and results. The results
// are read into the domain's types: JSON does not mind the case of names.
const (
	getFeatureQuery = "query GetFeature($at: PointInput) " +
		"{ getFeature(at: $at) { name location { latitude longitude } } }"
	listFeaturesQuery = "subscription ListFeatures($in: RectangleInput) " +
		"{ listFeatures(in: $in) { name location { latitude longitude } } }"
)

type (
	graphqlPoint struct {
		Latitude  int32 `json:"latitude"`
		Longitude int32 `json:"longitude"`
	}
	graphqlRectangle struct {
		Lo graphqlPoint `json:"lo"`
		Hi graphqlPoint `json:"hi"`
	}
	graphqlAt struct {
		At graphqlPoint `json:"at"`
	}
	graphqlIn struct {
		In graphqlRectangle `json:"in"`
	}
	graphqlGot struct {
		Feature routeguide.Feature `json:"getFeature"`
	}
	graphqlListed struct {
		Feature routeguide.Feature `json:"listFeatures"`
	}
)

// graphqlStub is the service as a client sees it.
type graphqlStub struct {
	get  func(context.Context, graphqlAt) (graphqlGot, error)
	list func(context.Context, graphqlIn) iter.Seq2[graphqlListed, error]
}

var _ routeguide.Service = graphqlStub{}

func newGraphQLStub(client *httprpc.Client) graphqlStub {
	return graphqlStub{
		get:  graphql.Ask[graphqlAt, graphqlGot](client, "GetFeature", getFeatureQuery),
		list: graphql.Subscribe[graphqlIn, graphqlListed](client, "ListFeatures", listFeaturesQuery),
	}
}

// GetFeature implements [routeguide.Service].
func (s graphqlStub) GetFeature(ctx context.Context, at routeguide.Point) (routeguide.Feature, error) {
	got, err := s.get(ctx, graphqlAt{graphqlPoint(at)})
	return got.Feature, err
}

// ListFeatures implements [routeguide.Service].
func (s graphqlStub) ListFeatures(ctx context.Context, in routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
	listed := s.list(ctx, graphqlIn{graphqlRectangle{Lo: graphqlPoint(in.Lo), Hi: graphqlPoint(in.Hi)}})
	return func(yield func(routeguide.Feature, error) bool) {
		for item, err := range listed {
			if !yield(item.Feature, err) {
				return
			}
		}
	}
}

// RecordRoute implements [routeguide.Service]: a hole.
func (graphqlStub) RecordRoute(context.Context, iter.Seq2[routeguide.Point, error]) (routeguide.RouteSummary, error) {
	return routeguide.RouteSummary{}, wirelab.Errorf(wirelab.Unimplemented, "RecordRoute: GraphQL has no client streams")
}

// RouteChat implements [routeguide.Service]: a hole.
func (graphqlStub) RouteChat(context.Context, iter.Seq2[routeguide.RouteNote, error]) iter.Seq2[routeguide.RouteNote, error] {
	return stream.Failed[routeguide.RouteNote](wirelab.Errorf(wirelab.Unimplemented, "RouteChat: GraphQL has no streams both ways"))
}
