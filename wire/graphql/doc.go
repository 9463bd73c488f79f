// Package graphql carries queries and subscriptions over HTTP/1.1: gqlgen
// serves them, and a client of our own, which is what a service would write,
// asks them. It knows GraphQL over HTTP; it knows no schema.
//
// # The wire
//
// A query is a POST to [Path] of application/json with query, operationName
// and variables, answered as application/graphql-response+json. A subscription
// is the same POST with Accept: text/event-stream, answered by events: next
// for each item, then complete; an item with errors is the call's failure. A
// stream without its complete has failed. That is the protocol of GraphQL over
// server-sent events with one connection for each; the older one over
// WebSocket (graphql-transport-ws) is served by [Sockets], which is our own:
// gqlgen's does not bound what one connection may ask for, nor wait for it at a stop.
//
// Failures are in the body, under errors, with the code's name in
// extensions.code and the message whole; a reply with errors is a failed call
// whatever its status (docs/origins.md R10). They come in the order of the document,
// whichever field failed first, and a mutation stops at its first. What GraphQL
// itself refuses, such as a query that does not fit the schema, is
// InvalidArgument, and a request beyond the limits below ResourceExhausted, or as [Permanent] says; both
// have status 400 before anything was run, or 200 for callers that ask for
// application/json, as the standard has it. The time the caller has left travels
// in a header as in package httprpc, whose transport this is.
//
// # Limits
//
// A body has at most httprpc.MessageLimit bytes and, in its variables, about
// [valueLimit] values; an array of requests is refused. A document has at most
// [documentLimit] bytes, [tokenLimit] tokens and brackets [nestLimit] deep,
// counted by the parser's own lexer before the parser, which recurses, sees it.
// It has at most [selectionLimit] selections in [depthLimit] levels with every
// fragment written out where it is spread, and no fragment in itself: this is
// settled before validation, whose rules walk fragments as often as they are
// spread and compare fields with fields. gqlgen counts fields however they
// nest, and has no limit of depth. What passes is known by its text and not
// looked at again. Each call then has a complexity of at most [complexityLimit]:
// one for each field, by which a schema's lists are to be multiplied.
//
// Introspection is answered: a schema tells nothing that is not in the source, and tools need it to ask
// anything. A document that asks for nothing else has other limits, [aboutSelections] and [aboutDepth], within
// which the usual question of clients is. gqlgen counts no complexity there; the parser's own rule refuses more
// than two lists of fields or types in each other, so that an answer grows with the schema, and not with its
// powers.
//
// GET, file uploads, persisted queries and suggestions of names are off, and so is @defer: gqlgen computes
// deferred parts in a goroutine that waits for ever for a reader whom a single reply never is.
//
// # Knobs that matter
//
// The server keeps [queryCache] parsed and validated queries: without it
// gqlgen parses each anew, by which it is known to lose a third of its
// throughput. The client sends its query's text each time, as GraphQL clients
// do by default, over at most Dialing.Connections connections. Nothing is
// compressed.
package graphql

// Path is where a server answers.
const Path = "/graphql"

const (
	queryCache      = 1000
	valueLimit      = 10_000
	documentLimit   = 16 << 10
	tokenLimit      = 1000
	nestLimit       = 32
	selectionLimit  = 300
	depthLimit      = 10
	aboutSelections = 600 // of a document that asks about the schema alone
	aboutDepth      = 16
	complexityLimit = 250_000
)

// mediaResponse is the type of a reply that is not a stream.
const mediaResponse = "application/graphql-response+json"
