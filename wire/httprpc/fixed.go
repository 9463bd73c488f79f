package httprpc

import (
	"context"
	"net/http"
)

// Fixed is the route that answers every method with the same body. It reads
// nothing of the request.
func Fixed(mediaType, body string) Route {
	text := []byte(body)
	return Route{Answer: func(_ context.Context, c *Call) error {
		c.reply = mediaType
		return c.send(text)
	}}
}

// PathOpenAPI is where a server that describes itself has its description: the
// path at which tools look first.
const PathOpenAPI = "/openapi.json"

// Described is the route of a server's description in OpenAPI, which is JSON, at
// [PathOpenAPI].
func Described(document string) Route {
	route := Fixed(MediaJSON, document)
	route.Method = http.MethodGet
	return route
}
