package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer"
	"wirelab/internal/certs"
	"wirelab/wire/status"
)

// written is a file of the test's.
func written(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// newToken makes a token as a user does.
func newToken(t *testing.T) (token, hash string) {
	t.Helper()
	var made struct{ Token, Hash string }
	if err := json.Unmarshal([]byte(must(t, nil, "", "token", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	return made.Token, made.Hash
}

// Who shows a token may do what the policy says; the program's own tools show theirs, and
// none of it is logged.
func TestPolicy(t *testing.T) {
	t.Parallel()
	admin, adminHash := newToken(t)
	reader, readerHash := newToken(t)
	policy := written(t, "policy.yaml", "principals:\n  - name: admin\n    tokens: ["+adminHash+"]\n    publish: "+
		"[\"*\"]\n    admin: [\"*\"]\n    cluster: true\n"+
		"  - name: reader\n    tokens: ["+readerHash+"]\n    subscribe: [orders]\n")
	l := start(t, 1, append(dev, "--policy", policy, "--log-level", "debug")...)
	as := func(token string) map[string]string {
		env := l.at()
		maps.Copy(env, map[string]string{tokenVariable: token})
		return env
	}
	must(t, as(admin), "", "pub", "orders", "one", "--create")
	must(t, as(admin), "", "pub", "secrets", "two", "--create")
	file := written(t, "token", reader+"\n")
	if out := must(t, l.at(), "", "sub", "orders", "--from", "oldest", "--count", "1", "--token-file",
		file); out != "one\n" {
		t.Errorf("sub says %q", out)
	}
	if out := must(t, as(reader), "", "topic", "list"); !strings.Contains(out, "orders") ||
		strings.Contains(out, "secrets") {
		t.Errorf("the reader's topics are %q", out)
	}
	for what, args := range map[string][]string{
		"publishing":              {"pub", "orders", "x"},
		"another topic":           {"sub", "secrets", "--from", "oldest", "--count", "1"},
		"one that is not there":   {"sub", "nothing", "--from", "oldest", "--count", "1"},
		"changing who takes part": {"cluster", "transfer", "1"},
	} {
		if code, _, errs := tried(t, as(reader), "", append(args, "--timeout", "1m")...); code == exitOK ||
			!strings.Contains(errs, "no right") {
			t.Errorf("%s: exit code %d: %s", what, code, errs)
		}
	}
	for what, env := range map[string]map[string]string{"no token": l.at(), "another token": as(admin[:40])} {
		if code, _, errs := tried(t, env, "", "topic", "list", "--timeout", "1m"); code == exitOK ||
			!strings.Contains(errs,
				"token") || strings.Contains(errs, admin[:40]) {
			t.Errorf("%s: exit code %d: %s", what, code, errs)
		}
	}
	for path, want := range map[string]int{
		"/v1/health/ready": http.StatusOK, "/v1/topics": http.StatusUnauthorized,
		"/graphql": http.StatusUnauthorized,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.nodes[0].HTTP+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if reply.StatusCode != want {
			t.Errorf("%s answers %s", path, reply.Status)
		}
	}
	for token, sees := range map[string]bool{reader: false, admin: true} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.nodes[0].HTTP+"/metrics",
			nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || !strings.Contains(string(text), `{topic="orders"}`) || !strings.Contains(string(text),
			"go_goroutines") ||
			strings.Contains(string(text), `{topic="secrets"}`) != sees {
			t.Errorf("the metrics show the secret topic, or lack the public part: %v %v", sees, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	l.end(t)
	for _, token := range []string{admin, reader} {
		if strings.Contains(l.said.String(), token) {
			t.Errorf("the log shows a token:\n%s", l.said)
		}
	}
}

// issued are files of a certificate, its key, and the authority.
func issued(t *testing.T) (cert, secret, ca string) {
	t.Helper()
	certificate, root, err := certs.Issue()
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert = written(t, "cert.pem",
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})))
	secret = written(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	ca = written(t, "ca.pem", string(root))
	return cert, secret, ca
}

// Beyond this machine a node serves only whom it knows, unless it is instructed to. (hb-D25)
func TestBeyondThisMachine(t *testing.T) {
	t.Parallel()
	cert, secret, ca := issued(t)
	token, hash := newToken(t)
	policy := written(t, "policy.yaml", "principals:\n  - name: a\n    tokens: ["+hash+"]\n    publish: [\"*\"]\n    "+
		"admin: [\"*\"]\n")
	open := func(listener string) []string {
		args := append([]string{}, dev...)
		return append(args, "--"+listener+"-listen", "0.0.0.0:0", "--"+listener+"-address", "127.0.0.1:1")
	}
	files := []string{"--tls-cert", cert, "--tls-key", secret}
	for what, c := range map[string]struct {
		args []string
		says string
	}{
		"gRPC in the clear":    {open("grpc"), "--insecure"},
		"HTTP in the clear":    {open("http"), "--tls-cert"},
		"nodes in the clear":   {open("peer"), "--peer-tls-cert"},
		"TLS without a policy": {append(open("grpc"), files...), "--policy"},
		"a policy without TLS": {append(open("http"), "--policy", policy), "--tls-cert"},
		"TLS of the APIs alone": {
			append(open("peer"), append(files, "--policy", policy)...),
			"--peer-tls-cert",
		},
		"a policy and a word": {append(append([]string{}, dev...), "--policy", policy, "--http-token",
			"x"), "--http-token"},
		"a policy, and nodes that prove nothing": {append(append([]string{}, dev...), "--policy", policy,
			"--peer-listen",
			"127.0.0.1:0"), "--peer-key-file"},
		"a short key": {append(append([]string{}, dev...), "--peer-key-file",
			written(t, "short.key", "short")), "at least 16"},
		"a policy that is none":    {append(append([]string{}, dev...), "--policy", cert), "policy"},
		"a policy that is missing": {append(append([]string{}, dev...), "--policy", cert+"x"), "no policy"},
	} {
		if code, _, errs := tried(t, nil, "", c.args...); code != exitUsage || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d: %s", what, code, errs)
		}
	}
	start(t, 1, append(open("grpc"), "--insecure")...)
	secured := append(open("grpc"), files...)
	secured = append(secured, "--policy", policy, "--peer-tls-cert", cert, "--peer-tls-key", secret,
		"--peer-tls-ca", ca)
	l := start(t, 1, secured...)
	at := strings.Replace(l.nodes[0].GRPC, "[::]", "127.0.0.1", 1)
	at = strings.Replace(at, "0.0.0.0", "127.0.0.1", 1)
	must(t, map[string]string{serverVariable: at, tokenVariable: token}, "", "pub", "orders", "one", "--create",
		"--tls-ca", ca)
	roots, err := authorities(t.Context(), "a test", ca)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: true,
	}}
	defer browser.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.nodes[0].HTTP+"/v1/topics",
		nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	reply, err := browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK || reply.ProtoMajor != 2 || reply.TLS.Version != tls.VersionTLS13 {
		t.Errorf("HTTP over TLS answers %s by %s, TLS %x", reply.Status, reply.Proto, reply.TLS.Version)
	}
}

// A node that asks no other node for a token answers to its own names alone.
func TestNamesOfANode(t *testing.T) {
	node := start(t, 1, append(slices.Clone(dev), "--http-address", "Broker.Example:80")...).nodes[0]
	for host, want := range map[string]int{
		"evil.example": 421, "broker.example:80": 200, "localhost": 200,
		node.HTTP: 200,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+node.HTTP+"/v1/topics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Body.Close()
		if w.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, w.StatusCode, want)
		}
	}
}

