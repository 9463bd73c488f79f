package httprpc

import "context"

// Fixed is the route that answers every method with the same body. It reads
// nothing of the request.
func Fixed(mediaType, body string) Route {
	text := []byte(body)
	return Route{Answer: func(_ context.Context, c *Call) error {
		c.reply = mediaType
		return c.send(text)
	}}
}
