package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/certs"
	"wirelab/lab/call"
	"wirelab/lab/plan"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/trust"
	"wirelab/results/report"
)

// pair writes a client certificate and its key.
func pair(t *testing.T) (cert, key string) {
	t.Helper()
	made, _, err := certs.Issue("client.example")
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert = fileOf(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]}))
	return cert, fileOf(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func fileOf(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every client over TLS shows the certificate that it was given, and asks for the name.
func TestClientsShowTheirCertificate(t *testing.T) {
	t.Parallel()
	server, ca, err := certs.Issue("api.example")
	if err != nil {
		t.Fatal(err)
	}
	cert, key := pair(t)
	secure, err := trust.Read(t.Context(),
		plan.TLS{CA: fileOf(t, "ca.pem", ca), Cert: cert, Key: key, ServerName: "api.example"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a := newApp(cli.Terminal{}, nil, nil)
	seen := 0
	for _, cell := range a.Catalog[indexOf(t, a, "routeguide")].Cells {
		if !cell.Protocol.Secure || cell.Protocol.Network == "udp" {
			continue
		}
		for _, raw := range []bool{false, true} {
			if raw && cell.DialRaw == nil {
				continue
			}
			seen++
			shown := make(chan tls.ConnectionState, 64)
			at := rude(t, func(c net.Conn) {
				conn := tls.Server(c, &tls.Config{
					Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAnyClientCert,
					NextProtos: []string{"h2", "http/1.1"},
				})
				if conn.Handshake() == nil {
					shown <- conn.ConnectionState()
				}
			})
			to := wirelab.Dialing{Address: at}
			if err := secure.Give(&to); err != nil {
				t.Fatal(err)
			}
			callIn(t, cell, to, raw)
			select {
			case state := <-shown:
				if state.ServerName != "api.example" || len(state.PeerCertificates) != 1 {
					t.Errorf("%s, raw %v: name %q, %d certificates", cell.Protocol.Name, raw, state.ServerName,
						len(state.PeerCertificates))
				}
			case <-time.After(20 * time.Second):
				t.Errorf("%s (%s), raw %v: no handshake succeeded", cell.Protocol.Name, cell.Client, raw)
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d clients over TLS were tried", seen)
	}
}

// callIn makes one call that fails after the handshake.
func callIn(t *testing.T, cell wirelab.Cell, to wirelab.Dialing, raw bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if !raw {
		_, _, _ = call.Make(ctx, cell, to, "GetFeature", []byte(`{"latitude": 409146138, "longitude": -746188906}`))
		return
	}
	if lines, err := cell.DialRaw(ctx, to, 1, "GetFeature", "", 1); err == nil {
		_ = lines.Close()
	}
}

func indexOf(t *testing.T, a *app, workload string) int {
	t.Helper()
	for i, w := range a.Catalog {
		if w.Name == workload {
			return i
		}
	}
	t.Fatalf("no workload %s", workload)
	return -1
}

// Insecure takes a certificate of an unknown authority; a name takes only its own.
func TestCallOverTLSWithoutItsAuthority(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, protocol := range []string{"grpc-tls", "http2-proto", "http3-proto"} {
		address, ca := serve(t, "routeguide", protocol)
		base := []string{"call", "routeguide.GetFeature", "--protocol", protocol, "--target", address}
		s.run(append(base, "--insecure")...).wants(t, desk.ExitOK, []string{"name"}, nil)
		s.run(append(base, "--ca", ca, "--server-name", "localhost")...).wants(t, desk.ExitOK, []string{"name"}, nil)
		s.run(append(base, "--ca", ca, "--server-name", "elsewhere.example", "--timeout", "2s")...).
			wants(t, desk.ExitFailed, nil, []string{"--server-name"})
	}
}

// Files that are not what they should be are refused by name before anything runs, by every
// command that takes a target.
func TestWrongFilesOfTLS(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	cert, key := pair(t)
	_, other := pair(t)
	text := fileOf(t, "text", []byte("no PEM at all"))
	commands := [][]string{
		{"call", "routeguide.GetFeature", "--protocol", "grpc-tls", "--target", "127.0.0.1:1"},
		{"compare", "grpc-tls,target=127.0.0.1:1", "-w", "routeguide.GetFeature"},
		{"curve", "grpc-tls,target=127.0.0.1:1", "-w", "routeguide.GetFeature", "--rates", "10,20,30"},
		{"capacity", "grpc-tls,target=127.0.0.1:1", "-w", "routeguide.GetFeature", "--slo", "p99<10ms"},
	}
	for _, c := range []struct {
		flags []string
		says  string
	}{
		{[]string{"--ca", "/nowhere/ca.pem"}, "/nowhere/ca.pem"},
		{[]string{"--ca", text}, "BEGIN CERTIFICATE"},
		{[]string{"--ca", "/dev/zero"}, "--ca /dev/zero: it is not text"},
		{[]string{"--cert", cert}, "both cert and key"},
		{[]string{"--cert", cert, "--key", other}, "do not belong together"},
		{[]string{"--cert", key, "--key", key}, "it does not begin with a certificate"},
		{[]string{"--cert", cert, "--key", cert}, "it contains no key"},
		{[]string{"--insecure", "--ca", text}, "leave one of them out"},
		{[]string{"--server-name", "a b"}, "name of a host"},
	} {
		for _, command := range commands {
			s.run(append(append([]string{}, command...), c.flags...)...).wants(t, desk.ExitUsage, nil, []string{c.says})
		}
	}
	s.run("compare", "grpc-tls", "-w", "routeguide.GetFeature", "--insecure").wants(t, desk.ExitUsage, nil,
		[]string{"no arm has one"})
	s.run("compare", "grpc,target=127.0.0.1:1", "-w", "routeguide.GetFeature", "--insecure").wants(t, desk.ExitUsage,
		nil, []string{"no arm with a target uses TLS"})
	late := time.Now().Add(400 * 24 * time.Hour)
	if _, err := trust.Read(t.Context(), plan.TLS{Cert: cert, Key: key}, late); err == nil ||
		!strings.Contains(err.Error(), "expired on") {
		t.Errorf("a certificate that has ended: %v", err)
	}
}

// A report says that the server's identity was not checked.
func TestInsecureIsInTheReport(t *testing.T) {
	t.Parallel()
	r := resulttest.Two()
	says := func() bool {
		a := analyse.Result(r)
		inFull, inShort := false, false
		for _, f := range report.Facts(r, &a) {
			inFull = inFull || strings.Contains(f.Text, "--insecure")
		}
		for _, line := range report.Summarise(r, &a, nil).Trust {
			inShort = inShort || strings.Contains(line, "--insecure")
		}
		return inFull && inShort
	}
	if says() {
		t.Error("it was not asked for")
	}
	r.Plan.TLS.Insecure = true
	if !says() {
		t.Error("the reports do not say it")
	}
}

// A target over TLS is measured by the driver's process as by a call: with its authority, and
// without it only where that was asked for.
func TestMeasureTargetOverTLS(t *testing.T) {
	t.Parallel()
	address, ca := serve(t, "routeguide", "grpc-tls")
	for _, flags := range [][]string{{"--insecure"}, {"--ca", ca}, {"--server-name", "localhost"}} {
		dir, target := t.TempDir(), address
		if flags[0] == "--insecure" {
			target = strings.Replace(address, "127.0.0.1", "localhost", 1)
		}
		p := begin(t, dir, append([]string{
			"compare", "grpc-tls,target=" + target, "-w", "routeguide.GetFeature",
			"--rounds", "1", "--max-rounds", "1", "--slices", "1", "--primary", "client-cpu", "--deadline", "2s",
			"--full",
		}, flags...)...)
		code := p.end()
		out := p.stdout.String()
		switch trusted := flags[0] != "--server-name"; {
		case trusted && (code != desk.ExitOK || strings.Contains(out, "--insecure)") != (flags[0] == "--insecure")):
			t.Errorf("%s: exit code %d: %s%s", flags, code, out, p.said.String())
		case !trusted && (code != desk.ExitFailed || !strings.Contains(p.said.String(), "--ca gives the authority")):
			t.Errorf("%s: exit code %d: %s", flags, code, p.said.String())
		}
		if said := strings.Join(strings.Fields(out), " "); target != address &&
			!strings.Contains(said, target+" (connected to "+address+")") {
			t.Errorf("it is not said which address %s led to: %s", target, out)
		}
	}
}

// A target that speaks TLS 1.2 at most is called and measured, and the version is said.
func TestMeasureTargetOverTLS12(t *testing.T) {
	t.Parallel()
	plain, _ := serve(t, "routeguide", "grpc")
	certificate, ca, err := certs.Issue("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{certificate}, MaxVersion: tls.VersionTLS12,
		NextProtos: []string{"h2"},
	}
	address := rude(t, func(c net.Conn) { handOn(tls.Server(c, config), plain) })
	trust := fileOf(t, "ca.pem", ca)
	newShell(t).run("call", "routeguide.GetFeature", "--protocol", "grpc-tls", "--target", address, "--ca", trust,
		"--json").
		wants(t, desk.ExitOK, []string{`"tls": "TLS 1.2"`}, nil)
	p := begin(t, t.TempDir(), "compare", "grpc-tls,target="+address, "grpc-tls", "-w", "routeguide.GetFeature", "--ca",
		trust,
		"--rounds", "1", "--max-rounds", "1", "--slices", "1", "--primary", "client-cpu", "--deadline", "2s", "--full")
	if code := p.end(); code == desk.ExitFailed || !strings.Contains(p.stdout.String(), "1.2 with grpc-tls") {
		t.Errorf("exit code %d: %s%s", code, p.stdout.String(), p.said.String())
	}
}

// handOn hands what a connection says to an address, and back what that says.
func handOn(from net.Conn, address string) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(from, to)
		_ = from.Close()
	})
	_, _ = io.Copy(to, from)
	_ = to.Close()
	back.Wait()
}
