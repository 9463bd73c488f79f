package connect

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"wirelab/wire/panics"

	"wirelab"
)

// Carrier is the version of HTTP under the calls.
type Carrier string

// The carriers.
const (
	HTTP1 Carrier = "HTTP/1.1"
	H2C   Carrier = "HTTP/2"          // in plaintext, with prior knowledge
	H2TLS Carrier = "HTTP/2 over TLS" // 1.3
)

// HTTP2 is the carrier of HTTP/2, in plaintext or over TLS.
func HTTP2(secure bool) Carrier {
	if secure {
		return H2TLS
	}
	return H2C
}

// protocols returns what net/http may speak.
func (c Carrier) protocols() *http.Protocols {
	var p http.Protocols
	switch c {
	case HTTP1:
		p.SetHTTP1(true)
	case H2C:
		p.SetUnencryptedHTTP2(true)
	case H2TLS:
		p.SetHTTP2(true)
	}
	return &p
}

// MaxMessage is the largest message that either end sends or takes, in bytes.
const MaxMessage = wirelab.MessageLimit

// HandlerOptions are what every handler is made with: no compression, bounded
// messages, and a handler that panics answers Internal.
func HandlerOptions() []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCompression("gzip", nil, nil), // removes the one that is there by default
		connect.WithReadMaxBytes(MaxMessage),
		connect.WithSendMaxBytes(MaxMessage),
		connect.WithRecover(func(ctx context.Context, _ connect.Spec, _ http.Header, p any) error {
			return Encode(panics.Error(ctx, p))
		}),
	}
}

// ClientOptions are what every client is made with: no compression, bounded messages.
func ClientOptions() []connect.ClientOption {
	return []connect.ClientOption{
		connect.WithAcceptCompression("gzip", nil, nil), // removes the one that is there by default
		connect.WithReadMaxBytes(MaxMessage),
		connect.WithSendMaxBytes(MaxMessage),
	}
}
