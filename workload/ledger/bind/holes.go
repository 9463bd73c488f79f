package bind

import (
	"wirelab"
	"wirelab/workload/ledger"
)

// Holes are the protocols that do not carry the ledger.
func Holes() []wirelab.Binding[ledger.Service] {
	const (
		notAvro = "the ledger has no Avro schemas: encodings are compared on the directory, whose published experiment has both"
		notJSON = "the published ledger speaks gRPC in Protocol Buffers; gRPC in JSON stands beside it on the directory, where encodings are compared"
		notMany = "no operation of the ledger is made of several calls, so that one document could ask for them at once"
	)
	http := func(name, transport string, secure, multiplexed bool) wirelab.Binding[ledger.Service] {
		return wirelab.Hole[ledger.Service](wirelab.Protocol{
			Name: name, Transport: transport, Framing: "HTTP", Encoding: "Avro", Network: "tcp",
			Secure: secure, Multiplexed: multiplexed,
		}, notAvro)
	}
	grpc := func(name, encoding string, secure bool, why string) wirelab.Binding[ledger.Service] {
		return wirelab.Hole[ledger.Service](wirelab.Protocol{
			Name: name, Transport: "HTTP/2", Framing: "gRPC", Encoding: encoding, Network: "tcp",
			Secure: secure, Multiplexed: true,
		}, why)
	}
	return []wirelab.Binding[ledger.Service]{
		http("http1-avro", "HTTP/1.1", false, false),
		http("http1-tls-avro", "HTTP/1.1", true, false),
		http("h2c-avro", "HTTP/2", false, true),
		http("http2-avro", "HTTP/2", true, true),
		grpc("grpc-avro", "Avro", false, notAvro),
		grpc("grpc-tls-avro", "Avro", true, notAvro),
		grpc("grpc-json", "JSON", false, notJSON),
		grpc("grpc-tls-json", "JSON", true, notJSON),
		wirelab.Hole[ledger.Service](wirelab.Protocol{
			Name: "graphql-composed", Transport: "HTTP/1.1", Framing: "GraphQL", Encoding: "JSON", Network: "tcp",
		}, notMany),
	}
}
