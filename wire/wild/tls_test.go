package wild_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/workload/routeguide/bind"
)

// issued is a certificate for this machine, and those who trust it.
func issued(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	certificate, pem, err := certs.Issue("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	roots, err := certs.Trust(pem)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, roots
}

// TestTLSWithoutALPN: a server that says nothing of the protocol in its handshake speaks HTTP/1.1; who wants
// HTTP/2 learns that it is not offered.
func TestTLSWithoutALPN(t *testing.T) {
	t.Parallel()
	certificate, roots := issued(t)
	right := behind(t, drivers(t, "http1-json")[0].cell)
	address := front(t, func(conn net.Conn) {
		secure := tls.Server(conn,
			&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13})
		serve1(secure, right, behaviours1[0].say)
	})
	for _, d := range drivers(t, "http1-tls-json") {
		t.Run(d.name, func(t *testing.T) {
			d.root = roots
			want{}.check(t, 40, d.drive(t, address, 40, 4))
		})
	}
	for _, d := range drivers(t, "http2-json") {
		t.Run(d.name, func(t *testing.T) {
			to := wirelab.Dialing{Address: address, Roots: roots}
			var err error
			if d.raw {
				_, err = d.cell.DialRaw(t.Context(), to, 1, "GetFeature", "", 1)
			} else {
				d.root = roots
				err = d.drive(t, address, 1, 1)[0]
			}
			if err == nil || wirelab.CodeOf(err) != wirelab.Unavailable || !strings.Contains(err.Error(), "ALPN") {
				t.Errorf("%v, want that HTTP/2 is not offered", err)
			}
		})
	}
}

// TestTLS12 measures a server that speaks TLS 1.2 at most, as targets may: every driver over
// TLS takes it where the server is not ours, tells the version, and refuses it else.
func TestTLS12(t *testing.T) {
	t.Parallel()
	certificate, roots := issued(t)
	// The servers are ours, in the clear, behind a proxy that ends TLS.
	plain := map[string]string{
		"http1-tls-json": "http1-json", "http1-tls-proto": "http1-proto", "http2-json": "h2c-json",
		"http2-proto": "h2c-proto", "grpc-tls": "grpc",
	}
	tried := map[string]bool{}
	for _, cell := range bind.Workload().Erase().Cells {
		p := cell.Protocol
		if !p.Secure || p.Network == "udp" || tried[p.Name] {
			continue
		}
		tried[p.Name] = true
		alpn := "h2"
		if p.Transport == "HTTP/1.1" {
			alpn = "http/1.1"
		}
		config := &tls.Config{
			Certificates: []tls.Certificate{certificate}, MaxVersion: tls.VersionTLS12, NextProtos: []string{alpn},
		}
		address := front(t, behindTLS(config, started(t, drivers(t, plain[p.Name])[0].cell)))
		for _, d := range drivers(t, p.Name) {
			for _, ours := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, ours %v", d.name, ours), func(t *testing.T) {
					var version atomic.Uint32
					d.root, d.foreign, d.secured = roots, !ours,
						func(s tls.ConnectionState) { version.Store(uint32(s.Version)) }
					err := d.reach(t, address)
					switch {
					case ours && (err == nil || version.Load() != 0):
						t.Errorf("%v with version %#x, want that it is refused", err, version.Load())
					case !ours && (err != nil || version.Load() != tls.VersionTLS12):
						t.Errorf("%v with version %#x", err, version.Load())
					}
				})
			}
		}
	}
	if len(tried) != len(plain) {
		t.Errorf("tried %v of %v", tried, plain)
	}
}

// behindTLS ends TLS before a server in the clear.
func behindTLS(config *tls.Config, address string) func(net.Conn) {
	return func(conn net.Conn) {
		secure := tls.Server(conn, config)
		if secure.Handshake() != nil {
			return
		}
		onward, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		var back sync.WaitGroup
		back.Go(func() {
			_, _ = io.Copy(secure, onward)
			_ = conn.Close()
		})
		_, _ = io.Copy(onward, secure)
		_ = onward.Close()
		back.Wait()
	}
}
