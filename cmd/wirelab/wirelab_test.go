package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/certs"
	"wirelab/lab/plan"
	"wirelab/results/store"
	"wirelab/results/store/storetest"
	"wirelab/workload/catalog"
)

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		fakeTool(os.Args[1], os.Args[2], os.Args[3], os.Stdout)
		os.Exit(0)
	}
	if os.Getenv(asWrk) != "" {
		fakeWrk(os.Args[1:], os.Stdout)
		os.Exit(0)
	}
	if os.Getenv(asProgram) != "" {
		main() // and does not return
	}
	// What a command starts that a test runs in this process is the program too, and not all tests again.
	if err := os.Setenv(asProgram, "1"); err != nil {
		panic(err)
	}
	waitTogether()
	goleak.VerifyTestMain(m, goleak.Cleanup(leaveNothing))
}

// waitTogether has twice as many tests run at once as there are cores, where the
// command line does not say how many: most of them wait for other processes.
func waitTogether() {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))) // a flag of package testing
	}
}

// outcome is what a command did.
type outcome struct {
	code           int
	stdout, stderr string
}

// shell runs commands that share a store and nothing else.
type shell struct {
	t   *testing.T
	env map[string]string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	return &shell{t, map[string]string{"WIRELAB_STORE": filepath.Join(t.TempDir(), "results.db")}}
}

// set puts a setting, NAME=VALUE, into the environment.
func (s *shell) set(setting string) {
	name, value, _ := strings.Cut(setting, "=")
	s.env[name] = value
}

func (s *shell) run(args ...string) outcome { return s.runWith(s.t.Context(), "", args...) }

func (s *shell) runWith(ctx context.Context, stdin string, args ...string) outcome {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	code := runBy(ctx, clitest.Still{}, args, strings.NewReader(stdin), &stdout, &stderr,
		func(key string) string { return s.env[key] })
	return outcome{code, stdout.String(), stderr.String()}
}

// wants checks an outcome: its exit code, parts of standard output and of
// standard error.
func (o outcome) wants(t *testing.T, code int, stdout, stderr []string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", o.code, code, o.stdout, o.stderr)
	}
	for _, part := range stdout {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("standard output lacks %q:\n%s", part, o.stdout)
		}
	}
	for _, part := range stderr {
		if !strings.Contains(o.stderr, part) {
			t.Errorf("standard error lacks %q:\n%s", part, o.stderr)
		}
	}
	if code != desk.ExitOK && len(stderr) > 0 && !strings.HasPrefix(o.stderr, "wirelab: ") {
		t.Errorf("error %q is not of wirelab", o.stderr)
	}
}

// serve serves the usual cell of a protocol until the test ends. It returns
// its address and, for a secure one, the file of its authority.
func serve(t *testing.T, workload, protocol string) (address, ca string) {
	t.Helper()
	a := newApp(cli.Terminal{}, nil, nil)
	cell, err := a.Cell(workload, protocol, "", "")
	if err != nil {
		t.Fatal(err)
	}
	certificate, pem, err := certs.Issue()
	if err != nil {
		t.Fatal(err)
	}
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	var at wirelab.Endpoint
	if cell.Protocol.Secure {
		at.Certificate = &certificate
	}
	if cell.Protocol.Network == "udp" {
		at.Packets, err = net.ListenPacket("udp", "127.0.0.1:0")
	} else {
		at.Listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	if at.Packets != nil {
		address = at.Packets.LocalAddr().String()
	} else {
		address = at.Listener.Addr().String()
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cell.Serve(ctx, at) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve %s: %v", protocol, err)
		}
	})
	return address, ca
}

func TestMistakesAreAnsweredWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	missing := filepath.Join(t.TempDir(), "missing")
	for name, c := range map[string]struct {
		args string
		say  []string
	}{
		"command": {
			"compar",
			[]string{`unknown command "compar"; did you mean compare? wirelab --help lists all `},
		},
		"command below": {
			"results shw",
			[]string{`unknown command of wirelab results "shw"`, "import", "list", "rm"},
		},
		"flag": {
			"matrix --jsn",
			[]string{"wirelab matrix has no flag --jsn; did you mean --json?", "wirelab matrix --help"},
		},
		"flag's value":   {"results list --limit many", []string{"--limit", "see wirelab results list --help"}},
		"too many words": {"version now", []string{"not also now", "see wirelab version --help"}},
		"too few words":  {"call", []string{"needs one WORKLOAD.OPERATION"}},
		"workload": {
			"matrix routes",
			[]string{`unknown workload "routes"; did you mean routeguide? Known: `, "directory"},
		},
		"preset": {
			"presets quik",
			[]string{`unknown preset "quik"; did you mean quick? wirelab presets lists all `},
		},
		"workload called": {
			"call routes.GetFeature --protocol grpc --target a:1",
			[]string{`unknown workload "routes"`},
		},
		"no operation": {
			"call routeguide --protocol grpc --target a:1",
			[]string{`unknown operation of routeguide ""`, "ListFeatures"},
		},
		"operation": {
			"call routeguide.Get --protocol grpc --target a:1",
			[]string{`unknown operation of routeguide "Get"`, "GetFeature"},
		},
		"no protocol": {
			"call routeguide.GetFeature --target a:1",
			[]string{"--protocol is missing", "grpc", "http1-json"},
		},
		"protocol": {
			"call routeguide.GetFeature --protocol http9 --target a:1",
			[]string{`unknown protocol of routeguide "http9"`, "http1-json"},
		},
		"client": {
			"call routeguide.GetFeature --protocol grpc --client curl --target a:1",
			[]string{"client library of routeguide over grpc", "grpc-go"},
		},
		"no target": {
			"call routeguide.GetFeature --protocol grpc",
			[]string{"--target is missing", "wirelab serve routeguide grpc"},
		},
		"target": {"call routeguide.GetFeature --protocol grpc --target a", []string{"HOST:PORT"}},
		"timeout": {
			"call routeguide.GetFeature --protocol grpc --target a:1 --timeout 0s",
			[]string{"above 0"},
		},
		"ca": {
			"call routeguide.GetFeature --protocol grpc-tls --target a:1 --ca " + missing,
			[]string{"--ca", missing},
		},
		"data's file": {
			"call routeguide.GetFeature --protocol grpc --target a:1 --request @" + missing,
			[]string{"--request", missing},
		},
		"hole": {
			"call routeguide.ListFeatures --protocol http1-proto --target a:1",
			[]string{"http1-proto cannot carry ListFeatures: "},
		},
		"limit":            {"results list --limit 0", []string{"1 to 10000"}},
		"limit, too large": {"results list --limit 10001", []string{"1 to 10000"}},
		"since":            {"results list --since -1h", []string{"--since"}},
		"result to remove": {"results rm r-1", []string{`no result "r-1"; nothing is stored yet`}},
		"file to import":   {"results import " + missing, []string{missing}},
	} {
		o := s.run(strings.Fields(c.args)...)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.wants(t, desk.ExitUsage, nil, c.say)
			if strings.Count(o.stderr, "\n") != 1 {
				t.Errorf("error is not one line: %q", o.stderr)
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		say  string
	}{
		{wirelab.Errorf(wirelab.InvalidArgument, "x"), desk.ExitUsage, "x"},
		{wirelab.Errorf(wirelab.NotFound, "x"), desk.ExitUsage, "x"},
		{wirelab.Errorf(wirelab.Unavailable, "x"), desk.ExitFailed, "x"},
		{errors.New("x"), desk.ExitFailed, "x"},
		{fmt.Errorf("file: %w", wirelab.Errorf(wirelab.InvalidArgument, "x")), desk.ExitUsage, "file: x"},
		{context.Canceled, desk.ExitNoWord, "interrupted"},
		{
			fmt.Errorf("%w: 3 rounds are stored", desk.ErrPartial), desk.ExitNoWord,
			"no valid answer: 3 rounds are stored",
		},
		{
			fmt.Errorf("%w: stored: %w", desk.ErrPartial, context.Canceled), desk.ExitNoWord,
			"no valid answer: stored: interrupted",
		},
		{cli.With(desk.ExitFailed, wirelab.Errorf(wirelab.NotFound, "x")), desk.ExitFailed, "x"},
		{cli.With(desk.ExitNoWord, nil), desk.ExitNoWord, "exit code 3"},
	} {
		if code, say := desk.ExitCodeOf(c.err), desk.Describe(c.err); code != c.code || say != c.say {
			t.Errorf("%v: exit code %d, %q; want %d, %q", c.err, code, say, c.code, c.say)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run().wants(t, desk.ExitOK, []string{"compare", "exit-codes"}, nil)
	s.run("help", "exit-codes").wants(t, desk.ExitOK, []string{"  0  ", "  1  ", "  2  ", "  3  "}, nil)
	for _, command := range [][]string{
		{"matrix"},
		{"call"},
		{"presets"},
		{"results"},
		{"results", "list"},
		{"results", "rm"},
		{"results", "import"},
		{"version"},
	} {
		s.run(append(command, "--help")...).wants(t, desk.ExitOK,
			[]string{"Examples:", "wirelab " + strings.Join(command, " ")}, nil)
	}
}

// decode reads JSON that must be one document.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		t.Fatalf("not the JSON expected: %v\n%s", err, text)
	}
	return value
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run("matrix").wants(t, desk.ExitOK,
		[]string{"routeguide", "GetFeature", "http1-proto*", "wirelab matrix routeguide"}, nil)
	s.run("matrix", "routeguide").wants(t, desk.ExitOK,
		[]string{"  1  GetFeature", "grpc-go, connect-go", "1 2 3 [1]", "[1] "}, nil)
	for _, args := range [][]string{
		{"matrix"},
		{"matrix", "directory"},
		{"matrix", "ledger"},
		{"matrix", "logging"},
		{"matrix", "messaging"},
		{"matrix", "routeguide"},
		{"presets"},
	} {
		for _, line := range clitest.Wide(s.run(args...).stdout) {
			t.Errorf("%v is wider than a terminal: %s", args, line)
		}
	}
	o := s.run("matrix", "routeguide", "--json")
	o.wants(t, desk.ExitOK, nil, nil)
	matrix := decode[[]catalog.Matrix](t, o.stdout)
	if len(matrix) != 1 || len(matrix[0].Operations) != 4 || len(matrix[0].Protocols) < 10 {
		t.Fatalf("matrix %+v", matrix)
	}
	for _, row := range matrix[0].Protocols {
		if len(row.Operations)+len(row.Holes) != 4 ||
			len(row.Operations) > 0 && (len(row.Servers) == 0 || len(row.Clients) == 0) {
			t.Errorf("row %+v does not account for all", row)
		}
	}
}

func TestPresetsCanBeRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	o := s.run("presets")
	o.wants(t, desk.ExitOK, []string{"route-serial", "about 2 min", "Message brokers"}, nil)
	if !strings.HasPrefix(o.stdout, "Start here\n  quick ") {
		t.Errorf("presets begin with %.80q", o.stdout)
	}
	for _, p := range plan.Presets() {
		if strings.Count(o.stdout, "  "+p.Name+" ") != 1 {
			t.Errorf("%s is not in the list once", p.Name)
		}
	}
	if got := decode[[]plan.Plan](t, s.run("presets", "--json").stdout); len(got) != len(plan.Presets()) {
		t.Errorf("%d presets in JSON", len(got))
	}
	a := newApp(cli.Terminal{}, nil, nil)
	for _, p := range plan.Presets() {
		o := s.run("presets", p.Name)
		o.wants(t, desk.ExitOK, nil, nil)
		if back, err := plan.Parse(p.Name, []byte(o.stdout)); err != nil || back.Seed != 0 || back.Slices == 0 {
			t.Errorf("%s: the output is not a whole plan without a seed: %+v, %v", p.Name, back, err)
		}
		w, err := a.Work(p.Workload)
		if err != nil {
			t.Fatal(err)
		}
		op, err := catalog.OperationOf(w, p.Operation)
		if err != nil {
			t.Fatal(err)
		}
		if p.Requests != "" && !strings.Contains(strings.Join(op.Requests, " "), p.Requests) {
			t.Errorf("%s: %s has no requests %s", p.Name, op.Name, p.Requests)
		}
		for _, arm := range p.Arms {
			cell, err := a.ArmCell(p.Workload, arm)
			if err != nil {
				t.Errorf("%s: %v", p.Name, err)
			} else if why, hole := cell.Holes[p.Operation]; hole {
				t.Errorf("%s: %s cannot carry %s: %s", p.Name, arm.Protocol, p.Operation, why)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run("version").wants(t, desk.ExitOK, []string{"wirelab ", "go1.", "result schema 1"}, nil)
	if v := decode[versionInfo](t, s.run("version", "--json").stdout); v.Go == "" || v.Platform == "" {
		t.Errorf("version %+v", v)
	}
}

func TestCell(t *testing.T) {
	t.Parallel()
	a := newApp(cli.Terminal{}, nil, nil)
	for _, c := range []struct{ server, client, wantServer, wantClient string }{
		{"", "", "grpc-go", "grpc-go"},
		{"connect-go", "", "connect-go", "grpc-go"},
		{"", "connect-go", "grpc-go", "connect-go"},
		{"connect-go", "connect-go", "connect-go", "connect-go"},
	} {
		cell, err := a.Cell("routeguide", "grpc", c.server, c.client)
		if err != nil || cell.Server != c.wantServer || cell.Client != c.wantClient {
			t.Errorf("server %q, client %q: %s and %s, %v", c.server, c.client, cell.Server, cell.Client, err)
		}
	}
}

func TestCommandLineCanBeTypedAgain(t *testing.T) {
	t.Parallel()
	a := newApp(cli.Terminal{}, []string{"compare", "grpc,connections=4", "", "it's", "±2%", "a b"}, nil)
	if want := `wirelab compare grpc,connections=4 '' 'it'\''s' '±2%' 'a b'`; a.CommandLine() != want {
		t.Errorf("%s, want %s", a.CommandLine(), want)
	}
}

func TestColourIsForTerminals(t *testing.T) {
	t.Parallel()
	a := newApp(cli.Terminal{Stdout: &bytes.Buffer{}}, nil, func(string) string { return "" })
	if a.IsTerminal() || a.Colour() {
		t.Error("a buffer is taken for a terminal")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	a.Stdout = file
	if a.IsTerminal() || a.Colour() {
		t.Error("a file is taken for a terminal")
	}
}

// stored puts samples into the shell's store.
func (s *shell) stored(samples int) {
	s.t.Helper()
	a := newApp(cli.Terminal{}, nil, func(key string) string { return s.env[key] })
	err := a.WithStore(s.t.Context(), func(results store.Store) error {
		for n := range samples {
			if err := results.Put(s.t.Context(), storetest.Sample(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// A command line is stored with its result, so nothing of a connection string
// may be in it but where the database is (docs/origins.md grb-D14).
func TestCommandLineHoldsNoSecret(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{
		"postgres://me:s3cret@db.example:5433/ledger?sslmode=disable",
		"--db=postgresql://me:s3cret@db.example:5433/ledger",
		"host=db.example port=5433 user=me password=s3cret dbname=ledger",
		"--results=host=db.example port=5433 password='s3cret' dbname=ledger",
	} {
		a := newApp(cli.Terminal{}, []string{"compare", arg}, nil)
		if line := a.CommandLine(); strings.Contains(line, "s3cret") ||
			!strings.Contains(line, "db.example:5433/ledger") {
			t.Errorf("%s became %s", arg, line)
		}
	}
}

// with is what commands share, with something else of it.
func with(a *app, set func(*app)) *app {
	set(a)
	return a
}
