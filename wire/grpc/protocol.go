package grpc

import "wirelab"

// Protocol is gRPC with messages in protobuf, in plaintext or over TLS.
func Protocol(secure bool) wirelab.Protocol { return named("", secure, "Protocol Buffers") }

// ProtocolJSON is gRPC with messages in JSON.
func ProtocolJSON(secure bool) wirelab.Protocol { return named("-json", secure, "JSON") }

// ProtocolAvro is gRPC with messages in Avro.
func ProtocolAvro(secure bool) wirelab.Protocol { return named("-avro", secure, "Avro") }

func named(suffix string, secure bool, encoding string) wirelab.Protocol {
	name := "grpc"
	if secure {
		name = "grpc-tls"
	}
	return wirelab.Protocol{
		Name: name + suffix, Transport: "HTTP/2", Framing: "gRPC", Encoding: encoding, Network: "tcp",
		Secure: secure, Multiplexed: true,
	}
}
