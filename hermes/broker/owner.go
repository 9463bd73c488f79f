package broker

import "context"

// Owner is for whom groups are made and producers opened, and how many of each he may have; 0: as many as
// there are places.
type Owner struct {
	Name              string
	Groups, Producers uint32
}

type ownerKey struct{}

// WithOwner is a context whose calls are an owner's.
func WithOwner(ctx context.Context, o Owner) context.Context {
	return context.WithValue(ctx, ownerKey{}, o)
}

// OwnerOf is whose the calls of a context are; the zero Owner: of no caller.
func OwnerOf(ctx context.Context) Owner {
	o, _ := ctx.Value(ownerKey{}).(Owner)
	return o
}
