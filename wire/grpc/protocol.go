package grpc

import "wirelab/wire/endpoint"

// Protocol is gRPC with messages in protobuf, in plaintext or over TLS.
func Protocol(secure bool) endpoint.Protocol { return named("", secure, "Protocol Buffers") }

// ProtocolJSON is gRPC with messages in JSON.
func ProtocolJSON(secure bool) endpoint.Protocol { return named("-json", secure, "JSON") }

// ProtocolAvro is gRPC with messages in Avro.
func ProtocolAvro(secure bool) endpoint.Protocol { return named("-avro", secure, "Avro") }

func named(suffix string, secure bool, encoding string) endpoint.Protocol {
	name := "grpc"
	if secure {
		name = "grpc-tls"
	}
	return endpoint.Protocol{
		Name: name + suffix, Transport: "HTTP/2", Framing: "gRPC", Encoding: encoding, Network: "tcp",
		Secure: secure, Multiplexed: true,
	}
}
