package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/ledger"
)

// HTTP1Avro carries the ledger over HTTP/1.1 in Avro.
func HTTP1Avro() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-avro", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "Avro", Network: "tcp",
	}, httpbind.HTTP1(false), httprpc.Avro)
}

// HTTP1TLSAvro carries the ledger over HTTP/1.1 with TLS in Avro.
func HTTP1TLSAvro() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-tls-avro", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "Avro", Network: "tcp", Secure: true,
	}, httpbind.HTTP1(true), httprpc.Avro)
}

// H2CAvro carries the ledger over HTTP/2 in the clear in Avro.
func H2CAvro() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "h2c-avro", Transport: "HTTP/2", Framing: "HTTP", Encoding: "Avro", Network: "tcp", Multiplexed: true,
	}, httpbind.HTTP2(false), httprpc.Avro)
}

// HTTP2Avro carries the ledger over HTTP/2 with TLS in Avro.
func HTTP2Avro() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http2-avro", Transport: "HTTP/2", Framing: "HTTP", Encoding: "Avro", Network: "tcp", Secure: true, Multiplexed: true,
	}, httpbind.HTTP2(true), httprpc.Avro)
}
