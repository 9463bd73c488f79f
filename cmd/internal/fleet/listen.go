package fleet

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/certs"
	"wirelab/internal/fault"
	"wirelab/internal/process"
	"wirelab/lab/hosts"

	"wirelab/system/nats"
)

// listen runs NATS for hosts and runners until ctx ends. The file of the key is made if there is none. Beyond loopback
// it has TLS, and writes the authority that hosts and runners must trust.
func (f *access) listen(ctx context.Context, d *desk.Desk, address string) error {
	host, number, err := net.SplitHostPort(address)
	if err != nil {
		return cli.Usage("--listen %s: want HOST:PORT", address)
	}
	port, err := strconv.Atoi(number)
	if err != nil {
		return cli.Usage("--listen %s: want HOST:PORT", address)
	}
	o := nats.Options{Host: host, Port: port}
	if f.key == "" {
		return cli.Usage("--listen: give --key FILE, which is made if there is none; hosts and experiments need it too")
	}
	if o.Password, err = f.sharedKey(ctx, d); err != nil {
		return err
	}
	scheme := "nats"
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		if f.authority == "" {
			return cli.Usage("--listen %s: beyond this machine give --ca FILE too, for the authority to trust", address)
		}
		scheme = "tls"
		if err := f.certify(&o, host); err != nil {
			return err
		}
	}
	installed, err := nats.Find(ctx, d.Getenv)
	if err != nil {
		return err
	}
	server, err := nats.Start(ctx, process.Command{Path: installed.Program}, o)
	if err != nil {
		return err
	}
	url := scheme + "://" + server.Address()
	with := "--key " + f.key
	if scheme == "tls" {
		with += " --ca " + f.authority
	}
	d.Note("hosts join at %s with %s; stop with Ctrl-C", url, with)
	d.Idle(ctx, "stopping NATS")
	<-ctx.Done()
	return server.Stop(context.WithoutCancel(ctx))
}

// sharedKey reads the key, or makes one that only this user can read.
func (f *access) sharedKey(ctx context.Context, d *desk.Desk) (string, error) {
	if _, err := os.Stat(f.key); errors.Is(err, fs.ErrNotExist) {
		var random [16]byte
		_, _ = rand.Read(random[:]) // it never fails
		text := []byte(hex.EncodeToString(random[:]))
		if err := os.WriteFile(f.key, append(text, '\n'), 0o600); err != nil {
			return "", fault.Write(f.key, err)
		}
		d.Note("made the key %s: copy it to every host", f.key)
	}
	text, err := d.ReadFile(ctx, "--key", f.key, keyLimit)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	user, password, named := strings.Cut(key, ":")
	switch {
	case !named:
		password = key
	case user != hosts.User:
		return "", cli.Usage("--key %s: want a password, or %s:PASSWORD", f.key, hosts.User)
	}
	if len(password) < keyLeast {
		return "", cli.Usage("--key %s: want a password of %d letters or more", f.key, keyLeast)
	}
	return password, nil
}

// keyLeast is the fewest letters of a password: who has it can start programs on every host.
const keyLeast = 16

// certify gives the server a certificate of this run, and writes its authority.
func (f *access) certify(o *nats.Options, host string) error {
	certificate, authority, err := certs.Issue(host)
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return fmt.Errorf("the key of NATS's certificate: %w", err)
	}
	for _, der := range certificate.Certificate {
		o.Certificate += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	o.Key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	if err := os.WriteFile(f.authority, authority, 0o644); err != nil {
		return fault.Write(f.authority, err)
	}
	return nil
}
