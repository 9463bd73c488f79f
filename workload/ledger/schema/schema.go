// Package schema holds the schemas of the ledger as text, for code that parses them. It knows nothing about their
// contents.
package schema

import _ "embed" // for the schema's text

//go:embed benchmark.proto
var proto string

// Proto returns the services' definition in Protocol Buffers.
func Proto() string { return proto }

//go:embed openapi.json
var openAPI string

// OpenAPI returns the description of the service over plain HTTP, in JSON.
func OpenAPI() string { return openAPI }
