package bind

import (
	"wirelab"
	"wirelab/workload/messaging"
)

// Holes are the protocols of calls: messaging is carried by brokers.
func Holes() []wirelab.Binding[messaging.Service] {
	var all []wirelab.Binding[messaging.Service]
	for _, name := range []string{
		"connect", "connect-http1", "graphql", "graphql-composed", "grpc", "grpc-avro", "grpc-json", "grpc-tls",
		"grpc-tls-avro", "grpc-tls-json", "h2c-avro", "h2c-json", "h2c-proto", "http1-avro", "http1-json", "http1-proto",
		"http1-tls-avro", "http1-tls-json", "http1-tls-proto", "http2-avro", "http2-json", "http2-proto", "http3-proto",
		"netrpc", "raw-tcp", "sse", "sse-h2c", "websocket",
	} {
		all = append(all, wirelab.Hole[messaging.Service](wirelab.Protocol{Name: name},
			"messages go through a broker, which speaks its own protocols; hermes-grpc, hermes-rest and hermes-graphql are the nearest to it"))
	}
	return all
}
