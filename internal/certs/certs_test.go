package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"

	"wirelab/internal/certs"
)

// A client that trusts the authority, and only it, completes a TLS 1.3
// handshake; one that trusts another run's does not.
func TestIssue(t *testing.T) {
	t.Parallel()
	cert, pem, err := certs.Issue("wirelab.example")
	if err != nil {
		t.Fatal(err)
	}
	_, stranger, err := certs.Issue()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, host string
		pem        []byte
		ok         bool
	}{
		{"by address", "127.0.0.1", pem, true},
		{"by given name", "wirelab.example", pem, true},
		{"name that was not asked for", "other.example", pem, false},
		{"authority of another run", "127.0.0.1", stranger, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			roots, err := certs.Trust(c.pem)
			if err != nil {
				t.Fatal(err)
			}
			err = handshake(t, cert, roots, c.host)
			if (err == nil) != c.ok {
				t.Errorf("handshake: %v, want success %v", err, c.ok)
			}
		})
	}
}

// The certificate serves servers and the authority is not the certificate:
// the published helper used one for all (duh-D04).
func TestUsage(t *testing.T) {
	t.Parallel()
	cert, pem, err := certs.Issue()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if leaf.IsCA {
		t.Error("the server's certificate can sign others")
	}
	roots, err := certs.Trust(pem)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{
		x509.ExtKeyUsageClientAuth,
	}}); err == nil {
		t.Error("the server's certificate passes as a client's")
	}
	other, _, err := certs.Issue()
	if err != nil {
		t.Fatal(err)
	}
	otherLeaf, err := x509.ParseCertificate(other.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if leaf.SerialNumber.Cmp(otherLeaf.SerialNumber) == 0 {
		t.Error("two certificates have one serial number")
	}
}

func TestTrustRefusesNoise(t *testing.T) {
	t.Parallel()
	if _, err := certs.Trust([]byte("not PEM")); err == nil {
		t.Error("text without a certificate was taken")
	}
}

func handshake(t *testing.T, cert tls.Certificate, roots *x509.CertPool, host string) error {
	t.Helper()
	// A real connection: over net.Pipe, which holds no bytes, both ends of a
	// TLS 1.3 handshake may be writing at once for ever.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		server := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13})
		_ = server.HandshakeContext(t.Context()) // the client's verdict is the one asked for
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS13})
	err = client.HandshakeContext(t.Context())
	conn.Close()
	<-done
	return err
}
