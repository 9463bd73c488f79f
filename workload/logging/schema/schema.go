// Package schema holds the logger's schemas as text, for those that read them
// themselves. It knows nothing of what they describe.
package schema

import _ "embed" // for the schema's text

//go:embed openapi.json
var openAPI string

// OpenAPI returns the description of the service over plain HTTP, in JSON.
func OpenAPI() string { return openAPI }
