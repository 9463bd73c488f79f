// Package graphqlschema is what a GraphQL server that is not ours says of itself, by introspection or by a file:
// its operations with their arguments, an example document for each, and whether a document is one that the
// server takes. It knows no HTTP: whoever asks sends the bytes and brings the reply.
package graphqlschema
