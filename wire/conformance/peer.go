package conformance

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net/http"
	"net/url"
	"testing"

	"wirelab"
)

// Peer is a server over HTTP or gRPC as someone sees it who has no stub of ours.
type Peer struct {
	Protocol wirelab.Protocol
	Address  string
	Roots    *x509.CertPool // nil: not secure
}

// Post sends a message to a path, framed as the protocol has it, and returns
// what became of it: an HTTP status and the body, or "grpc" with a status, and
// its message.
func (p Peer) Post(t testing.TB, path, contentType string, message []byte) (code, text string) {
	t.Helper()
	var protocols http.Protocols
	switch {
	case p.Protocol.Transport == "HTTP/1.1":
		protocols.SetHTTP1(true)
	case p.Protocol.Secure:
		protocols.SetHTTP2(true)
	default:
		protocols.SetUnencryptedHTTP2(true)
	}
	transport := &http.Transport{
		Protocols: &protocols, DisableCompression: true,
		TLSClientConfig: &tls.Config{RootCAs: p.Roots, MinVersion: tls.VersionTLS13},
	}
	defer transport.CloseIdleConnections()
	scheme, grpc := "http://", p.Protocol.Framing == "gRPC"
	if p.Protocol.Secure {
		scheme = "https://"
	}
	if grpc {
		message = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+p.Address+path, bytes.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Accept", "application/json")
	if grpc {
		r.Header.Set("Te", "trailers")
	}
	reply, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	said, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !grpc {
		return reply.Status[:3], string(said)
	}
	end := reply.Trailer
	if end.Get("Grpc-Status") == "" {
		end = reply.Header // a reply of trailers alone
	}
	if text, err = url.PathUnescape(end.Get("Grpc-Message")); err != nil {
		t.Fatal(err)
	}
	return "grpc " + end.Get("Grpc-Status"), text
}
