// Package graphqlschema reads the schema of a GraphQL server that is not ours, from introspection or from a file:
// its operations with their arguments, an example document for each, and whether the server accepts a document.
// It knows no HTTP: the caller sends the query and passes the bytes of the reply.
package graphqlschema
