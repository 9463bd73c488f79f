package bind

import (
	"context"

	"wirelab/workload/directory"
)

// ProgramComposition implements [directory.Service].
func (s stub) ProgramComposition(ctx context.Context, ask directory.Composition) (directory.Aggregation, error) {
	return directory.Compose(ctx, s, ask)
}
