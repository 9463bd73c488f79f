// Package graphql is the GraphQL API of Hermes: publishing, subscribing over graphql-transport-ws or server-sent
// events, acknowledging, topics, groups and the cluster. It turns documents into calls of [broker.Broker]; it
// knows neither the log nor other nodes. Package wire/graphql serves it, and sets the limits of documents, replies
// and connections. The code of an error is in extensions.code, by name.
//
// The schema is schema/hermes.graphqls, served at [Path]. The schema of the broker that Hermes descends from, with
// its faults fixed, is schema/origin.graphqls, served at [OriginPath]: modes reach the broker whichever way they are
// given (hb-M11), a batch that was not stored is an error (hb-D16), and bytes that are not text arrive (hb-D28). Its
// times, in seconds, are valid until 2038, as before.
//
// A subscription of a group returns with each message the id for its acknowledgement. With
// autoAck, and always in the origin's schema, a message is acknowledged after it was
// written to the connection, and not before (hb-D29, hb-D30).
//
// Mount this API behind a guard that checks tokens, such as the one of package rest. It only checks the origins
// of WebSockets itself. A browser cannot send a token with a WebSocket, so with a token it must use
// server-sent events.
package graphql
