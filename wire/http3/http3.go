// Package http3 is the transport of HTTP/3 over QUIC, which is always
// encrypted, by quic-go: it opens, serves and ends connections. It knows
// nothing of what they carry, which is package httprpc's, nor of any workload.
//
// # Knobs that matter
//
// A client opens one connection from one socket and calls share it. The server allows [wirelab.MaxStreams] of
// them at once (quic-go's default is 100), beyond which the client waits. No 0-RTT: a replayed call would be
// another claim. The client keeps an idle connection alive with a packet each 10 s; one whose server vanished
// without a word is given up after 30 s. quic-go sends and receives packets in batches (GSO, recvmmsg) only on
// a socket that is a net.UDPConn or offers its methods, so an endpoint that wraps one to count bytes should
// pass them on. It wants socket buffers of 7 MiB and takes less where the kernel's net.core.rmem_max says so.
// Windows are quic-go's: a stream that is not read grows from 512 KiB to 6 MiB and then its sender waits.
package http3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	quichttp "github.com/quic-go/quic-go/http3"

	"wirelab"
	"wirelab/wire/httprpc"
)

const (
	keepAlive   = 10 * time.Second
	silence     = 30 * time.Second // after which a peer is given up
	majorNumber = 3
)

// Serve serves handler; see [wirelab.Server] for ctx and at.
func Serve(ctx context.Context, at wirelab.Endpoint, handler http.Handler) error {
	if at.Packets == nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "the endpoint has no packet socket")
	}
	config, err := httprpc.ServerTLS(at)
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: at.Packets}
	listener, err := transport.ListenEarly(quichttp.ConfigureTLSConfig(config), &quic.Config{
		MaxIncomingStreams: wirelab.MaxStreams,
		MaxIdleTimeout:     silence,
	})
	if err != nil {
		return fmt.Errorf("listen: %w", errors.Join(err, transport.Close(), at.Packets.Close()))
	}
	server := &quichttp.Server{
		Handler:        handler,
		MaxHeaderBytes: httprpc.HeaderLimit,
		IdleTimeout:    httprpc.IdleTimeout,
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeListener(listener) }()
	var failed error
	select {
	case failed = <-served:
		failed = fmt.Errorf("serve: %w", failed)
	case <-ctx.Done():
		refuseNew(ctx, listener)
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), at.DrainTime())
		_ = server.Shutdown(drain) // its only error is that time ran out
		cancel()
		<-served //nolint:errcheck // it says that it was stopped
	}
	// The rest is cut, and the errors are those of things closed twice.
	_ = server.Close()
	_ = listener.Close()
	_ = transport.Close()
	_ = at.Packets.Close()
	return failed
}

// refuseNew takes no more connections, and closes those that no one has taken yet: quic-go would forget them
// without a word, and a caller that came in that moment would wait until silence tells it. Those in service
// live on.
func refuseNew(ctx context.Context, listener *quic.EarlyListener) {
	_ = listener.Close() // its only error is that it was closed before
	for {
		conn, err := listener.Accept(context.WithoutCancel(ctx))
		if err != nil {
			return
		}
		_ = conn.CloseWithError(quic.ApplicationErrorCode(quichttp.ErrCodeNoError), "stopping") // it may be gone
	}
}

// Dial opens a client's socket. The client connects with its first call.
func Dial(to wirelab.Dialing) (*httprpc.Client, error) {
	to.Foreign = false // RFC 9001, 4.2: TLS 1.3 at least
	packets, err := to.OpenPackets()
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	socket := &quic.Transport{Conn: packets}
	transport := &quichttp.Transport{
		TLSClientConfig:    to.TLS(),
		DisableCompression: true,
		QUICConfig: &quic.Config{
			MaxIncomingStreams: -1, // a server opens none
			MaxIdleTimeout:     silence,
			KeepAlivePeriod:    keepAlive,
		},
		// A request's URL names the host that it is for; where that is reached, to says.
		Dial: func(ctx context.Context, _ string, config *tls.Config, knobs *quic.Config) (*quic.Conn, error) {
			peers, err := resolve(ctx, to.NextAddress())
			if err != nil {
				return nil, err
			}
			conn, err := first(ctx, peers, func(ctx context.Context, peer *net.UDPAddr) (*quic.Conn, error) {
				return socket.Dial(ctx, peer, config, knobs)
			})
			if err == nil {
				to.Tell(conn.RemoteAddr())
			}
			return conn, err
		},
	}
	return httprpc.NewClient(transport, "https", to.Address, majorNumber, func() error {
		return errors.Join(transport.Close(), socket.Close(), packets.Close())
	}), nil
}
