package bind

import (
	"testing"

	"wirelab/internal/openapitest"
	"wirelab/workload/logging"
)

// The document says what the server does, and what it gives as examples a fresh one answers well.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	openapitest.Check(t, restHandler(logging.New()), openapitest.Exceptions{})
}
