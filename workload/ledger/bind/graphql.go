package bind

import (
	"context"
	"io"
	"net/http"

	engine "github.com/99designs/gqlgen/graphql"

	"wirelab"
	"wirelab/wire/graphql"
	"wirelab/wire/httprpc"
	"wirelab/wire/raw"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/gen/gengraphql"
)

// GraphQL carries the ledger by the schema in schema/ledger.graphqls: reads are
// queries, a posting is a mutation, the stream a subscription. Numbers of 64
// bits are a scalar of the schema's own, since GraphQL's Int has 32, by which
// an amount would be cut and a rate refused for another reason than elsewhere.
func GraphQL() wirelab.Binding[ledger.Service] {
	return wirelab.Binding[ledger.Service]{
		Protocol: graphql.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[ledger.Service]{{
			Library: "gqlgen",
			Serve: func(ctx context.Context, at wirelab.Endpoint, service ledger.Service) error {
				return graphql.Serve(ctx, at, graphqlSchema(service))
			},
		}},
		Clients: []wirelab.Dialer[ledger.Service]{{
			Library: "net/http",
			Dial: func(_ context.Context, to wirelab.Dialing) (ledger.Service, io.Closer, error) {
				client := graphql.Dial(to)
				return newGraphQLStub(client), client, nil
			},
		}},
		Raw: raw.Driver(raw.Over{Version: raw.HTTP1}, rawHoles(),
			func(t *raw.Transport, scheme, address string) ledger.Service {
				return newGraphQLStub(httprpc.NewClient(t, scheme, address, 1, func() error { return nil }))
			}),
		Null: raw.Null(raw.Over{Version: raw.HTTP1}, func(service ledger.Service) http.Handler {
			return graphql.Handler(graphqlSchema(service), 0)
		}),
	}
}

func graphqlSchema(service ledger.Service) engine.ExecutableSchema {
	config := gengraphql.Config{Resolvers: graphqlResolver{service}}
	// The lists multiply what they hold, or one document could ask for a page
	// under a hundred names.
	config.Complexity.Query.GetBalances = func(inside int, ids []string) int { return 1 + len(ids)*inside }
	config.Complexity.Query.GetTransactions = func(inside int, _, _, _ string, limit int32) int {
		if limit <= 0 || limit > ledger.PageLimit {
			limit = ledger.PageLimit
		}
		return 1 + int(limit)*inside
	}
	return gengraphql.NewExecutableSchema(config)
}

// graphqlResolver answers for service.
type graphqlResolver struct{ service ledger.Service }

var _ gengraphql.ResolverRoot = graphqlResolver{}

// Query implements [gengraphql.ResolverRoot].
func (r graphqlResolver) Query() gengraphql.QueryResolver { return r }

// Mutation implements [gengraphql.ResolverRoot].
func (r graphqlResolver) Mutation() gengraphql.MutationResolver { return r }

// Subscription implements [gengraphql.ResolverRoot].
func (r graphqlResolver) Subscription() gengraphql.SubscriptionResolver { return r }

// GetBalances implements [gengraphql.QueryResolver].
func (r graphqlResolver) GetBalances(ctx context.Context, ids []string) ([]*gengraphql.Verdict, error) {
	balances, err := r.service.GetBalances(ctx, ledger.AccountIDs{IDs: ids})
	if err != nil {
		return nil, graphql.Told(err)
	}
	verdicts := make([]gengraphql.Verdict, len(balances.Verdicts))
	all := make([]*gengraphql.Verdict, len(verdicts))
	for i := range verdicts {
		v := &balances.Verdicts[i]
		verdicts[i] = gengraphql.Verdict{Account: v.Account, Found: v.Found}
		if v.Found {
			verdicts[i].Balance = &v.Balance
		}
		all[i] = &verdicts[i]
	}
	return all, nil
}

// graphqlGetBalances is by hand, since the schema has a verdict and no list of them.
func graphqlGetBalances(client *httprpc.Client) func(context.Context, ledger.AccountIDs) (ledger.Balances, error) {
	type variables struct {
		IDs []string `json:"ids"`
	}
	type result struct {
		Verdicts []ledger.Verdict `json:"getBalances"`
	}
	ask := graphql.Ask[variables, result](client, "GetBalances", getBalancesQuery)
	return func(ctx context.Context, ids ledger.AccountIDs) (ledger.Balances, error) {
		judged, err := ask(ctx, variables(ids))
		return ledger.Balances(judged), err
	}
}

// graphqlPostTransaction is by hand, since its variable has the schema's names.
func graphqlPostTransaction(client *httprpc.Client) func(context.Context, ledger.Posting) (ledger.Transaction, error) {
	type posting struct {
		ID     string `json:"id"`
		From   string `json:"from"`
		To     string `json:"to"`
		Amount int64  `json:"amount"`
		Type   string `json:"type"`
	}
	type variables struct {
		Posting posting `json:"posting"`
	}
	type result struct {
		Reply ledger.Transaction `json:"postTransaction"`
	}
	ask := graphql.Ask[variables, result](client, "PostTransaction", postTransactionQuery)
	return func(ctx context.Context, p ledger.Posting) (ledger.Transaction, error) {
		posted, err := ask(ctx, variables{posting(p)})
		return posted.Reply, err
	}
}
