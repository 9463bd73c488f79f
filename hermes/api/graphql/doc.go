// Package graphql is Hermes' API for GraphQL: publishing, subscribing over graphql-transport-ws or server-sent
// events, acknowledging, topics, groups and the cluster. It turns questions into calls of [broker.Broker]; it
// knows neither the log nor other nodes. The limits of documents, replies and connections are those of package
// wire/graphql, which serves it; a failure has its code by name in extensions.code.
//
// The schema is schema/hermes.graphqls, answered at [Path]. The origin's, with what
// was wrong with it mended, is schema/origin.graphqls, answered at [OriginPath]:
// modes reach the broker whichever way they come (hb-M11), a batch that was not
// stored is an error (hb-D16), bytes that are no text arrive (hb-D28), and the
// origin's times, in seconds, are right until 2038 as before.
//
// A subscription of a group tells with each message the id to acknowledge by. With
// autoAck, and always with the origin's, a message is acknowledged once it was
// written to the connection and not before (hb-D29, hb-D30).
//
// This API is to be mounted behind a guard that knows tokens, such as package rest's; of origins it checks
// those of WebSockets itself. A browser cannot send a token with a WebSocket, so with one it must use
// server-sent events.
package graphql
