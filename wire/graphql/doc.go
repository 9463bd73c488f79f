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
// WebSocket (graphql-transport-ws) is not served: gqlgen's does not bound what
// one connection may ask for, nor wait for it at a stop.
//
// Failures are in the body, under errors, with the code's name in
// extensions.code and the message whole; a reply with errors is a failed call
// whatever its status (systems.md R10). What GraphQL itself refuses, such as a
// query that does not fit the schema, is InvalidArgument, and a query beyond
// the limits below is ResourceExhausted. The time the caller has left travels
// in a header as in package httprpc, whose transport this is.
//
// # Knobs that matter
//
// The server keeps [queryCache] parsed and validated queries: without it
// gqlgen parses each anew, by which it is known to lose a third of its
// throughput. A query has at most [tokenLimit] tokens, [depthLimit] levels and
// a complexity of [complexityLimit] (one for each field), checked at each
// call; a body at most httprpc.MessageLimit bytes. Introspection is off, and
// so are GET, file uploads, persisted queries and suggestions of names. The
// client sends its query's text each time, as GraphQL clients do by default,
// over at most Dialing.Connections connections. Nothing is compressed.
package graphql

// Path is where a server answers.
const Path = "/graphql"

const (
	queryCache      = 1000
	tokenLimit      = 1000
	depthLimit      = 10
	complexityLimit = 200
)

// mediaResponse is the type of a reply that is not a stream.
const mediaResponse = "application/graphql-response+json"
