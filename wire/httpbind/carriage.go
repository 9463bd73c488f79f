package httpbind

import (
	"wirelab"
	"wirelab/wire/httprpc"
)

// Carriage is a protocol of plain HTTP: what it is, the wire it lies on and,
// where its messages are bodies, their encoding.
type Carriage struct {
	Protocol wirelab.Protocol
	Wire     Wire
	Encoding httprpc.Encoding
}

// Carriages are the versions of HTTP, plain and secure, by the encodings of
// bodies. They are named by both, as http1-tls-json; h2c is HTTP/2 in the clear.
func Carriages() []Carriage {
	const json, proto, avro = httprpc.JSON, httprpc.Proto, httprpc.Avro
	return []Carriage{
		carriage("http1-json", HTTP1(false), json),
		carriage("http1-proto", HTTP1(false), proto),
		carriage("http1-avro", HTTP1(false), avro),
		carriage("http1-tls-json", HTTP1(true), json),
		carriage("http1-tls-proto", HTTP1(true), proto),
		carriage("http1-tls-avro", HTTP1(true), avro),
		carriage("h2c-json", HTTP2(false), json),
		carriage("h2c-proto", HTTP2(false), proto),
		carriage("h2c-avro", HTTP2(false), avro),
		carriage("http2-json", HTTP2(true), json),
		carriage("http2-proto", HTTP2(true), proto),
		carriage("http2-avro", HTTP2(true), avro),
		carriage("http3-proto", HTTP3(), proto),
	}
}

func carriage(name string, wire Wire, encoding httprpc.Encoding) Carriage {
	return Carriage{Protocol: wire.protocol(name, "HTTP", encoding.String()), Wire: wire, Encoding: encoding}
}

// Event streams of the two versions that a browser reads them over.

// SSE is server-sent events over HTTP/1.1.
func SSE() Carriage { return events("sse", HTTP1(false)) }

// SSEH2C is server-sent events over HTTP/2 in the clear.
func SSEH2C() Carriage { return events("sse-h2c", HTTP2(false)) }

func events(name string, wire Wire) Carriage {
	return Carriage{Protocol: wire.protocol(name, "SSE", httprpc.JSON.String()), Wire: wire}
}

func (w Wire) protocol(name, framing, encoding string) wirelab.Protocol {
	return wirelab.Protocol{
		Name: name, Transport: w.version, Framing: framing, Encoding: encoding, Network: w.network,
		Secure: w.secure, Multiplexed: w.multiplexed,
	}
}
