package gateway_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
)

// The published benchmark, byte for byte as recorded from it, gets the published
// replies from the gateway on each of its ways.
func TestTheOriginsBenchmark(t *testing.T) {
	t.Parallel()
	recording, err := os.ReadFile(filepath.Join("testdata", "origin", "benchmark.txt"))
	if err != nil {
		t.Fatal(err)
	}
	to := &way{}
	server := httptest.NewServer(handler(t, all(to)))
	defer server.Close()
	conformance.Peer{
		Protocol: wirelab.Protocol{Transport: "HTTP/1.1"}, Address: server.Listener.Addr().String(),
	}.Replay(t, string(recording))
	var names []string
	for _, e := range to.arrived() {
		names = append(names, e.Name)
	}
	want := []string{
		"warmup", "http-test-0", "http-test-1", "rabbit-test-0", "rabbit-test-1", "grpc-test-0",
		"grpc-test-1",
	}
	if !slices.Equal(names, want) {
		t.Errorf("passed on %q, want %q", names, want)
	}
}
