package bind

import (
	"testing"

	"wirelab/internal/openapitest"
	"wirelab/workload/directory"
)

// The document says what the server does, and what it gives as examples a fresh one answers well.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	openapitest.Check(t, restHandler(directory.New()), openapitest.Exceptions{})
}
