package bind

import (
	"context"
	"iter"

	"wirelab/wire/stream"
	"wirelab/workload/routeguide"
)

// stub is the service as a client sees it over the calls of one wire. It
// refuses notes that wires would carry differently. Points and rectangles are
// numbers, which every wire carries alike, so that the service refuses those.
type stub struct{ calls }

var _ routeguide.Service = stub{}

// RouteChat implements [routeguide.Service].
func (s stub) RouteChat(
	ctx context.Context, notes iter.Seq2[routeguide.RouteNote, error],
) iter.Seq2[routeguide.RouteNote, error] {
	return s.calls.RouteChat(ctx, stream.Valid(notes))
}
