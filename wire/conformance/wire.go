package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/quic-go/quic-go"

	"wirelab"
)

// facts checks what a binding declares of its protocol for itself alone.
func (c *cell[S]) facts(r reporter) {
	p := c.binding.Protocol
	if p.Name == "" || p.Name != strings.ToLower(p.Name) || strings.ContainsAny(p.Name, " /_") {
		r.Errorf("protocol name %q: want lower case words joined by hyphens", p.Name)
	}
	if p.Encoding == "" || p.Transport == "" {
		r.Errorf("protocol %s declares transport %q and encoding %q", p.Name, p.Transport, p.Encoding)
	}
	want := "tcp"
	if p.Transport == "HTTP/3" {
		want = "udp"
	}
	if p.Network != want {
		r.Errorf("%s is carried over %s, declared is network %q", p.Transport, want, p.Network)
	}
	if c.binding.Style != wirelab.Idiomatic && c.binding.Style != wirelab.Generic {
		r.Errorf("style %q is unknown", c.binding.Style)
	}
	if c.server.Library == "" || c.client.Library == "" {
		r.Errorf("a library has no name: server %q, client %q", c.server.Library, c.client.Library)
	}
	for name := range c.binding.Holes {
		if _, err := operation(c.workload, name); err != nil {
			r.Errorf("hole: %v", err)
		}
	}
}

// heard is what one connection said, in plain.
type heard struct {
	toServer, toClient []byte
}

// wireCalls is how many calls of each operation the wire check listens to.
const wireCalls = 2

// wire listens to a few calls and checks that the cell speaks what it
// declares: the facts of its protocol are claims of a report, and a client
// that fell back to another protocol would be measured under a false name.
func (c *cell[S]) wire(r reporter) {
	p := c.binding.Protocol
	g := c.raise(r, c.workload.New(), setup{tap: p.Secure && p.Network == "tcp"})
	if g == nil {
		return
	}
	oracle, random := c.workload.New(), rand.New(rand.NewPCG(c.seed, 4))
	for range wireCalls {
		for _, o := range c.live() {
			e, err := o.Draw("", random)
			if err != nil {
				r.Errorf("draw: %v", err)
				continue
			}
			if fault := differ(g.ask(e), ask(context.Background(), e, oracle)); fault != "" {
				r.Errorf("%s while listening: %s", o.Name, fault)
			}
		}
	}
	if p.Secure {
		c.probeSecure(r, g.server.address)
	}
	g.lower(r)
	if p.Network == "udp" {
		if len(g.tape.clients) == 0 {
			r.Errorf("declared %s, but no QUIC Initial packet of version 1 reached the server", p.Transport)
		}
		return
	}
	var all []heard
	for _, k := range g.tape.all() {
		toServer, toClient := k.both()
		if looksTLS(toServer) != p.Secure {
			r.Errorf("declared secure %v, but the client's first bytes are % x", p.Secure, head(toServer))
		}
		if !p.Secure {
			all = append(all, heard{toServer, toClient})
		}
	}
	if g.tap != nil {
		all = c.tapped(r, g.tap)
	}
	if len(all) == 0 && len(c.live()) > 0 {
		r.Errorf("the server saw no connection")
	}
	for _, h := range all {
		for _, fault := range spoken(p, h) {
			r.Errorf("declared %s, %s: %s", p.Name, p.Transport, fault)
		}
	}
}

// looksTLS recognises a TLS record with a handshake message (RFC 8446, 5.1).
func looksTLS(b []byte) bool { return len(b) > 2 && b[0] == 0x16 && b[1] == 0x03 }

// head is as much of a stream as a report shows.
func head(b []byte) []byte { return b[:min(len(b), 24)] }

// alpn is the name that TLS negotiates for a transport; "" if any will do.
func alpn(transport string) string {
	switch transport {
	case "HTTP/2":
		return "h2"
	case "HTTP/3":
		return "h3"
	}
	return ""
}

// tapped checks what each connection negotiated and returns what it said.
func (c *cell[S]) tapped(r reporter, t *tap) []heard {
	var all []heard
	for _, l := range t.seen() {
		if l.err != nil {
			r.Errorf("TLS through the suite's tap failed: %v", l.err)
			continue
		}
		if version := min(l.state.Version, l.version); version != tls.VersionTLS13 {
			r.Errorf("negotiated %s, want TLS 1.3", tls.VersionName(version))
		}
		got, want := l.state.NegotiatedProtocol, alpn(c.binding.Protocol.Transport)
		if want != "" && got != want {
			r.Errorf("negotiated ALPN %q of the client's %q, want %q", got, l.offered, want)
		}
		if want == "" && got == "h2" {
			r.Errorf("negotiated ALPN h2, declared is %s", c.binding.Protocol.Transport)
		}
		toServer, toClient := l.track.both()
		all = append(all, heard{toServer, toClient})
	}
	return all
}

