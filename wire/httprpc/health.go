package httprpc

import (
	"context"
	"net/http"
	"time"
)

// readyTime is how long a service is given to say that it is well. Anyone who asks for health wants an answer,
// and "not in time" is one.
const readyTime = 2 * time.Second

// The bodies of a [Health] route's replies.
const (
	healthy   = `{"status":"healthy"}`
	unhealthy = `{"status":"unhealthy"}`
)

// Health is the route that tells whether a service can answer, by ready, which asks whatever it stands on: 200
// or 503. Why it cannot is for its own log and not for anyone who asks.
func Health(ready func(context.Context) error) Route {
	return Route{Method: http.MethodGet, Answer: func(ctx context.Context, c *Call) error {
		if err := c.withoutBody(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, readyTime)
		defer cancel()
		status, body := http.StatusOK, healthy
		if Guard(ctx, func() error { return ready(ctx) }) != nil {
			status, body = http.StatusServiceUnavailable, unhealthy
		}
		header := c.Writer.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Type", MediaJSON)
		c.announce([]byte(body))
		c.begun = true
		c.Writer.WriteHeader(status)
		_, err := c.Writer.Write([]byte(body))
		return err
	}}
}
