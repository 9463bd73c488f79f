package conformance

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
)

// tap stands between a client and a server of a Secure stream wire and reads
// what they say. It can, because the suite made the certificate: to the client
// it is the server, and to the server it offers exactly what the client
// offered. Reading the key log would have been less work, but nothing in
// [wirelab.Dialing] lets it be written.
type tap struct {
	identity *identity
	upstream string
	tape     *tape

	mu    sync.Mutex // guards all below
	links []*link
	conns []net.Conn
	wg    sync.WaitGroup
}

// link is one connection through the tap.
type link struct {
	offered []string            // the client's ALPN
	state   tls.ConnectionState // with the server
	version uint16              // with the client, which may have asked for less
	err     error               // why there was no connection
	track   *track
}

// dial has the type of Dialing.Connect; the address is the one it was made for.
func (t *tap) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	var plain net.Dialer
	near, err := plain.DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return nil, err
	}
	far, err := listener.Accept()
	if err != nil {
		near.Close()
		return nil, err
	}
	t.hold(far)
	t.wg.Go(func() { t.relay(far) })
	return near, nil
}

// hold keeps a connection to be closed with the tap.
func (t *tap) hold(conn net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns = append(t.conns, conn)
}

// relay joins a client's connection to the server until either ends.
func (t *tap) relay(far net.Conn) {
	defer far.Close()
	l := &link{track: t.tape.newTrack()}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.links = append(t.links, l)
	}()
	var server *tls.Conn
	client := tls.Server(far, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		l.offered = hello.SupportedProtos
		conn, err := net.Dial("tcp", t.upstream)
		if err != nil {
			return nil, err
		}
		t.hold(conn)
		server = tls.Client(conn,
			&tls.Config{RootCAs: t.identity.roots, ServerName: "localhost", NextProtos: l.offered})
		if err := server.HandshakeContext(hello.Context()); err != nil {
			return nil, err
		}
		l.state = server.ConnectionState()
		config := &tls.Config{Certificates: []tls.Certificate{t.identity.certificate}}
		if l.state.NegotiatedProtocol != "" {
			config.NextProtos = []string{l.state.NegotiatedProtocol}
		}
		return config, nil
	}})
	if l.err = client.Handshake(); l.err != nil {
		if server != nil {
			server.Close()
		}
		return
	}
	l.version = client.ConnectionState().Version
	var wg sync.WaitGroup
	wg.Go(func() { pass(server, client, func(b []byte) { l.track.add(&l.track.toServer, b) }) })
	pass(client, server, func(b []byte) { l.track.add(&l.track.toClient, b) })
	wg.Wait()
	server.Close()
	client.Close()
}

// pass copies from one side to the other, and the end too.
func pass(to, from *tls.Conn, note func([]byte)) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			note(buffer[:n])
			if _, err := to.Write(buffer[:n]); err != nil {
				from.Close()
				return
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				_ = to.CloseWrite()
			} else {
				to.Close()
			}
			return
		}
	}
}

// close ends every connection and waits for the relays; seen is complete after it.
func (t *tap) close() {
	t.mu.Lock()
	for _, conn := range t.conns {
		conn.Close()
	}
	t.mu.Unlock()
	t.wg.Wait()
}

// seen returns the connections that ended.
func (t *tap) seen() []*link {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]*link(nil), t.links...)
}