// probeSecure asks the server itself: it must choose the declared protocol
// even if offered others, and refuse versions before TLS 1.3.
func (c *cell[S]) probeSecure(r reporter, address string) {
	transport := c.binding.Protocol.Transport
	if transport == "HTTP/3" {
		ctx, cancel := context.WithTimeout(context.Background(), c.patience)
		defer cancel()
		conn, err := quic.DialAddr(ctx, address, &tls.Config{
			RootCAs: c.identity.roots, NextProtos: []string{alpn(transport)},
		}, nil)
		if err != nil {
			r.Errorf("QUIC with ALPN h3: %v", err)
			return
		}
		state := conn.ConnectionState().TLS
		if state.NegotiatedProtocol != "h3" || state.Version != tls.VersionTLS13 {
			r.Errorf("QUIC negotiated ALPN %q, %s; want h3, TLS 1.3", state.NegotiatedProtocol,
				tls.VersionName(state.Version))
		}
		if err := conn.CloseWithError(0x100, ""); err != nil { // H3_NO_ERROR
			r.Errorf("closing QUIC: %v", err)
		}
		return
	}
	offers := []string{"h2", "http/1.1"}
	if transport == "HTTP/1.1" {
		slices.Reverse(offers)
	}
	state, err := c.probeTLS(address, 0, offers)
	if err != nil {
		r.Errorf("TLS handshake offering %q: %v", offers, err)
		return
	}
	if want := alpn(transport); want != "" && state.NegotiatedProtocol != want {
		r.Errorf("offered %q, the server chose ALPN %q, want %q", offers, state.NegotiatedProtocol, want)
	}
	if _, err := c.probeTLS(address, tls.VersionTLS12, offers); err == nil {
		r.Errorf("the server accepts TLS 1.2, declared is TLS 1.3")
	}
}

// preface starts every HTTP/2 connection (RFC 9113, 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// spoken tells what is wrong with what was said over a connection.
func spoken(p wirelab.Protocol, h heard) []string {
	isH2 := bytes.HasPrefix(h.toServer, []byte(preface))
	isH1 := bytes.HasPrefix(h.toClient, []byte("HTTP/1.1 "))
	said := fmt.Sprintf("the client's first bytes are %q, the server's %q", head(h.toServer), head(h.toClient))
	switch {
	case p.Transport == "HTTP/2":
		if !isH2 {
			return []string{"no HTTP/2 preface: " + said}
		}
		return judgeMessages(p, http2Messages(h))
	case p.Transport == "HTTP/1.1", strings.HasPrefix(p.Transport, "WebSocket"), p.Name == "websocket":
		if isH2 || !isH1 {
			return []string{"no HTTP/1.1 exchange: " + said}
		}
		return judgeMessages(p, http1Messages(h))
	case isH2 || isH1 || looksTLS(h.toServer):
		return []string{"speaks another protocol: " + said}
	case p.Encoding == "gob" && !bytes.Contains(h.toServer, []byte("ServiceMethod")):
		// The gob stream of net/rpc describes the type of its request header first.
		return []string{"no net/rpc request: " + said}
	}
	return nil
}

// judgeMessages checks the content types of HTTP messages, both ways.
func judgeMessages(p wirelab.Protocol, all []message) []string {
	if len(all) == 0 {
		return []string{"no complete HTTP message was read"}
	}
	var faults []string
	events := 0
	for _, m := range all {
		switch {
		case m.upgrade != "":
			if m.upgrade != "websocket" || p.Name != "websocket" {
				faults = append(faults, fmt.Sprintf("the connection is upgraded to %q", m.upgrade))
			}
			continue
		case p.Name == "websocket":
			faults = append(faults, "no WebSocket upgrade")
			continue
		}
		request, reply := m.request, m.reply
		if request == "" {
			request = m.accept // a request without a body says what it wants instead
		}
		if strings.HasPrefix(reply, "text/event-stream") {
			events++
		}
		if !allowed(p, request) {
			faults = append(faults,
				fmt.Sprintf("request %s with content type %q (accept %q), want %s", m.what, m.request,
					m.accept, wanted(p)))
		}
		failure := m.failed && strings.HasPrefix(p.Name, "connect") && reply == connectFailure
		if !failure && !allowed(p, reply) {
			faults = append(faults, fmt.Sprintf("reply to %s with content type %q, want %s", m.what, reply, wanted(p)))
		}
	}
	if p.Framing == "SSE" && events == 0 {
		faults = append(faults, "no reply is a text/event-stream")
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// mediaTypes are the content types of the protocols that have their own.
var mediaTypes = []struct {
	protocol string // a name or the start of one
	types    []string
}{
	{"grpc-avro", []string{"application/grpc+avro"}},
	{"grpc-json", []string{"application/grpc+json"}},
	{"grpc-tls-avro", []string{"application/grpc+avro"}},
	{"grpc-tls-json", []string{"application/grpc+json"}},
	{"grpc", []string{"application/grpc"}},
	{"connect", []string{"application/proto", "application/connect+proto"}},
	{"graphql", []string{
		"application/json", "application/graphql-response+json", "multipart/mixed",
		"text/event-stream",
	}},
	{"sse", []string{"text/event-stream", "application/json"}},
}

// connectFailure is how the Connect protocol writes a failed unary call,
// whatever the encoding of the call is.
const connectFailure = "application/json"

// encodingTypes are what other protocols' content types must contain.
var encodingTypes = map[string]string{"JSON": "json", "Protocol Buffers": "proto", "Avro": "avro"}

// allowed tells whether a content type may stand on a protocol's message.
func allowed(p wirelab.Protocol, contentType string) bool {
	for _, m := range mediaTypes {
		if strings.HasPrefix(p.Name, m.protocol) {
			return slices.ContainsFunc(m.types, func(t string) bool { return strings.HasPrefix(contentType, t) })
		}
	}
	part, known := encodingTypes[p.Encoding]
	return !known || strings.Contains(contentType, part)
}

// wanted spells what allowed allows.
func wanted(p wirelab.Protocol) string {
	for _, m := range mediaTypes {
		if strings.HasPrefix(p.Name, m.protocol) {
			return strings.Join(m.types, " or ")
		}
	}
	return "one with " + encodingTypes[p.Encoding]
}
