package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/cmd/internal/cli/clitest"
	"wirelab/internal/certs"
	"wirelab/internal/leaktest"
	"wirelab/internal/porttest"
)

// playHermes makes the test's program be hermes: a cluster starts itself again.
const playHermes = "HERMES_TEST_PLAY"

func TestMain(m *testing.M) {
	if os.Getenv(playHermes) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(leaktest.Patient(m))
}

// patience is how long anything here may take before it is taken to hang.
const patience = time.Minute

// tried runs hermes once.
func tried(t *testing.T, env map[string]string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	code = runBy(ctx, clitest.Still{}, args, strings.NewReader(stdin), &out, &errs, func(name string) string {
		return env[name]
	})
	return code, out.String(), errs.String()
}

// must is tried, of what has to go well; it returns standard output.
func must(t *testing.T, env map[string]string, stdin string, args ...string) string {
	t.Helper()
	code, out, errs := tried(t, env, stdin, args...)
	if code != exitOK {
		t.Fatalf("hermes %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// lasting is a hermes that runs until it is instructed to stop.
type lasting struct {
	nodes []running
	stop  context.CancelFunc
	ended chan int
	said  *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts one and reads what it says of n nodes.
func start(t *testing.T, n int, args ...string) *lasting {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r, w := io.Pipe()
	l := &lasting{stop: cancel, ended: make(chan int, 1), said: new(safeBuffer)}
	go func() {
		code := runBy(ctx, clitest.Still{}, append(args, "--json"), strings.NewReader(""), w, l.said,
			func(string) string {
				return ""
			})
		w.Close()
		l.ended <- code
	}()
	t.Cleanup(func() {
		if code := l.end(t); code != exitOK {
			t.Errorf("hermes %s: exit code %d: %s", strings.Join(args, " "), code, l.said)
		}
	})
	lines := json.NewDecoder(r)
	for range n {
		var one running
		if err := lines.Decode(&one); err != nil {
			t.Fatalf("hermes %s does not run: %v: %s", strings.Join(args, " "), err, l.said)
		}
		l.nodes = append(l.nodes, one)
	}
	return l
}

func (l *lasting) end(t *testing.T) int {
	t.Helper()
	l.stop()
	select {
	case code := <-l.ended:
		l.ended <- code
		return code
	case <-time.NewTimer(patience).C:
		t.Fatalf("hermes does not stop: %s", l.said)
		return 0
	}
}

// at is the environment of a client of these nodes.
func (l *lasting) at() map[string]string {
	var servers []string
	for _, n := range l.nodes {
		servers = append(servers, n.GRPC)
	}
	return map[string]string{serverVariable: strings.Join(servers, " ")}
}

var dev = []string{
	"dev", "--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--log-level", "error",
	"--free-bytes", "1MiB",
}

func TestPublishAndSubscribe(t *testing.T) {
	t.Parallel()
	at := start(t, 1, dev...).at()
	if out := must(t, at, "", "pub", "orders", "one", "two", "--create", "--key", "k", "--header",
		"kind=new"); out != "published 2 to orders, offsets 0 to 1\n" {
		t.Errorf("pub says %q", out)
	}
	must(t, at, "three\nfour\n", "pub", "orders")
	must(t, at, "raw\nraw\xff", "pub", "orders", "--raw", "--mode", "eventual")
	if out := must(t, at, "", "sub", "orders", "--from", "1", "--count", "3"); out != "two\nthree\nfour\n" {
		t.Errorf("sub says %q", out)
	}
	var shown deliveredShown
	if err := json.Unmarshal([]byte(must(t, at, "", "sub", "orders", "--from", "oldest", "--count", "1", "--json")),
		&shown); err != nil {
		t.Fatal(err)
	}
	if *shown.Payload != "one" || shown.Key != "k" || len(shown.Headers) != 1 ||
		shown.Headers[0] != (headerShown{"kind", "new"}) || shown.Time == 0 {
		t.Errorf("sub --json says %+v", shown)
	}
	out := must(t, at, "", "sub", "orders", "--from", "4", "--count", "1", "--json")
	if !strings.Contains(out, `"payload_base64":"cmF3CnJhd/8="`) {
		t.Errorf("of bytes that are no text sub --json says %s", out)
	}
	// Members of a group go on where the group was.
	for _, want := range []string{"one\n", "two\n"} {
		if out := must(t, at, "", "sub", "orders", "--group", "g", "--count", "1"); out != want {
			t.Errorf("the group's next is %q, not %q", out, want)
		}
	}
	if out := must(t, at, "", "group", "seek", "orders", "g", "--to", "oldest", "--json"); !strings.Contains(out,
		`"floor":0`) {
		t.Errorf("seek says %s", out)
	}
	if out := must(t, at, "", "sub", "orders", "--group", "g", "--count", "1"); out != "one\n" {
		t.Errorf("after the seek the group's next is %q", out)
	}
}

func TestTopicsAndGroups(t *testing.T) {
	t.Parallel()
	l := start(t, 1, dev...)
	at := l.at()
	for _, c := range []struct {
		args string
		says string
	}{
		{"topic create b --keep-age 1h --keep-bytes 1MiB", "1h0m0s, 1MiB"},
		{"topic create a", "all"},
		{"topic configure a --keep-bytes 2GiB --json", `"retention_bytes":2147483648`},
		{"topic list", "\na "},
		{"topic list b --json", `"name":"b"`},
		{"topic show a --linearizable", "2GiB"},
		{
			"group create a g --from tail --ack-timeout 5s --max-attempts 3 --json",
			`"ack_timeout":5000000000,"max_attempts":3`,
		},
		{"group list a", "g "},
		{"group show a g --json", `"lag":0`},
		{"group delete a g", ""},
		{"topic delete b", ""},
		{"status", "node 1 leads"},
		{"status --json", `"leader":1`},
	} {
		if out := must(t, at, "", strings.Fields(c.args)...); !strings.Contains(out, c.says) {
			t.Errorf("hermes %s says %q, without %q", c.args, out, c.says)
		}
	}
	// hb-D34: the address that was given is the one that is asked.
	code, _, errs := tried(t, at, "", "status", "--server", "127.0.0.1:1", "--timeout", "200ms")
	if code != exitFailed {
		t.Errorf("status of no one has exit code %d: %s", code, errs)
	}
	if code := l.end(t); code != exitOK {
		t.Errorf("a node that was stopped has exit code %d: %s", code, l.said)
	}
}

// A node whose disk is nearly full says so where its operator looks first.
func TestStatusTellsWhyNot(t *testing.T) {
	t.Parallel()
	at := start(t, 1, append(slices.Clone(dev), "--free-bytes", "4000000TiB")...).at()
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(must(t, at, "", "status"), "\nnode 1 is not ready: the disk is nearly full: ") {
		if time.Now().After(deadline) {
			t.Fatal("it does not say so")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if out := must(t, at, "", "status", "--json"); !strings.Contains(out, `"unready":"the disk is nearly full: `) {
		t.Errorf("status --json says %s", out)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	at := start(t, 1, dev...).at()
	empty := filepath.Join(t.TempDir(), "settings.yaml")
	write := func(text string) []string {
		name := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"server", "--config", name}
	}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"help":                    {nil, exitOK, ""},
		"unknown command":         {[]string{"stauts"}, exitUsage, "did you mean status?"},
		"unknown cluster command": {[]string{"cluster", "jion"}, exitUsage, "did you mean join?"},
		"unknown flag":            {[]string{"pub", "t", "--mod", "x"}, exitUsage, "hermes pub --help"},
		"no topic":                {[]string{"pub"}, exitUsage, "needs a topic"},
		"unknown mode":            {[]string{"pub", "t", "m", "--mode", "fast"}, exitUsage, "known: consistent"},
		"topic that is not there": {[]string{"pub", "nowhere", "m"}, exitUsage, "nowhere"},
		"name that is none":       {[]string{"topic", "create", ".x"}, exitUsage, "not beginning with a dot"},
		"header that is none":     {[]string{"pub", "t", "m", "--header", "x"}, exitUsage, "name=value"},
		"two beginnings": {
			[]string{"sub", "t", "--group", "g", "--from", "tail"},
			exitUsage,
			"hermes group seek",
		},
		"beginning that is none": {[]string{"sub", "t", "--from", "yesterday"}, exitUsage, "an offset or a time"},
		"node that is none":      {[]string{"cluster", "remove", "x"}, exitUsage, "no node is named \"x\""},
		"too many nodes":         {[]string{"cluster", "--nodes", "100"}, exitUsage, "1 to 9"},
		"no data":                {[]string{"server"}, exitUsage, "--data-dir"},
		"no such file":           {[]string{"server", "--config", empty}, exitUsage, "hermes config prints one"},
		"file that is none":      {write("a: [b"), exitUsage, "no YAML"},
		"unknown setting":        {write("data_dri: x"), exitUsage, "did you mean data_dir? hermes config lists all "},
		"setting that cannot be": {write("data_dir: x\nfree_bytes: many"), exitUsage, "free_bytes"},
		"member that is none": {
			[]string{"server", "--data-dir", "x", "--id", "1", "--member", "one"},
			exitUsage,
			"ID@PEER",
		},
		"member without id": {[]string{"server", "--data-dir", "x", "--member", "1@a:1"}, exitUsage, "--id"},
		"half a certificate": {[]string{
			"dev", "--tls-cert", "x", "--http-listen", "127.0.0.1:0", "--grpc-listen",
			"127.0.0.1:0",
		}, exitUsage, "both"},
		"address of all interfaces": {
			[]string{"dev", "--grpc-listen", ":0", "--http-listen", "127.0.0.1:0"},
			exitUsage,
			"--grpc-address",
		},
		"exit codes": {[]string{"help", "exit-codes"}, exitOK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := tried(t, at, "", c.args...)
			if code != c.code || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") > 1 {
				t.Errorf("exit code %d, not %d: %q, which should be one line with %q", code, c.code, errs, c.says)
			}
		})
	}
	// Interrupted before it was done.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := run(ctx, []string{"sub", "hermes.dlq", "--count", "1"}, nil, io.Discard, io.Discard,
		func(n string) string {
			return at[n]
		}); code != exitInterrupted {
		t.Errorf("an interrupted sub has exit code %d", code)
	}
}

// Ctrl-C is how a subscription without a count ends, and what it printed is acknowledged.
func TestSubscriptionEndsWithCtrlC(t *testing.T) {
	t.Parallel()
	at := start(t, 1, dev...).at()
	must(t, at, "", "pub", "orders", "one", "--create")
	ctx, interrupt := context.WithTimeout(t.Context(), patience)
	defer interrupt()
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"sub", "orders", "--group", "g"}, nil, w, io.Discard, func(n string) string {
			return at[n]
		})
		w.Close()
	}()
	line := make([]byte, 4)
	if _, err := io.ReadFull(r, line); err != nil || string(line) != "one\n" {
		t.Fatalf("sub says %q, %v", line, err)
	}
	must(t, at, "", "pub", "orders", "two")
	if _, err := io.ReadFull(r, line); err != nil || string(line) != "two\n" {
		t.Fatalf("sub says %q, %v", line, err)
	}
	interrupt()
	if code := <-ended; code != exitOK {
		t.Errorf("a subscription that was ended has exit code %d", code)
	}
	if out := must(t, at, "", "group", "show", "orders", "g", "--json"); !strings.Contains(out, `"floor":1`) &&
		!strings.Contains(out, `"floor":2`) {
		t.Errorf("what was printed is not acknowledged: %s", out)
	}
}

