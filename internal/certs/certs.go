// Package certs makes the certificates of one run: a fresh certificate authority (CA) and one server
// certificate that it signs, both gone when the run is. It keeps no file and knows no protocol.
//
// Keys are ECDSA P-256 because that is what servers on the Internet mostly present; the published comparison
// used P-521, whose handshake costs several times more (docs/origins.md duh-F11). The certificate is for a
// server only, has a random serial number, and the CA may sign nothing but leaves (duh-D04).
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime is how long certificates are valid, from an hour before now so that
// a clock that is set back does not refuse them.
const lifetime = 7 * 24 * time.Hour

// Issue returns a certificate for the given host names and addresses, with localhost, 127.0.0.1 and ::1 always
// among them, and the PEM of the CA that clients must trust. The certificate is to be used with TLS 1.3.
func Issue(hosts ...string) (tls.Certificate, []byte, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	root, err := template("wirelab run authority")
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	root.IsCA, root.BasicConstraintsValid, root.MaxPathLenZero = true, true, true
	root.KeyUsage = x509.KeyUsageCertSign
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return tls.Certificate{}, nil, err
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	leaf, err := template("wirelab server")
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range append([]string{"localhost", "127.0.0.1", "::1"}, hosts...) {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else if host != "" {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, authorityKey)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	authorityPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER})
	return tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: key}, authorityPEM, nil
}

// Trust returns a pool that holds the CAs in pemBytes and no other.
func Trust(pemBytes []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pemBytes) {
		return nil, errors.New("no certificate in the authority's PEM text")
	}
	return pool, nil
}

// Show returns the certificate in two PEM texts, for a client to show; none of two that are empty.
func Show(certificate, key []byte) ([]tls.Certificate, error) {
	if len(certificate) == 0 && len(key) == 0 {
		return nil, nil
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	return []tls.Certificate{pair}, nil
}

func template(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(lifetime),
	}, nil
}
