// Package trust reads and checks the files that are needed to reach targets over TLS: a certificate authority, a
// client certificate and its key. It knows PEM and the TLS settings of a plan. It must not know which server is
// called, or which requests are sent.
package trust

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/internal/fault"
	"wirelab/internal/input"
	"wirelab/lab/control"
	"wirelab/lab/plan"
)

// pemLimit is the maximum size of a PEM file in bytes. All authorities of a system take a quarter of it.
const pemLimit = 1 << 20

// Secured has what a driver needs to reach targets over TLS: the PEM texts of the files in the settings. They are
// read and checked before anything runs.
type Secured struct {
	Authority string
	TLS       *control.TLS
}

// Read reads the files in the settings. An error names the file and the problem.
func Read(ctx context.Context, t plan.TLS, now time.Time) (Secured, error) {
	if !t.Given() {
		return Secured{}, nil
	}
	if err := t.Check(); err != nil {
		return Secured{}, err
	}
	ca, err := readPEM(ctx, "--ca", t.CA)
	if err != nil {
		return Secured{}, err
	}
	if t.CA != "" {
		if _, err := certs.Trust(ca); err != nil {
			return Secured{}, wirelab.Errorf(wirelab.InvalidArgument,
				"--ca %s: it contains no certificate; want a PEM file with -----BEGIN CERTIFICATE-----", t.CA)
		}
	}
	cert, err := readPEM(ctx, "--cert", t.Cert)
	if err != nil {
		return Secured{}, err
	}
	key, err := readPEM(ctx, "--key", t.Key)
	if err != nil {
		return Secured{}, err
	}
	if err := checkPair(t, cert, key, now); err != nil {
		return Secured{}, err
	}
	return Secured{string(ca), &control.TLS{
		Certificate: string(cert), Key: string(key), ServerName: t.ServerName, Insecure: t.Insecure,
	}}, nil
}

// checkPair checks a client certificate and its key.
func checkPair(t plan.TLS, cert, key []byte, now time.Time) error {
	if t.Cert == "" {
		return nil
	}
	block, _ := pem.Decode(cert)
	if block == nil || block.Type != "CERTIFICATE" {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"--cert %s: it does not begin with a certificate; want a PEM file with -----BEGIN CERTIFICATE-----",
			t.Cert)
	}
	if block, _ := pem.Decode(key); block == nil || block.Type == "CERTIFICATE" {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"--key %s: it contains no key; want a PEM file with -----BEGIN PRIVATE KEY-----", t.Key)
	}
	if _, err := certs.Show(cert, key); err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"--cert %s and --key %s do not belong together, or the key is encrypted: %v", t.Cert, t.Key, err)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "--cert %s: %v", t.Cert, err)
	}
	if now.After(leaf.NotAfter) {
		return wirelab.Errorf(wirelab.InvalidArgument, "--cert %s expired on %s; want a valid one", t.Cert,
			leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	return nil
}

// readPEM reads a file of bounded size. It returns nil if name is empty.
func readPEM(ctx context.Context, flag, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	text, err := input.File(ctx, name, pemLimit)
	if err != nil {
		return nil, fault.Unread(flag, name, err)
	}
	return text, nil
}

// Give adds the files' contents to the settings of a client.
func (s Secured) Give(to *wirelab.Dialing) (err error) {
	if s.Authority != "" {
		if to.Roots, err = certs.Trust([]byte(s.Authority)); err != nil {
			return err
		}
	}
	if s.TLS == nil {
		return nil
	}
	to.ServerName, to.Insecure = s.TLS.ServerName, s.TLS.Insecure
	to.Certificates, err = certs.Show([]byte(s.TLS.Certificate), []byte(s.TLS.Key))
	return err
}

// Untrusted adds advice to a TLS error if an arm has a target. It goes by the text of the error, which comes from
// another process.
func Untrusted(p plan.Plan, err error) error {
	if wirelab.CauseOfText(err.Error()) != wirelab.BadTLS ||
		!slices.ContainsFunc(p.Arms, func(a plan.Arm) bool { return a.Target != "" }) {
		return err
	}
	return fmt.Errorf("%w; --ca gives the authority of a target, --server-name a name in its certificate, "+
		"--cert and --key the client certificate; --insecure accepts any certificate", err)
}