// With a policy nodes ask each other for the key of the cluster, on this machine too: who has none gets nothing at the
// port for nodes, and who has it joins. A node alone has no such port.
func TestPeersProveTheKey(t *testing.T) {
	t.Parallel()
	token, hash := newToken(t)
	policy := written(t, "policy.yaml", "principals:\n  - name: a\n    tokens: ["+hash+"]\n    publish: [\"*\"]\n    "+
		"subscribe: [\"*\"]\n"+
		"    admin: [\"*\"]\n    cluster: true\n")
	key := written(t, "peer.key", "the secret of this cluster\n")
	dir := t.TempDir()
	server := func(id string, more ...string) []string {
		return append([]string{
			"server", "--id", id, "--data-dir", filepath.Join(dir, id), "--policy", policy,
			"--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
		}, more...)
	}
	alone := start(t, 1, server("1")...)
	if at := alone.nodes[0].Peer; at != "" {
		t.Errorf("a node alone listens for others at %s", at)
	}
	alone.end(t)
	first := start(t, 1, server("1", "--peer-listen", "127.0.0.1:0", "--peer-key-file", key)...)
	at := first.nodes[0].Peer
	logger := slog.New(slog.DiscardHandler)
	for what, secret := range map[string][]byte{"no key": nil, "another key": []byte("the secret of another cluster")} {
		o := peer.Options{Cluster: "hermes", ID: 7, Key: secret, Logger: logger}
		err := peer.Ask(t.Context(), o, at, func(b broker.Broker) error {
			topics, err := b.ListTopics(t.Context(), "", "", 10)
			return fmt.Errorf("it lists %d topics: %v", len(topics), err)
		})
		if status.CodeOf(err) != status.Unauthenticated && !strings.Contains(err.Error(), "prove") {
			t.Errorf("%s: %v", what, err)
		}
	}
	env := first.at()
	env[tokenVariable] = token
	second := start(t, 1, server("2", "--join", at, "--peer-listen", "127.0.0.1:0", "--peer-key-file", key)...)
	for {
		if out := must(t, env, "", "status"); strings.Contains(out, "2 of 2 nodes reached") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	must(t, env, "", "pub", "orders", "one", "--create")
	second.end(t)
	first.end(t)
	for id, want := range map[uint64]bool{1: false, 2: false, 3: true} { // the third has no directory yet
		c := config{id: id, dataDir: filepath.Join(dir, strconv.FormatUint(id, 10))}
		if alone := c.alone(); alone != want {
			t.Errorf("node %d is taken for alone: %v", id, alone)
		}
	}
}

// A token for HTTP alone leaves gRPC open, and the node says so.
func TestHTTPTokenAlone(t *testing.T) {
	t.Parallel()
	l := start(t, 1, append(append([]string{}, dev...), "--http-token", "a word", "--log-level", "warn")...)
	l.end(t)
	if !strings.Contains(l.said.String(), "gRPC callers need none") {
		t.Errorf("nothing says that gRPC is open:\n%s", l.said)
	}
}

// Strangers at the port for nodes do not fill the log: some lines, and then how many more there were.
func TestStrangersDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	key := written(t, "peer.key", "the secret of this cluster\n")
	l := start(t, 1, "server", "--data-dir", filepath.Join(t.TempDir(), "n"), "--peer-listen", "127.0.0.1:0",
		"--peer-key-file", key,
		"--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0")
	const strangers = 500
	for range strangers {
		conn, err := net.Dial("tcp", l.nodes[0].Peer)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(make([]byte, 14)); err != nil { // no frame that there is
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, conn) // until the node has had enough
		conn.Close()
	}
	l.end(t)
	lines, sum := 0, 0
	for line := range strings.Lines(l.said.String()) {
		if !strings.Contains(line, "one who dialled was refused") {
			continue
		}
		lines++
		sum++
		if _, more, ok := strings.Cut(line, "more_like_this="); ok {
			n, err := strconv.Atoi(strings.Fields(more)[0])
			if err != nil {
				t.Fatal(err)
			}
			sum += n - 1
		}
	}
	if lines > strangers/10 || sum != strangers {
		t.Errorf("%d lines report %d of %d strangers", lines, sum, strangers)
	}
}
