package graphql

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"wirelab/wire/status"
)

// codeKey is the key in extensions under which a code travels by name: the
// error table of this wire is that of the names.
const codeKey = "code"

// complexityCode is what gqlgen's complexity limit says under codeKey.
const complexityCode = "COMPLEXITY_LIMIT_EXCEEDED"

// Told is what a resolver returns for an error of its service: coded, so that
// it is not taken for GraphQL's own complaint about the query. Told(nil) is nil.
func Told(err error) error {
	if err == nil {
		return nil
	}
	return status.Public(err)
}

// Noted is err with notes for its caller, by their keys in extensions; the key of
// the code is not among them. err is as [Told] makes it.
func Noted(err error, notes map[string]string) error { return &noted{Told(err), notes} }

type noted struct {
	error
	notes map[string]string
}

// Unwrap makes it what it is noted for to errors.As.
func (n *noted) Unwrap() error { return n.error }

// present converts an error for the caller.
func present(ctx context.Context, err error) *gqlerror.Error {
	shown := graphql.DefaultErrorPresenter(ctx, err)
	public := status.Public(told(ctx, err))
	if public.Code == status.Internal && !coded(err) {
		// Not a service's, so GraphQL's own about what was asked: the text
		// of a query, or a value that does not fit its type.
		public.Code, public.Message = status.InvalidArgument, shown.Message
		if shown.Extensions[codeKey] == complexityCode {
			public.Code = boundCode(ctx)
		}
	}
	extensions := map[string]any{}
	var with *noted
	if errors.As(err, &with) {
		for key, note := range with.notes {
			extensions[key] = note
		}
	}
	extensions[codeKey] = public.Code.String()
	return &gqlerror.Error{
		Message: public.Message, Path: shown.Path, Locations: shown.Locations, Rule: shown.Rule,
		Extensions: extensions,
	}
}

// permanentKey is the key in a context of [Permanent].
type permanentKey struct{}

// Permanent has what a request within ctx is refused for that is beyond one of this package's bounds, and will be
// whenever it is sent again, be InvalidArgument: for a service whose callers take ResourceExhausted for what passes.
func Permanent(ctx context.Context) context.Context {
	return context.WithValue(ctx, permanentKey{}, true)
}

// boundCode is the code of a request that is beyond a bound.
func boundCode(ctx context.Context) status.Code {
	if ctx.Value(permanentKey{}) != nil {
		return status.InvalidArgument
	}
	return status.ResourceExhausted
}

// bound is an error of a request that is beyond a bound.
type bound struct{ error }

// Unwrap gives it its code where nothing else is wanted.
func (b *bound) Unwrap() error { return b.error }

func beyond(format string, args ...any) error {
	return &bound{status.Errorf(status.ResourceExhausted, format, args...)}
}

// told returns err with the code for its caller.
func told(ctx context.Context, err error) error {
	var b *bound
	if !errors.As(err, &b) {
		return err
	}
	return status.Errorf(boundCode(ctx), "%s", status.Public(b.error).Message)
}

// coded reports whether a service classified the error.
func coded(err error) bool {
	var c *status.Error
	return errors.As(err, &c)
}

// response is a reply as a client reads it.
type response[Data any] struct {
	Data   *Data     `json:"data"`
	Errors []failure `json:"errors"`
}

// failure is one of the errors of a reply.
type failure struct {
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

// result returns the data of a reply that has no errors.
func (r response[Data]) result() (data Data, err error) {
	if len(r.Errors) > 0 {
		first := r.Errors[0]
		code, ok := status.ParseCode(first.Extensions.Code)
		if !ok {
			return data, status.Errorf(status.Internal, "failure of unknown code %q: %s", first.Extensions.Code,
				first.Message)
		}
		return data, &status.Error{Code: code, Message: first.Message}
	}
	if r.Data == nil {
		return data, status.Caused(status.BadProtocol, status.Internal, "a reply with neither data nor errors")
	}
	return *r.Data, nil
}

// OrZero is what an argument says that may be absent, or null: then nothing.
func OrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
