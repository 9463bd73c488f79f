package wild_test

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"

	"wirelab"
	"wirelab/authority"
)

// TestTLSWithoutALPN: a server that says nothing of the protocol in its handshake speaks
// HTTP/1.1; who wants HTTP/2 is told that it is not offered.
func TestTLSWithoutALPN(t *testing.T) {
	t.Parallel()
	certificate, pem, err := authority.Issue("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	roots, err := authority.Trust(pem)
	if err != nil {
		t.Fatal(err)
	}
	right := behind(t, drivers(t, "http1-json")[0].cell)
	address := front(t, func(conn net.Conn) {
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13})
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
