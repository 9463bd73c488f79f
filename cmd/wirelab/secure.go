package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/certs"
	"wirelab/internal/input"
	"wirelab/lab/control"
	"wirelab/lab/plan"
)

// pemLimit is the most bytes of a file in PEM: all authorities of a system take a quarter.
const pemLimit = 1 << 20

// secureFlags say how targets are reached over TLS. Every command that takes a target has them.
type secureFlags struct{ plan.TLS }

func (s *secureFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.CA, "ca", "", "of targets over TLS: PEM `file` of the authority to trust (default: the system's)")
	flags.StringVar(&s.Cert, "cert", "", "of targets over TLS: PEM `file` of the client certificate to show; with --key")
	flags.StringVar(&s.Key, "key", "", "of targets over TLS: PEM `file` of the key of --cert")
	flags.StringVar(&s.ServerName, "server-name", "", "of targets over TLS: the `name` that the certificate must have (default: the host of the target)")
	flags.BoolVar(&s.Insecure, "insecure", false, "of targets over TLS: take any certificate; the report says so")
}

// apply gives a plan the settings that were typed, in place of its own.
func (s *secureFlags) apply(p plan.Plan) plan.Plan {
	for _, set := range []struct {
		into *string
		to   string
	}{{&p.TLS.CA, s.CA}, {&p.TLS.Cert, s.Cert}, {&p.TLS.Key, s.Key}, {&p.TLS.ServerName, s.ServerName}} {
		if set.to != "" {
			*set.into = set.to
		}
	}
	if s.CA != "" {
		p.TLS.Insecure = false
	}
	if s.Insecure {
		p.TLS.Insecure = true
		if s.CA == "" {
			p.TLS.CA = "" // the plan's; both typed are refused
		}
	}
	return p
}

// secured is what a driver needs to reach targets over TLS: the PEM texts of the files that
// settings name, which are read and checked before anything runs.
type secured struct {
	authority string
	tls       *control.TLS
}

// readTLS reads the files of settings. An error says which file, and what it should be.
func readTLS(ctx context.Context, t plan.TLS, now time.Time) (secured, error) {
	if !t.Given() {
		return secured{}, nil
	}
	if err := t.Check(); err != nil {
		return secured{}, err
	}
	ca, err := readPEM(ctx, "--ca", t.CA)
	if err != nil {
		return secured{}, err
	}
	if t.CA != "" {
		if _, err := certs.Trust(ca); err != nil {
			return secured{}, cli.Usage("--ca %s: there is no certificate in it; want a PEM file, which has -----BEGIN CERTIFICATE-----", t.CA)
		}
	}
	cert, err := readPEM(ctx, "--cert", t.Cert)
	if err != nil {
		return secured{}, err
	}
	key, err := readPEM(ctx, "--key", t.Key)
	if err != nil {
		return secured{}, err
	}
	if err := checkPair(t, cert, key, now); err != nil {
		return secured{}, err
	}
	return secured{string(ca), &control.TLS{
		Certificate: string(cert), Key: string(key), ServerName: t.ServerName, Insecure: t.Insecure,
	}}, nil
}

// readSecure is readTLS for an experiment, whose plan is looked at several times.
func (a *app) readSecure(ctx context.Context, t plan.TLS) (secured, error) {
	if t == a.secure {
		return a.secured, nil
	}
	read, err := readTLS(ctx, t, a.now())
	if err == nil {
		a.secure, a.secured = t, read
	}
	return read, err
}

// checkPair tells what is wrong with a client certificate and its key.
func checkPair(t plan.TLS, cert, key []byte, now time.Time) error {
	if t.Cert == "" {
		return nil
	}
	block, _ := pem.Decode(cert)
	if block == nil || block.Type != "CERTIFICATE" {
		return cli.Usage("--cert %s: it does not begin with a certificate; want a PEM file, which has -----BEGIN CERTIFICATE-----", t.Cert)
	}
	if block, _ := pem.Decode(key); block == nil || block.Type == "CERTIFICATE" {
		return cli.Usage("--key %s: there is no key in it; want a PEM file, which has -----BEGIN PRIVATE KEY-----", t.Key)
	}
	if _, err := certs.Show(cert, key); err != nil {
		return cli.Usage("--cert %s and --key %s do not belong together, or the key is encrypted: %v", t.Cert, t.Key, err)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return cli.Usage("--cert %s: %v", t.Cert, err)
	}
	if now.After(leaf.NotAfter) {
		return cli.Usage("--cert %s ended on %s; want one that is valid", t.Cert, leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	return nil
}

// readPEM reads a file of bounded size; nil without a name.
func readPEM(ctx context.Context, flag, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	text, err := input.File(ctx, name, pemLimit)
	if err != nil {
		return nil, cli.Unread(flag, name, err)
	}
	return text, nil
}

// dialing adds what was read to what a client needs.
func (s secured) dialing(to *wirelab.Dialing) (err error) {
	if s.authority != "" {
		if to.Roots, err = certs.Trust([]byte(s.authority)); err != nil {
			return err
		}
	}
	if s.tls == nil {
		return nil
	}
	to.ServerName, to.Insecure = s.tls.ServerName, s.tls.Insecure
	to.Certificates, err = certs.Show([]byte(s.tls.Certificate), []byte(s.tls.Key))
	return err
}

// checkSecure refuses settings of TLS that no arm has a use for, and files that are not
// what they should be.
func (a *app) checkSecure(ctx context.Context, p plan.Plan, arms []wirelab.Cell) error {
	if !p.TLS.Given() {
		return nil
	}
	for i, cell := range arms {
		if p.Arms[i].Target != "" && cell.Protocol.Secure {
			_, err := a.readSecure(ctx, p.TLS)
			return err
		}
	}
	return cli.Usage("--ca, --cert, --key, --server-name and --insecure are for targets over TLS, and no arm with a target uses TLS; " +
		"see wirelab matrix for the protocols that do")
}

// untrusted adds to an error of TLS what to do about it, where an arm has a target. The error
// comes from another process, as text.
func untrusted(p plan.Plan, err error) error {
	if wirelab.CauseOfText(err.Error()) != wirelab.BadTLS || !slices.ContainsFunc(p.Arms, func(a plan.Arm) bool { return a.Target != "" }) {
		return err
	}
	return fmt.Errorf("%w; --ca names the authority of a target, --server-name a name in its certificate, "+
		"--cert and --key what to show; --insecure takes any certificate", err)
}
