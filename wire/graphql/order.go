package graphql

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// errorLimit is how many errors a reply tells: a short document can have
// hundreds of mistakes, or a list fail at each of its items.
const errorLimit = 16

// inTurn stops a mutation at its first failure, as the fields after it are to see what those before it did. The
// standard lets a server do so for fields that cannot be null; gqlgen by itself continues.
func inTurn(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	operation := graphql.GetOperationContext(ctx).Operation
	// Below a mutation's own fields there may be a query's, which run at once.
	if operation.Operation == ast.Mutation && graphql.GetFieldContext(ctx).Object == "Mutation" &&
		len(graphql.GetErrors(ctx)) > 0 {
		return graphql.Null
	}
	return next(ctx)
}

// inOrder gives the errors of a reply the order of the document: fields of a
// query run at once, and which fails first is chance.
func inOrder(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	response := next(ctx)
	if response == nil || len(response.Errors) < 2 {
		return response
	}
	if graphql.HasOperationContext(ctx) && graphql.GetOperationContext(ctx).Operation != nil {
		o := graphql.GetOperationContext(ctx)
		sortErrors(response.Errors, o.Operation.SelectionSet)
	}
	response.Errors = response.Errors[:min(len(response.Errors), errorLimit)]
	return response
}

// sortErrors sorts by the places of the errors' fields in the selections.
// Errors of one place stay as they came.
func sortErrors(errs gqlerror.List, selections ast.SelectionSet) {
	type placed struct {
		err    *gqlerror.Error
		places []int
	}
	all := make([]placed, len(errs))
	for i, err := range errs {
		all[i] = placed{err, places(err.Path, selections)}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return slices.Compare(a.places, b.places) })
	for i := range all {
		errs[i] = all[i].err
	}
}

// places says where a path leads, level by level, as numbers that sort. Whatever is not found ends it.
func places(path ast.Path, selections ast.SelectionSet) (at []int) {
	for _, step := range path {
		switch step := step.(type) {
		case ast.PathIndex:
			at = append(at, int(step))
		case ast.PathName:
			n := 0
			field := find(selections, string(step), &n)
			if field == nil {
				return at
			}
			at = append(at, n)
			selections = field.SelectionSet
		}
	}
	return at
}

// find returns the first field of a response name, and counts in n those
// before it. Fragments do not refer to themselves: the query has been validated.
func find(selections ast.SelectionSet, name string, n *int) *ast.Field {
	for _, s := range selections {
		var inside ast.SelectionSet
		switch s := s.(type) {
		case *ast.Field:
			if s.Alias == name {
				return s
			}
			*n++
			continue
		case *ast.InlineFragment:
			inside = s.SelectionSet
		case *ast.FragmentSpread:
			inside = s.Definition.SelectionSet
		}
		if field := find(inside, name, n); field != nil {
			return field
		}
	}
	return nil
}
