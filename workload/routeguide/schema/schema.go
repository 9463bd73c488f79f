// Package schema holds the route guide's schemas as text, for tools that read
// them themselves. It knows nothing of what they describe.
package schema

import _ "embed" // for the schema's text

//go:embed route_guide.proto
var proto string

// Proto returns the service's definition in Protocol Buffers.
func Proto() string { return proto }

//go:embed openapi.json
var openAPI string

// OpenAPI returns the description of the service over plain HTTP, in JSON.
func OpenAPI() string { return openAPI }
