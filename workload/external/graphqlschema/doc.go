// Package graphqlschema reads the schema of a GraphQL server that is not ours, from introspection or a file: its
// operations with their arguments, an example document for each, and whether the server accepts a document. It
// knows no HTTP: the caller sends the bytes and returns the reply.
package graphqlschema
