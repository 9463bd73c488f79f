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
	"wirelab/wire/rfc3339"
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
				return stub{newGraphQLCalls(client)}, client, nil
			},
		}},
		Raw: raw.Driver(raw.Over{Version: raw.HTTP1}, rawHoles(),
			func(t *raw.Transport, scheme, address string) ledger.Service {
				return stub{newGraphQLCalls(httprpc.NewClient(t, scheme, address, 1, func() error { return nil }))}
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

// GetBalance implements [gengraphql.QueryResolver].
func (r graphqlResolver) GetBalance(ctx context.Context, id string) (*ledger.Balance, error) {
	balance, err := r.service.GetBalance(ctx, ledger.AccountID{ID: id})
	return &balance, graphql.Told(err)
}

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

// GetTransactions implements [gengraphql.QueryResolver].
func (r graphqlResolver) GetTransactions(
	ctx context.Context, after, account, since string, limit int32,
) (*ledger.TransactionList, error) {
	from, err := rfc3339.Parse(since)
	if err != nil {
		return nil, graphql.Told(err)
	}
	list, err := r.service.GetTransactions(ctx, ledger.Page{After: after, Account: account, Since: from, Limit: limit})
	return &list, graphql.Told(err)
}

// PostTransaction implements [gengraphql.MutationResolver].
func (r graphqlResolver) PostTransaction(ctx context.Context, posting ledger.Posting) (*ledger.Transaction, error) {
	posted, err := r.service.PostTransaction(ctx, posting)
	return &posted, graphql.Told(err)
}

// StreamTransactions implements [gengraphql.SubscriptionResolver].
func (r graphqlResolver) StreamTransactions(
	ctx context.Context, after, account, since string, rate, limit int64, follow bool,
) (<-chan *ledger.Event, error) {
	from, err := rfc3339.Parse(since)
	if err != nil {
		return nil, graphql.Told(err)
	}
	return graphql.Stream(ctx, r.service.StreamTransactions(ctx, ledger.Feed{
		After: after, Account: account, Since: from, Rate: rate, Limit: limit, Follow: follow,
	}))
}

// The texts of the operations, each of exactly the fields of its reply.
const (
	graphqlBalanceFields     = "{ account amount updatedAt }"
	graphqlTransactionFields = "{ id from to amount type timestamp }"

	getBalanceQuery      = "query GetBalance($id: ID!) { getBalance(id: $id) " + graphqlBalanceFields + " }"
	getBalancesQuery     = "query GetBalances($ids: [ID!]!) { getBalances(ids: $ids) { account found balance " + graphqlBalanceFields + " } }"
	getTransactionsQuery = "query GetTransactions($after: ID!, $account: ID!, $since: Time!, $limit: Int!) " +
		"{ getTransactions(after: $after, account: $account, since: $since, limit: $limit) " +
		"{ transactions " + graphqlTransactionFields + " next } }"
	postTransactionQuery = "mutation PostTransaction($posting: PostingInput!) " +
		"{ postTransaction(posting: $posting) " + graphqlTransactionFields + " }"
	streamTransactionsQuery = "subscription StreamTransactions" +
		"($after: ID!, $account: ID!, $since: Time!, $rate: Long!, $limit: Long!, $follow: Boolean!) " +
		"{ streamTransactions(after: $after, account: $account, since: $since, rate: $rate, limit: $limit, follow: $follow) " +
		"{ transaction " + graphqlTransactionFields + " sequence due sent } }"
)

// The variables and results of the operations. The results are read into the
// domain's types: JSON does not mind the case of names, but variables must have
// the schema's.
type (
	graphqlID struct {
		ID string `json:"id"`
	}
	graphqlIDs struct {
		IDs []string `json:"ids"`
	}
	graphqlPage struct {
		After   string `json:"after"`
		Account string `json:"account"`
		Since   string `json:"since"`
		Limit   int32  `json:"limit"`
	}
	graphqlPosting struct {
		ID     string `json:"id"`
		From   string `json:"from"`
		To     string `json:"to"`
		Amount int64  `json:"amount"`
		Type   string `json:"type"`
	}
	graphqlPost struct {
		Posting graphqlPosting `json:"posting"`
	}
	graphqlFeed struct {
		After   string `json:"after"`
		Account string `json:"account"`
		Since   string `json:"since"`
		Rate    int64  `json:"rate"`
		Limit   int64  `json:"limit"`
		Follow  bool   `json:"follow"`
	}
	graphqlGot struct {
		Balance ledger.Balance `json:"getBalance"`
	}
	graphqlJudged struct {
		Verdicts []ledger.Verdict `json:"getBalances"`
	}
	graphqlListed struct {
		List ledger.TransactionList `json:"getTransactions"`
	}
	graphqlPosted struct {
		Transaction ledger.Transaction `json:"postTransaction"`
	}
	graphqlStreamed struct {
		Event ledger.Event `json:"streamTransactions"`
	}
)

// graphqlCalls are the calls as a client makes them.
type graphqlCalls struct {
	get    func(context.Context, graphqlID) (graphqlGot, error)
	batch  func(context.Context, graphqlIDs) (graphqlJudged, error)
	page   func(context.Context, graphqlPage) (graphqlListed, error)
	post   func(context.Context, graphqlPost) (graphqlPosted, error)
	stream func(context.Context, graphqlFeed) iter.Seq2[graphqlStreamed, error]
}

var _ ledger.Service = graphqlCalls{}

func newGraphQLCalls(client *httprpc.Client) graphqlCalls {
	return graphqlCalls{
		get:    graphql.Ask[graphqlID, graphqlGot](client, "GetBalance", getBalanceQuery),
		batch:  graphql.Ask[graphqlIDs, graphqlJudged](client, "GetBalances", getBalancesQuery),
		page:   graphql.Ask[graphqlPage, graphqlListed](client, "GetTransactions", getTransactionsQuery),
		post:   graphql.Ask[graphqlPost, graphqlPosted](client, "PostTransaction", postTransactionQuery),
		stream: graphql.Subscribe[graphqlFeed, graphqlStreamed](client, "StreamTransactions", streamTransactionsQuery),
	}
}

// GetBalance implements [ledger.Service].
func (c graphqlCalls) GetBalance(ctx context.Context, id ledger.AccountID) (ledger.Balance, error) {
	got, err := c.get(ctx, graphqlID(id))
	return got.Balance, err
}

// GetBalances implements [ledger.Service].
func (c graphqlCalls) GetBalances(ctx context.Context, ids ledger.AccountIDs) (ledger.Balances, error) {
	judged, err := c.batch(ctx, graphqlIDs(ids))
	return ledger.Balances(judged), err
}

// GetTransactions implements [ledger.Service].
func (c graphqlCalls) GetTransactions(ctx context.Context, page ledger.Page) (ledger.TransactionList, error) {
	listed, err := c.page(ctx, graphqlPage{After: page.After, Account: page.Account, Since: rfc3339.Text(page.Since), Limit: page.Limit})
	return listed.List, err
}

// PostTransaction implements [ledger.Service].
func (c graphqlCalls) PostTransaction(ctx context.Context, posting ledger.Posting) (ledger.Transaction, error) {
	posted, err := c.post(ctx, graphqlPost{graphqlPosting(posting)})
	return posted.Transaction, err
}

// StreamTransactions implements [ledger.Service].
func (c graphqlCalls) StreamTransactions(ctx context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
	streamed := c.stream(ctx, graphqlFeed{
		After: feed.After, Account: feed.Account, Since: rfc3339.Text(feed.Since),
		Rate: feed.Rate, Limit: feed.Limit, Follow: feed.Follow,
	})
	return func(yield func(ledger.Event, error) bool) {
		for item, err := range streamed {
			if !yield(item.Event, err) {
				return
			}
		}
	}
}
