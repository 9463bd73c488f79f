package bind_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/bind"
)

// patience bounds waits for what must happen; nothing passes by being quicker.
const patience = 30 * time.Second

// pair is a binding with a server and the client that it is called by.
type pair struct {
	wirelab.Binding[ledger.Service]
	server wirelab.Server[ledger.Service]
	client wirelab.Dialer[ledger.Service]
}

// eachServer runs test for every server of every binding that carries the
// operation; "" for any.
func eachServer(t *testing.T, operation string, test func(t *testing.T, p pair)) {
	t.Helper()
	for _, b := range bind.Bindings() {
		if _, hole := b.Holes[operation]; hole {
			continue
		}
		for _, server := range b.Servers {
			t.Run(b.Protocol.Name+"/"+server.Library, func(t *testing.T) {
				test(t, pair{b, server, b.Clients[0]})
			})
		}
	}
}

// open serves service on loopback and returns a stub of it, both until the test ends.
func (p pair) open(t testing.TB, service ledger.Service, connections int) ledger.Service {
	t.Helper()
	address, roots := p.serve(t, service)
	stub, closer, err := p.client.Dial(t.Context(), wirelab.Dialing{Address: address, Roots: roots, Connections: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closer.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return stub
}

func (p pair) serve(t testing.TB, service ledger.Service) (address string, roots *x509.CertPool) {
	t.Helper()
	var at wirelab.Endpoint
	var err error
	if p.Protocol.Network == "udp" {
		if at.Packets, err = net.ListenPacket("udp", "127.0.0.1:0"); err == nil {
			address = at.Packets.LocalAddr().String()
		}
	} else {
		if at.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			address = at.Listener.Addr().String()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if p.Protocol.Secure {
		at.Certificate, roots = certificate(t)
	}
	until(t, func(ctx context.Context) error { return p.server.Serve(ctx, at, service) })
	return address, roots
}

// until runs serve until the test ends. Not with the test's own context: that
// ends before its cleanups, and clients are to be closed first.
func until(t testing.TB, serve func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
}

// certificate returns a certificate for loopback and what trusts it.
func certificate(t testing.TB) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, roots
}
