package bind

import (
	"testing"

	"wirelab/internal/openapitest"
	"wirelab/workload/routeguide"
)

// The document says what the server does, and what it gives as examples a fresh one answers well.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	openapitest.Check(t, restHandler(routeguide.New()), openapitest.Exceptions{
		Events: []string{"listFeatureEvents"},
		Read:   map[string]string{"GET " + pathFeatureFeed: "hi.latitude hi.longitude lo.latitude lo.longitude"},
	})
}
