package origin_test

import (
	"os"
	"path/filepath"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/bind"
)

// replay replays a recording against each of some servers of a binding.
func replay(
	t *testing.T, b wirelab.Binding[routeguide.Service], servers []wirelab.Server[routeguide.Service], file string,
) {
	t.Helper()
	recording, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range servers {
		t.Run(b.Protocol.Name+"/"+server.Library+"/"+file, func(t *testing.T) {
			t.Parallel()
			pair := conformance.Pair[routeguide.Service]{Binding: b, Server: server}
			address, roots := pair.Serve(t, routeguide.New())
			conformance.Peer{Protocol: b.Protocol, Address: address, Roots: roots}.Replay(t, string(recording))
		})
	}
}

// andNull are the servers of a binding, and its null responder.
func andNull(b wirelab.Binding[routeguide.Service]) []wirelab.Server[routeguide.Service] {
	null := wirelab.Server[routeguide.Service]{Library: "null", Serve: b.Null}
	return append([]wirelab.Server[routeguide.Service]{null}, b.Servers...)
}

// The published benchmark runs over each of its four ways, on every server that
// speaks them.
func TestBenchmark(t *testing.T) {
	t.Parallel()
	for protocol, file := range map[string]string{
		"http1-proto": "benchmark-http1.txt", "http1-json": "benchmark-http1.txt",
		"http1-tls-proto": "benchmark-http1.txt",
		"h2c-proto":       "benchmark-h2c.txt", "h2c-json": "benchmark-h2c.txt",
		"http2-proto": "benchmark-https.txt", "http2-json": "benchmark-https.txt",
	} {
		b := conformance.Pick(t, bind.HTTP(), protocol)
		replay(t, b, andNull(b), file)
	}
	for _, b := range overGRPC() {
		replay(t, b, andNull(b), "benchmark-grpc.txt")
	}
}

// overGRPC are the bindings whose servers speak gRPC. Those of the Connect
// protocol on HTTP/2 do too.
func overGRPC() []wirelab.Binding[routeguide.Service] {
	return []wirelab.Binding[routeguide.Service]{bind.GRPC(), bind.GRPCTLS(), bind.Connect()}
}

// The published stubs call the other methods under the name that they have.
// (The null responder answers whole requests, and so holds no conversation.)
func TestStubs(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"stub-list.txt", "stub-record.txt", "stub-chat.txt"} {
		for _, b := range overGRPC() {
			replay(t, b, b.Servers, file)
		}
	}
}