// hb-D25: that every caller may do everything is said where others than this machine can.
func TestOpenAddressesAreTold(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]int{"0.0.0.0": 1, "10.0.0.1": 1, "::": 1, "127.0.0.1": 0, "::1": 0} {
		var said bytes.Buffer
		warnOpen(slog.New(slog.NewTextHandler(&said, nil)), listening{ip: net.ParseIP(address)}, "clients",
			"--tls-cert")
		if got := strings.Count(said.String(), "--tls-cert"); got != want {
			t.Errorf("of %s it says %q", address, &said)
		}
	}
}

// listening is a listener at an address.
type listening struct {
	net.Listener
	ip net.IP
}

func (l listening) Addr() net.Addr { return &net.TCPAddr{IP: l.ip, Port: 1} }

// All APIs of a node stand before one broker.
func TestAPIs(t *testing.T) {
	t.Parallel()
	l := start(t, 1, dev...)
	must(t, l.at(), "", "pub", "orders", "one", "--create")
	base := "http://" + l.nodes[0].HTTP
	for _, c := range []struct{ path, body, says string }{
		{"/graphql", `{"query":"{ topics { name next } }"}`, `"orders"`},
		{"/query", `{"query":"{ health }"}`, `"health"`},
		{"/publish", `{"topic":"orders","payload":"two"}`, `true`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || reply.StatusCode != http.StatusOK || !strings.Contains(string(body), c.says) {
			t.Errorf("%s answers %s %s, %v; without %s", c.path, reply.Status, body, err, c.says)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if out := must(t, l.at(), "", "sub", "orders", "--from", "1", "--count", "1"); out != "two\n" {
		t.Errorf("what came through HTTP is %q over gRPC", out)
	}
}

// Three processes, on ports of our choice; the leader is killed, and what was acknowledged is there.
func TestClusterOutlivesItsLeader(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Setenv(playHermes, "yes")
	var ports [6]string // held: no other program gets one of them, and ours do
	for i := range ports {
		ports[i] = strings.TrimPrefix(porttest.Held(t), "127.0.0.1:")
	}
	l := start(t, 3, "cluster", "--nodes", "3", "--log-level", "error",
		"--grpc-ports", strings.Join(ports[:3], ","), "--http-ports", strings.Join(ports[3:], ","))
	for i, n := range l.nodes {
		if n.GRPC != "127.0.0.1:"+ports[i] || n.HTTP != "127.0.0.1:"+ports[3+i] {
			t.Errorf("node %d is at %s and %s, and was put at ports %s and %s", i+1, n.GRPC, n.HTTP, ports[i],
				ports[3+i])
		}
	}
	at := l.at()
	must(t, at, "", "pub", "orders", "one", "two", "--create")
	must(t, at, "", "cluster", "transfer", "2")
	var s statusShown
	if err := json.Unmarshal([]byte(must(t, at, "", "status", "--json")), &s); err != nil || s.Leader != 2 ||
		len(s.Members) != 3 {
		t.Fatalf("status says %+v, %v", s, err)
	}
	victim, err := os.FindProcess(l.nodes[1].PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	if out := must(t, at, "", "pub", "orders", "three"); out != "published 1 to orders, offsets 2 to 2\n" {
		t.Errorf("pub after the leader's death says %q", out)
	}
	// The one of the two others that answers knows that the third does not.
	for _, n := range []int{0, 2} {
		from := map[string]string{serverVariable: l.nodes[n].GRPC}
		out := must(t, from, "", "status")
		if !strings.Contains(out, "2 of 3 nodes reached") || !strings.Contains(out, "follower, unreachable") {
			t.Errorf("node %d says after node 2 died: %s", n+1, out)
		}
	}
	if out := must(t, at, "", "sub", "orders", "--from", "oldest", "--count", "3"); out != "one\ntwo\nthree\n" {
		t.Errorf("sub after the leader's death says %q", out)
	}
	const told = "node 2 ended: it was killed (signal 9); 2 of 3 run; start it again with: "
	for deadline := time.Now().Add(patience); !strings.Contains(l.said.String(), told); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("of the death cluster says %q", l.said)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, root, err := certs.Issue()
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	var chain []byte
	for _, der := range certificate.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	cert := file("cert.pem", chain)
	secret := file("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	ca := file("ca.pem", root)
	at := start(t, 1, append(dev, "--tls-cert", cert, "--tls-key", secret)...).at()
	must(t, at, "", "pub", "orders", "one", "--create", "--tls-ca", ca)
	if code, _, errs := tried(t, at, "", "status", "--timeout", "300ms"); code != exitFailed {
		t.Errorf("in the clear status has exit code %d: %s", code, errs)
	}
	if code, _, errs := tried(t, at, "", "status", "--tls", "--timeout", "300ms"); code != exitFailed {
		t.Errorf("with an authority that did not sign status has exit code %d: %s", code, errs)
	}
}
