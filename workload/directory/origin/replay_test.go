package origin_test

import (
	"os"
	"path/filepath"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/directory"
	"wirelab/workload/directory/bind"
)

// published returns the service with the published persons, which creates as
// the published one does.
func published(t *testing.T) directory.Service {
	t.Helper()
	for _, d := range bind.Workload().Data {
		if d.Name == directory.PublishedData {
			return d.New()
		}
	}
	t.Fatal("there is no published data set")
	return nil
}

// replay replays a recording, twice, against every server of a binding and its
// null responder: the published programs may be run again.
func replay(t *testing.T, b wirelab.Binding[directory.Service], file string) {
	t.Helper()
	recording, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	servers := append([]wirelab.Server[directory.Service]{{Library: "null", Serve: b.Null}}, b.Servers...)
	for _, server := range servers {
		t.Run(b.Protocol.Name+"/"+server.Library+"/"+file, func(t *testing.T) {
			t.Parallel()
			pair := conformance.Pair[directory.Service]{Binding: b, Server: server}
			address, roots := pair.Serve(t, published(t))
			for range 2 {
				conformance.Peer{Protocol: b.Protocol, Address: address, Roots: roots}.Replay(t, string(recording))
			}
		})
	}
}

// The published demo gets the published replies from every server of HTTP/1.1.
func TestDemoOverHTTP(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http1-json", "http1-proto", "http1-avro", "http1-tls-json"} {
		replay(t, conformance.Pick(t, bind.HTTP(), protocol), "demo-http.txt")
	}
}

// Clients of the published RPC framework get the published replies, in both of
// its encodings.
func TestFramework(t *testing.T) {
	t.Parallel()
	for _, b := range []wirelab.Binding[directory.Service]{bind.GRPC(), bind.GRPCTLS(), bind.Connect()} {
		replay(t, b, "grpc-java-pb.txt")
	}
	for _, b := range []wirelab.Binding[directory.Service]{bind.GRPCAvro(), bind.GRPCTLSAvro()} {
		replay(t, b, "grpc-java-avro.txt")
	}
}
