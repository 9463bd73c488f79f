package graphql

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"

	"wirelab/wire/endpoint"
	"wirelab/wire/http1"
	"wirelab/wire/httprpc"
	"wirelab/wire/panics"
	"wirelab/wire/status"
)

// Serve serves a schema, whose resolvers must return errors by [Told] and
// streams by [Stream]. It follows the contract of package endpoint.
func Serve(ctx context.Context, at endpoint.Endpoint, schema graphql.ExecutableSchema) error {
	return http1.Serve(ctx, at, Handler(schema, 0), false)
}

// Handler returns what [Serve] serves a schema by. A subscription that was silent for as long as heartbeat
// writes a comment, so that what lies between does not take it for dead; 0: never.
func Handler(schema graphql.ExecutableSchema, heartbeat time.Duration) http.Handler {
	return httprpc.NewHandler(map[string]httprpc.Route{
		Path: {Method: http.MethodPost, Answer: newAnswer(schema, heartbeat)},
	})
}

// newServer sets gqlgen up as the package comment says, but for transports.
func newServer(schema graphql.ExecutableSchema) *handler.Server {
	server := handler.New(schema)
	known := lru.New[*ast.QueryDocument](queryCache)
	server.SetQueryCache(known)
	server.SetParserTokenLimit(tokenLimit)
	server.SetDisableSuggestion(true)
	server.SetErrorPresenter(present)
	server.SetRecoverFunc(panics.Error)
	server.Use(guard{known})
	server.Use(extension.Introspection{})
	server.Use(extension.FixedComplexityLimit(complexityLimit))
	server.AroundRootFields(inTurn)
	server.AroundResponses(inOrder)
	return server
}

func newAnswer(schema graphql.ExecutableSchema, heartbeat time.Duration) func(context.Context, *httprpc.Call) error {
	server := newServer(schema)
	server.AddTransport(events{heartbeat})
	server.AddTransport(queries{})
	return func(ctx context.Context, c *httprpc.Call) error {
		text, err := readBody(c.Request)
		if err != nil {
			return err
		}
		if wantsEvents(c.Request) {
			if len(text) > lastingLimit {
				return errLasting()
			}
			var release func()
			ctx, release = c.Interruptible(ctx)
			defer release()
		} else {
			unhurry(ctx, c.Writer)
		}
		r := c.Request.WithContext(ctx)
		r.Body = body{bytes.NewReader(text), text}
		server.ServeHTTP(c.Writer, r)
		return nil
	}
}

// readBody reads a request to its end, or net/http would not notice when its
// caller goes away. gqlgen would read it without a bound.
func readBody(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, httprpc.MessageLimit+1))
	var coded *status.Error
	if errors.As(err, &coded) { // a failure between has its own reason
		return nil, coded
	}
	if err != nil {
		return nil, status.Errorf(status.Canceled, "the request's body could not be read")
	}
	if len(text) > httprpc.MessageLimit {
		return nil, told(r.Context(), beyond("message of more than %d bytes", httprpc.MessageLimit))
	}
	return text, nil
}

// lastingLimit is on the bytes of a request that lasts: they are in memory until its end.
const lastingLimit = 64 << 10

func errLasting() error {
	return status.Errorf(status.ResourceExhausted, "a subscription's request has at most %d bytes", lastingLimit)
}

// unhurry lifts the deadline of a request's body, which has been read, from a
// call that may last: net/http watches an HTTP/1.1 connection under it and
// would take its passing for the caller's leaving.
func unhurry(ctx context.Context, w http.ResponseWriter) {
	const soon = 30 * time.Second // half of the deadline that httprpc sets
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < soon {
		return // the usual case: the call is over long before
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // HTTP/1.1 can
}
