package origin_test

import (
	"os"
	"path/filepath"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// The published gateway and listener log over HTTP, gRPC and net/rpc, and all that they sent is stored.
func TestServices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, protocol string
		want           []logging.Entry // the newest first
	}{
		{"http.txt", "http1-json", []logging.Entry{
			{Name: "event", Data: "from our gateway"},
			{Name: "http-test-1", Data: "HTTP benchmark data 1"},
			{Name: "http-test-0", Data: "HTTP benchmark data 0"},
			{Name: "warmup", Data: "warmup data"},
		}},
		{"grpc.txt", "grpc", []logging.Entry{
			{Name: "grpc-test-1", Data: "gRPC benchmark data 1"}, {Name: "grpc-test-0", Data: "gRPC benchmark data 0"},
		}},
		{"netrpc.txt", "netrpc", []logging.Entry{{Name: "event", Data: "some <kind> of data"}}},
	} {
		recording, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		b := conformance.Pick(t, bind.Bindings(), c.protocol)
		for _, server := range b.Servers {
			t.Run(c.protocol+"/"+server.Library, func(t *testing.T) {
				t.Parallel()
				replay(t, b, server, string(recording), c.want)
			})
		}
	}
}

// replay replays a recording against a server, and looks at what that has then.
func replay(
	t *testing.T, b wirelab.Binding[logging.Service], server wirelab.Server[logging.Service],
	recording string, want []logging.Entry,
) {
	service := bind.Workload().New()
	pair := conformance.Pair[logging.Service]{Binding: b, Server: server}
	address, roots := pair.Serve(t, service)
	conformance.Peer{Protocol: b.Protocol, Address: address, Roots: roots}.Replay(t, recording)
	page, err := service.ListEntries(t.Context(), logging.Query{})
	if err != nil || len(page.Entries) != len(want) {
		t.Fatalf("%d entries are stored, %v; want %d", len(page.Entries), err, len(want))
	}
	for i, e := range page.Entries {
		if e.Name != want[i].Name || e.Data != want[i].Data || e.ID == "" {
			t.Errorf("stored %+v, want %+v", e, want[i])
		}
	}
}
