package factorial_test

import (
	"slices"
	"testing"

	"wirelab"
	"wirelab/lab/factorial"
	"wirelab/workload/all"
)

// The names that users know stay the same although they are derived from the protocols.
func TestWords(t *testing.T) {
	t.Parallel()
	got := factorial.Transports(all.Works())
	for _, word := range []string{
		"http1", "http2", "http3", "grpc", "connect", "connect-http1", "graphql", "sse", "sse-h2c", "websocket",
		"netrpc", "raw-tcp",
	} {
		if !slices.Contains(got, word) {
			t.Errorf("%s is none of %v", word, got)
		}
	}
	if got, want := factorial.Encodings(all.Works()),
		[]string{"json", "proto", "avro", "gob"}; !slices.Equal(got, want) {
		t.Errorf("encodings %v, want %v", got, want)
	}
}

// A protocol with the same parts as an earlier one is picked by its own name.
func TestWordOfATwin(t *testing.T) {
	t.Parallel()
	reference := func(name string) wirelab.Cell {
		return wirelab.Cell{Protocol: wirelab.Protocol{
			Name: name, Transport: "TCP", Framing: "varint",
			Encoding: "CBOR",
		}, Usual: true}
	}
	works := []wirelab.Work{{Cells: []wirelab.Cell{reference("varint-tcp"), reference("varint-tcp-2")}}}
	if got, want := factorial.Transports(works), []string{"varint-tcp", "varint-tcp-2"}; !slices.Equal(got, want) {
		t.Errorf("words %v, want %v", got, want)
	}
}
