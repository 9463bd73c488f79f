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
		Raw: raw.Driver(raw.Over{Version: raw.HTTP1}, nil,
			func(t *raw.Transport, scheme, address string) routeguide.Service {
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

// The variables, which must have the schema's names. What a point has is the
// same in both; a rectangle is converted.
type (
	graphqlPoint struct {
		Latitude  int32 `json:"latitude"`
		Longitude int32 `json:"longitude"`
	}
	graphqlRectangle struct {
		Lo graphqlPoint `json:"lo"`
		Hi graphqlPoint `json:"hi"`
	}
)

// graphqlGetFeature is by hand, since its variable has the schema's names.
func graphqlGetFeature(client *httprpc.Client) func(context.Context, routeguide.Point) (routeguide.Feature, error) {
	type variables struct {
		At graphqlPoint `json:"at"`
	}
	type result struct {
		Reply routeguide.Feature `json:"getFeature"`
	}
	ask := graphql.Ask[variables, result](client, "GetFeature", getFeatureQuery)
	return func(ctx context.Context, at routeguide.Point) (routeguide.Feature, error) {
		got, err := ask(ctx, variables{graphqlPoint(at)})
		return got.Reply, err
	}
}

// graphqlListFeatures is by hand, since its variable has the schema's names.
func graphqlListFeatures(
	client *httprpc.Client,
) func(context.Context, routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
	type variables struct {
		In graphqlRectangle `json:"in"`
	}
	type result struct {
		Reply routeguide.Feature `json:"listFeatures"`
	}
	ask := graphql.Subscribe[variables, result](client, "ListFeatures", listFeaturesQuery)
	return func(ctx context.Context, in routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
		listed := ask(ctx, variables{graphqlRectangle{Lo: graphqlPoint(in.Lo), Hi: graphqlPoint(in.Hi)}})
		return func(yield func(routeguide.Feature, error) bool) {
			for item, err := range listed {
				if !yield(item.Reply, err) {
					return
				}
			}
		}
	}
}
