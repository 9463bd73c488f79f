package bind

import (
	"testing"

	"wirelab/internal/openapitest"
	"wirelab/workload/ledger"
)

// The document says what the server does, and what it gives as examples a fresh one answers well.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	var without []string
	for _, path := range pathsWithoutID() {
		without = append(without, "GET "+path)
	}
	openapitest.Check(t, restHandler(ledger.New()), openapitest.Exceptions{
		Undescribed: without, Events: []string{"streamTransactions"},
	})
}
