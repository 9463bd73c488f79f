package all_test

import (
	"testing"

	"wirelab/wire/conformance"
	"wirelab/workload/all"
)

// required are the protocols that every workload carries, or declares a hole for.
var required = []string{
	"http1-json", "http1-proto", "http1-tls-json", "http1-tls-proto",
	"h2c-json", "h2c-proto", "http2-json", "http2-proto", "http3-proto",
	"grpc", "grpc-tls", "connect", "connect-http1",
	"graphql", "sse", "sse-h2c", "websocket", "netrpc", "raw-tcp",
}

// TestMatrixIsFull names each missing file: every operation of every workload is live on every protocol, or a hole
// with its reason. The conformance test of each workload's bind folder proves that operations declared live work,
// and that declared holes do not.
func TestMatrixIsFull(t *testing.T) {
	t.Parallel()
	for _, absence := range conformance.Absences(all.Works(), required) {
		t.Error(absence)
	}
}

func TestWorksAreNamedOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, w := range all.Works() {
		if w.Name == "" || seen[w.Name] {
			t.Errorf("workload name %q is empty or not unique", w.Name)
		}
		seen[w.Name] = true
		if len(w.Operations) == 0 {
			t.Errorf("%s has no operation", w.Name)
		}
	}
}
