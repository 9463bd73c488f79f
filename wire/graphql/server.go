package graphql

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"wirelab"
	"wirelab/wire/http1"
	"wirelab/wire/httprpc"
	"wirelab/wire/recovery"
)

// Serve serves a schema, whose resolvers must return errors by [Told] and
// streams by [Stream]. It follows the contract of [wirelab.Server].
func Serve(ctx context.Context, at wirelab.Endpoint, schema graphql.ExecutableSchema) error {
	return http1.Serve(ctx, at, Handler(schema), false)
}

// Handler returns what [Serve] serves a schema by.
func Handler(schema graphql.ExecutableSchema) http.Handler {
	return httprpc.NewHandler(map[string]httprpc.Route{
		Path: {Method: http.MethodPost, Answer: newAnswer(schema)},
	})
}

// newAnswer sets gqlgen up as the package comment says.
func newAnswer(schema graphql.ExecutableSchema) func(context.Context, *httprpc.Call) error {
	server := handler.New(schema)
	server.AddTransport(events{})
	server.AddTransport(transport.POST{})
	server.SetQueryCache(lru.New[*ast.QueryDocument](queryCache))
	server.SetParserTokenLimit(tokenLimit)
	server.SetDisableSuggestion(true)
	server.SetErrorPresenter(present)
	server.SetRecoverFunc(recovery.Error)
	server.Use(extension.FixedComplexityLimit(complexityLimit))
	server.Use(depth{})
	return func(ctx context.Context, c *httprpc.Call) error {
		body, err := readBody(c.Request)
		if err != nil {
			return err
		}
		if wantsEvents(c.Request) {
			var release func()
			ctx, release = c.Interruptible(ctx)
			defer release()
		} else {
			unhurry(ctx, c.Writer)
		}
		r := c.Request.WithContext(ctx)
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(c.Writer, r)
		return nil
	}
}

// readBody reads a request to its end, or net/http would not notice when its
// caller goes away. gqlgen would read it without a bound.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, httprpc.MessageLimit+1))
	if err != nil {
		return nil, wirelab.Errorf(wirelab.Canceled, "the request's body could not be read")
	}
	if len(body) > httprpc.MessageLimit {
		return nil, wirelab.Errorf(wirelab.ResourceExhausted, "message of more than %d bytes", httprpc.MessageLimit)
	}
	return body, nil
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

// depth refuses queries that nest deeper than depthLimit. gqlgen has no such
// extension, and its complexity counts fields however they nest.
type depth struct{}

var _ interface {
	graphql.OperationContextMutator
	graphql.HandlerExtension
} = depth{}

// ExtensionName implements [graphql.HandlerExtension].
func (depth) ExtensionName() string { return "DepthLimit" }

// Validate implements [graphql.HandlerExtension].
func (depth) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext implements [graphql.OperationContextMutator].
func (depth) MutateOperationContext(_ context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	if deeper(operation.Operation.SelectionSet, depthLimit) {
		return gqlerror.Wrap(wirelab.Errorf(wirelab.ResourceExhausted, "query of more than %d levels", depthLimit))
	}
	return nil
}

// deeper reports whether a selection has more than levels levels. Fragments do
// not refer to themselves: the query has been validated.
func deeper(selections ast.SelectionSet, levels int) bool {
	if len(selections) == 0 {
		return false
	}
	for _, s := range selections {
		var inside bool
		switch s := s.(type) {
		case *ast.Field:
			inside = levels == 0 || deeper(s.SelectionSet, levels-1)
		case *ast.InlineFragment:
			inside = deeper(s.SelectionSet, levels)
		case *ast.FragmentSpread:
			inside = deeper(s.Definition.SelectionSet, levels)
		}
		if inside {
			return true
		}
	}
	return false
}
