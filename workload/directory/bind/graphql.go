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
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen/gengraphql"
)

// GraphQL carries the directory by the schema in schema/directory.graphqls: a
// document for each call, as if it were any other wire.
func GraphQL() wirelab.Binding[directory.Service] {
	return graphqlBinding(graphql.Protocol(), newGraphQLStub)
}

// GraphQLComposed is the same server, asked as GraphQL is meant to be: the
// eight calls of a composition are one document, and one round trip.
func GraphQLComposed() wirelab.Binding[directory.Service] {
	return graphqlBinding(graphql.Composed(), newComposedStub)
}

func graphqlBinding(
	protocol wirelab.Protocol, stub func(*httprpc.Client) directory.Service,
) wirelab.Binding[directory.Service] {
	return wirelab.Binding[directory.Service]{
		Protocol: protocol,
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[directory.Service]{{
			Library: "gqlgen",
			Serve: func(ctx context.Context, at wirelab.Endpoint, service directory.Service) error {
				return graphql.Serve(ctx, at, graphqlSchema(service))
			},
		}},
		Clients: []wirelab.Dialer[directory.Service]{{
			Library: "net/http",
			Dial: func(_ context.Context, to wirelab.Dialing) (directory.Service, io.Closer, error) {
				client := graphql.Dial(to)
				return stub(client), client, nil
			},
		}},
		Raw: raw.Driver(raw.Over{Version: raw.HTTP1}, rawHoles(),
			func(t *raw.Transport, scheme, address string) directory.Service {
				return stub(httprpc.NewClient(t, scheme, address, 1, func() error { return nil }))
			}),
		Null: raw.Null(raw.Over{Version: raw.HTTP1}, func(service directory.Service) http.Handler {
			return graphql.Handler(graphqlSchema(service), 0)
		}),
	}
}

// graphqlLinks is about how many links a person has at most, by which the
// complexity of asking for them is counted.
const graphqlLinks = 8

func graphqlSchema(service directory.Service) engine.ExecutableSchema {
	config := gengraphql.Config{Resolvers: graphqlResolver{service}}
	// The lists multiply what they hold, or one document could ask for the
	// whole directory under a hundred names.
	config.Complexity.Query.ListPersons = func(inside int, _ string, limit int32) int {
		if limit <= 0 || limit > directory.PageLimit {
			limit = directory.PageLimit
		}
		return 1 + int(limit)*inside
	}
	config.Complexity.Query.GetPersonLinks = func(inside int, _ string) int { return 1 + graphqlLinks*inside }
	return gengraphql.NewExecutableSchema(config)
}

// graphqlResolver answers for service.
type graphqlResolver struct{ service directory.Service }

var _ gengraphql.ResolverRoot = graphqlResolver{}

// Query implements [gengraphql.ResolverRoot].
func (r graphqlResolver) Query() gengraphql.QueryResolver { return r }

// Mutation implements [gengraphql.ResolverRoot].
func (r graphqlResolver) Mutation() gengraphql.MutationResolver { return graphqlMutation(r) }

// graphqlMutation answers for service.
type graphqlMutation struct{ service directory.Service }

// Query implements [gengraphql.MutationResolver].
func (graphqlMutation) Query(context.Context) (*gengraphql.Query, error) {
	return &gengraphql.Query{}, nil
}

// The composition's text is by hand: no method of the schema has it.
const (
	graphqlPersonFields = "{ id name { title first last } gender location { street city state postCode } " +
		"email picture { large medium thumbnail } }"

	// compositionQuery lists the fields in the order of the eight calls. A server executes the fields of a mutation
	// one after the other and stops at the first that fails, so no person is created if a read failed.
	compositionQuery = "mutation ProgramComposition($limit: Int!, $person1: ID!, $person2: ID!, $person3: ID!, " +
		"$person4: ID!, $links1: ID!, $links2: ID!, $new: PersonInput!) { " +
		"query { list: listPersons(limit: $limit) { persons { ...Whole } count next } " +
		"person1: getPerson(id: $person1) { ...Whole } person2: getPerson(id: $person2) { ...Whole } " +
		"person3: getPerson(id: $person3) { ...Whole } person4: getPerson(id: $person4) { ...Whole } " +
		"links1: getPersonLinks(id: $links1) { links { p1 { ...Whole } p2 { ...Whole } } count } " +
		"links2: getPersonLinks(id: $links2) { links { p1 { ...Whole } p2 { ...Whole } } count } } " +
		"new: createPerson(person: $new) { ...Whole } } " +
		"fragment Whole on Person " + graphqlPersonFields
)

// The variables and the result of a composition. The results are read into the
// domain's types: JSON does not mind the case of names, but variables must have
// the schema's.
type (
	graphqlCompose struct {
		Limit   int32      `json:"limit"`
		Person1 string     `json:"person1"`
		Person2 string     `json:"person2"`
		Person3 string     `json:"person3"`
		Person4 string     `json:"person4"`
		Links1  string     `json:"links1"`
		Links2  string     `json:"links2"`
		New     personJSON `json:"new"`
	}
	graphqlComposed struct {
		Query struct {
			List    directory.PersonList     `json:"list"`
			Person1 directory.Person         `json:"person1"`
			Person2 directory.Person         `json:"person2"`
			Person3 directory.Person         `json:"person3"`
			Person4 directory.Person         `json:"person4"`
			Links1  directory.PersonLinkList `json:"links1"`
			Links2  directory.PersonLinkList `json:"links2"`
		} `json:"query"`
		New directory.Person `json:"new"`
	}
)

// graphqlCreatePerson is by hand, since its variable is the person in JSON.
func graphqlCreatePerson(client *httprpc.Client) func(context.Context, directory.Person) (directory.Person, error) {
	type variables struct {
		Person personJSON `json:"person"`
	}
	type result struct {
		Reply directory.Person `json:"createPerson"`
	}
	ask := graphql.Ask[variables, result](client, "CreatePerson", createPersonQuery)
	return func(ctx context.Context, person directory.Person) (directory.Person, error) {
		created, err := ask(ctx, variables{personToJSON(person)})
		return created.Reply, err
	}
}

// composedStub is the service as a client sees it who asks for a composition at once.
type composedStub struct {
	directory.Service
	compose func(context.Context, graphqlCompose) (graphqlComposed, error)
}

var _ directory.Service = composedStub{}

func newComposedStub(client *httprpc.Client) directory.Service {
	return composedStub{
		Service: newGraphQLStub(client),
		compose: graphql.Ask[graphqlCompose, graphqlComposed](client, "ProgramComposition", compositionQuery),
	}
}

// ProgramComposition implements [directory.Service]. The first error of the
// reply is that of the first of the eight calls that failed.
func (s composedStub) ProgramComposition(
	ctx context.Context, ask directory.Composition,
) (directory.Aggregation, error) {
	if err := ask.Validate(); err != nil {
		return directory.Aggregation{}, err
	}
	all, err := s.compose(ctx, graphqlCompose{
		Limit:   ask.Limit,
		Person1: ask.Persons[0], Person2: ask.Persons[1], Person3: ask.Persons[2], Person4: ask.Persons[3],
		Links1: ask.Links[0], Links2: ask.Links[1],
		New: personToJSON(ask.New),
	})
	if err != nil {
		return directory.Aggregation{}, err
	}
	q := all.Query
	return directory.Aggregation{
		Persons: [4]directory.Person{q.Person1, q.Person2, q.Person3, q.Person4},
		Links:   [2]directory.PersonLinkList{q.Links1, q.Links2},
		List:    q.List.With(all.New),
	}, nil
}
