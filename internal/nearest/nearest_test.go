package nearest_test

import (
	"slices"
	"strings"
	"testing"

	"wirelab/internal/nearest"
)

var (
	protocols = []string{
		"connect", "connect-http1", "graphql", "grpc", "grpc-json", "grpc-tls", "h2c-json", "h2c-proto", "http1-json",
		"http1-proto",
		"http1-tls-json", "http2-json", "http2-proto", "http3-proto", "netrpc", "raw-tcp", "sse", "sse-h2c",
		"websocket",
	}
	commands = []string{
		"arrivals", "audit", "call", "capacity", "compare", "curve", "matrix", "presets", "results",
		"run",
		"serve",
	}
)

// What people type finds what they mean, and what resembles nothing finds nothing.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"comapre", commands, "compare"},
		{"Compare", commands, "compare"},
		{"matrx", commands, "matrix"},
		{"res", commands, "results presets"},
		{"bench", commands, "compare run"},
		{"grcp", protocols, "grpc"},
		{"GRPC", protocols, "grpc"},
		{"grpc_tls", protocols, "grpc-tls"},
		{"rest", protocols, "http1-json http2-json h2c-json"},
		{"http", protocols, "http1-json http1-proto h2c-json"},
		{"http/1.1", protocols, "http1-json http1-proto"},
		{"http/2", protocols, "h2c-json http2-json grpc"},
		{"http3", protocols, "http3-proto"},
		{"json", protocols, "http1-json h2c-json grpc-json"},
		{"protobuf", protocols, "grpc http1-proto h2c-proto"},
		{"h2c", protocols, "h2c-json h2c-proto"},
		{"websockets", protocols, "websocket"},
		{"soap", protocols, ""},
		{"http9", protocols, "http1-json http2-json http1-proto"},
		{"", protocols, ""},
		{"x", protocols, ""},
		{"kafka", []string{"hermes-grpc", "kafka", "rabbitmq"}, "kafka"},
		{"latency", []string{"cpu/req", "mean", "p50", "p99", "throughput"}, "p50 p99 mean"},
		{"--concurrency", []string{"--in-flight", "--json"}, "--in-flight"},
		{"--rond", []string{"--round", "--rounds"}, "--round"},
		{strings.Repeat("a", 1<<20), protocols, ""},
		{"grpc\xff", protocols, "grpc"},
	} {
		if got := strings.Join(nearest.Names(c.word, c.known), " "); got != c.want {
			t.Errorf("%.40q: %q, want %q", c.word, got, c.want)
		}
	}
}

// However many names resemble a word, three are suggested, each once.
func TestFew(t *testing.T) {
	t.Parallel()
	got := nearest.Names("grpc", []string{"grpc-a", "grpc-a", "grpc-b", "grpc-c", "grpc-d"})
	if want := []string{"grpc-a", "grpc-b", "grpc-c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
