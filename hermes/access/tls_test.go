package access_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wirelab/hermes/access"
	"wirelab/wire/status"
)

// notes is a log that a test reads.
type notes struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	news chan struct{}
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.news != nil {
		close(n.news)
		n.news = nil
	}
	return n.buf.Write(b)
}

func (n *notes) logger() *slog.Logger { return slog.New(slog.NewTextHandler(n, nil)) }

func (n *notes) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.String()
}

// wait waits until something was told.
func (n *notes) wait(t *testing.T, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		n.mu.Lock()
		if strings.Contains(n.buf.String(), what) {
			n.mu.Unlock()
			return
		}
		news := make(chan struct{})
		n.news = news
		n.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			t.Fatalf("the log lacks %q:\n%s", what, n.text())
		}
	}
}

// issuer signs certificates.
type issuer struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  string
}

func newIssuer(t *testing.T, name string) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{key, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// issue is a certificate for 127.0.0.1 and its key, in PEM.
func (i *issuer) issue(t *testing.T, name string) (cert, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, &own.PublicKey, i.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// files are a certificate, its key and an authority in files.
type files struct{ cert, key, ca string }

func newFiles(t *testing.T) files {
	dir := t.TempDir()
	return files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem")}
}

func (f files) write(t *testing.T, by *issuer, name string, trusted ...*issuer) {
	t.Helper()
	cert, key := by.issue(t, name)
	write(t, f.cert, cert)
	write(t, f.key, key)
	text := ""
	for _, i := range trusted {
		text += i.pem
	}
	write(t, f.ca, text)
}

func pool(issuers ...*issuer) *x509.CertPool {
	p := x509.NewCertPool()
	for _, i := range issuers {
		p.AddCert(i.cert)
	}
	return p
}

// pipe is a connection that holds written data, as net.Pipe does not: both ends of TLS may write at once.
func pipe() (a, b net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if b, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	a, err = l.Accept()
	return a, b, err
}

// shake makes both ends shake hands, and a byte go each way so that each knows that the
// other is content. It tells whom the client saw.
func shake(server, client *tls.Config) (name string, serverErr, clientErr error) {
	a, b, err := pipe()
	if err != nil {
		return "", err, err
	}
	var served sync.WaitGroup
	served.Go(func() {
		conn := tls.Server(a, server)
		defer func() { _ = a.Close() }()
		if serverErr = conn.Handshake(); serverErr == nil {
			_, serverErr = conn.Write([]byte("x"))
		}
	})
	conn := tls.Client(b, client)
	if _, clientErr = io.ReadFull(conn, make([]byte, 1)); clientErr == nil {
		name = conn.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	_ = b.Close()
	served.Wait()
	return name, serverErr, clientErr
}

func TestServerTLS(t *testing.T) {
	t.Parallel()
	home, f := newIssuer(t, "home"), newFiles(t)
	f.write(t, home, "first")
	var said notes
	c := &clock{at: time.Unix(1, 0)}
	server, err := access.ServerTLSAt(t.Context(), f.cert, f.key, "", said.logger(), c.now)
	if err != nil {
		t.Fatal(err)
	}
	client := &tls.Config{RootCAs: pool(home), ServerName: "127.0.0.1"}
	saw := func(what, want string) {
		t.Helper()
		if name, err, err2 := shake(server, client); name != want || err != nil || err2 != nil {
			t.Errorf("%s: the client saw %q, %v, %v; want %q", what, name, err, err2, want)
		}
	}
	saw("at first", "first")
	old := client.Clone()
	old.MaxVersion = tls.VersionTLS12
	if _, err, _ := shake(server, old); err == nil {
		t.Error("TLS 1.2 is spoken")
	}
	f.write(t, home, "second")
	saw("within a second", "first")
	c.pass(time.Second)
	saw("after it", "second")
	write(t, f.key, "no key")
	c.pass(time.Second)
	saw("with a key that is none", "second")
	c.pass(time.Second)
	saw("still", "second")
	if n := strings.Count(said.text(), "cannot be read again"); n != 1 {
		t.Errorf("it was told %d times:\n%s", n, said.text())
	}
	f.write(t, home, "third")
	c.pass(time.Second)
	saw("with all mended", "third")
	if err := os.Remove(f.cert); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.pass(time.Second)
		saw("without a file", "third")
	}
	if n := strings.Count(said.text(), "cannot be read again"); n != 2 {
		t.Errorf("it was told %d times; want once more:\n%s", n, said.text())
	}
}

func TestServerTLSOfClients(t *testing.T) {
	t.Parallel()
	home, clients, later, f := newIssuer(t, "home"), newIssuer(t, "clients"), newIssuer(t, "later"), newFiles(t)
	f.write(t, home, "door", clients)
	c := &clock{at: time.Unix(1, 0)}
	server, err := access.ServerTLSAt(t.Context(), f.cert, f.key, f.ca, nil, c.now)
	if err != nil {
		t.Fatal(err)
	}
	as := func(by *issuer) *tls.Config {
		client := &tls.Config{
			RootCAs: pool(home), ServerName: "127.0.0.1",
			ClientSessionCache: tls.NewLRUClientSessionCache(1),
		}
		if by != nil {
			cert, key := by.issue(t, "client")
			pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
			if err != nil {
				t.Fatal(err)
			}
			client.Certificates = []tls.Certificate{pair}
		}
		return client
	}
	known := as(clients)
	if _, err, err2 := shake(server, known); err != nil || err2 != nil {
		t.Error(err, err2)
	}
	for what, client := range map[string]*tls.Config{
		"no certificate": as(nil), "another's": as(later),
		"the door's own": as(home),
	} {
		if _, err, _ := shake(server, client); err == nil {
			t.Errorf("%s lets in", what)
		}
	}
	f.write(t, home, "door", later)
	c.pass(time.Second)
	if _, err, _ := shake(server, known); err == nil {
		t.Error("an authority that was taken away lets in")
	}
	if _, err, err2 := shake(server, as(later)); err != nil || err2 != nil {
		t.Error("a new authority:", err, err2)
	}
}

// Two nodes know each other, also after the authority was replaced by way of both; who is
// not of the authority is let in by neither, and dials neither.
func TestPeerTLS(t *testing.T) {
	t.Parallel()
	before, after, stranger := newIssuer(t, "before"), newIssuer(t, "after"), newIssuer(t, "stranger")
	c := &clock{at: time.Unix(1, 0)}
	node := func(f files) *tls.Config {
		t.Helper()
		config, err := access.PeerTLSAt(t.Context(), f.cert, f.key, f.ca, nil, c.now)
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	dialling := func(node *tls.Config) *tls.Config {
		config, err := node.GetConfigForClient(new(tls.ClientHelloInfo))
		if err != nil {
			t.Fatal(err)
		}
		config = config.Clone()
		config.ServerName = "127.0.0.1"
		return config
	}
	one, two, odd := newFiles(t), newFiles(t), newFiles(t)
	one.write(t, before, "one", before)
	two.write(t, before, "two", before)
	odd.write(t, stranger, "odd", stranger, before)
	a, b, s := node(one), node(two), node(odd)
	meet := func(what string) {
		t.Helper()
		for want, ends := range map[string][2]*tls.Config{"one": {a, b}, "two": {b, a}} {
			if name, err, err2 := shake(ends[0], dialling(ends[1])); name != want || err != nil || err2 != nil {
				t.Errorf("%s: %q, %v, %v; want %q", what, name, err, err2, want)
			}
		}
	}
	apart := func(what string) {
		t.Helper()
		if _, err, _ := shake(a, dialling(s)); err == nil {
			t.Errorf("%s: a stranger is let in", what)
		}
		if _, _, err := shake(s, dialling(a)); err == nil {
			t.Errorf("%s: a stranger is dialled", what)
		}
	}
	meet("at first")
	apart("at first")
	wrongName := dialling(b)
	wrongName.ServerName = "127.0.0.2"
	if _, _, err := shake(a, wrongName); err == nil {
		t.Error("the address in the certificate is not looked at")
	}
	one.write(t, before, "one", before, after)
	two.write(t, before, "two", before, after)
	c.pass(time.Second)
	meet("with both authorities")
	one.write(t, after, "one", before, after)
	c.pass(time.Second)
	meet("with one of each")
	one.write(t, after, "one", after)
	two.write(t, after, "two", after)
	c.pass(time.Second)
	meet("with the new one")
	apart("with the new one")
	two.write(t, before, "two", after)
	c.pass(time.Second)
	if _, err, _ := shake(a, dialling(b)); err == nil {
		t.Error("the authority that was taken away lets in")
	}
}

func TestWrongTLS(t *testing.T) {
	t.Parallel()
	home, f, other := newIssuer(t, "home"), newFiles(t), newFiles(t)
	f.write(t, home, "a", home)
	other.write(t, home, "b")
	write(t, other.ca, "no certificate")
	for what, try := range map[string]func() (*tls.Config, error){
		"no certificate": func() (*tls.Config, error) {
			return access.ServerTLS(t.Context(), "", f.key, "", nil)
		},
		"no key": func() (*tls.Config, error) {
			return access.ServerTLS(t.Context(), f.cert, "", "", nil)
		},
		"no file": func() (*tls.Config, error) {
			return access.ServerTLS(t.Context(), f.cert+"x", f.key, "", nil)
		},
		"another's key": func() (*tls.Config, error) {
			return access.ServerTLS(t.Context(), f.cert, other.key, "", nil)
		},
		"no authority file": func() (*tls.Config, error) {
			return access.ServerTLS(t.Context(), f.cert, f.key, f.ca+"x", nil)
		},
		"an authority that is none": func() (*tls.Config, error) {
			return access.ServerTLS(t.Context(), f.cert, f.key, other.ca, nil)
		},
		"nodes without an authority": func() (*tls.Config, error) {
			return access.PeerTLS(t.Context(), f.cert, f.key, "", nil)
		},
		"nodes whose authority is no file": func() (*tls.Config, error) {
			return access.PeerTLS(t.Context(), f.cert, f.key, f.ca+"x", nil)
		},
	} {
		_, err := try()
		refused(t, what, err, status.InvalidArgument)
	}
}

// A file that has become a FIFO, of which nothing comes, holds no handshake: what was read before is shown.
func TestAFileThatBecomesAPipe(t *testing.T) {
	t.Parallel()
	home, f, c := newIssuer(t, "home"), newFiles(t), &clock{at: time.Unix(1, 0)}
	f.write(t, home, "first")
	server, err := access.ServerTLSAt(t.Context(), f.cert, f.key, "", nil, c.now)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(f.cert), syscall.Mkfifo(f.cert, 0o600)); err != nil {
		t.Skip(err)
	}
	c.pass(time.Hour)
	client := &tls.Config{RootCAs: pool(home), ServerName: "127.0.0.1"}
	if name, err, err2 := shake(server, client); name != "first" || err != nil || err2 != nil {
		t.Errorf("the client saw %q, %v, %v", name, err, err2)
	}
}
