package bind

import (
	"wirelab"
	"wirelab/workload/routeguide"
)

// Holes are the protocols that do not carry the route guide.
func Holes() []wirelab.Binding[routeguide.Service] {
	const (
		notAvro = "the route guide has no Avro schemas: encodings are compared on the directory, whose published experiment has both"
		notJSON = "the published route guide speaks gRPC in Protocol Buffers; gRPC in JSON stands beside it on the directory, where encodings are compared"
		notMany = "no operation of the route guide is made of several calls, so that one document could ask for them at once"
	)
	http := func(name, transport string, secure, multiplexed bool) wirelab.Binding[routeguide.Service] {
		return wirelab.Hole[routeguide.Service](wirelab.Protocol{
			Name: name, Transport: transport, Framing: "HTTP", Encoding: "Avro", Network: "tcp",
			Secure: secure, Multiplexed: multiplexed,
		}, notAvro)
	}
	grpc := func(name, encoding string, secure bool, why string) wirelab.Binding[routeguide.Service] {
		return wirelab.Hole[routeguide.Service](wirelab.Protocol{
			Name: name, Transport: "HTTP/2", Framing: "gRPC", Encoding: encoding, Network: "tcp",
			Secure: secure, Multiplexed: true,
		}, why)
	}
	return []wirelab.Binding[routeguide.Service]{
		http("http1-avro", "HTTP/1.1", false, false),
		http("http1-tls-avro", "HTTP/1.1", true, false),
		http("h2c-avro", "HTTP/2", false, true),
		http("http2-avro", "HTTP/2", true, true),
		grpc("grpc-avro", "Avro", false, notAvro),
		grpc("grpc-tls-avro", "Avro", true, notAvro),
		grpc("grpc-json", "JSON", false, notJSON),
		grpc("grpc-tls-json", "JSON", true, notJSON),
		wirelab.Hole[routeguide.Service](wirelab.Protocol{
			Name: "graphql-composed", Transport: "HTTP/1.1", Framing: "GraphQL", Encoding: "JSON", Network: "tcp",
		}, notMany),
	}
}
