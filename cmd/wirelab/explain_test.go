package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	report "wirelab/results/report/json"
	"wirelab/results/store"
)

// factorialStored puts a made-up factorial into the store.
func (s *shell) factorialStored(drop ...string) *result.Result {
	s.t.Helper()
	r := resulttest.Factorial(7, resulttest.Effects{
		"HTTP/2": 0.15, "gRPC": 0.25, "Protocol Buffers": -0.3, "Avro": -0.25, "TLS": 0.1,
		"gRPC × Protocol Buffers": -0.12,
	}, drop...)
	a := newApp(cli.Terminal{}, nil, func(key string) string { return s.env[key] })
	if err := a.WithStore(s.t.Context(),
		func(results store.Store) error { return results.Put(s.t.Context(), r) }); err != nil {
		s.t.Fatal(err)
	}
	return r
}

func TestExplainMakesTheFactorial(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, c := range []struct {
		args  string
		arms  []string // the first ones
		count int
		left  []string
	}{
		{
			"directory.GetPerson",
			[]string{"http1-json", "http1-tls-json", "http1-proto", "http1-tls-proto", "http1-avro"},
			18, nil,
		},
		{
			"directory.ListPersons --data 4,100,10000",
			[]string{"http1-json,data=4", "http1-json,data=100", "http1-json,data=10000", "http1-tls-json,data=4"},
			54,
			nil,
		},
		{
			"directory.GetPerson --transport grpc,connect --encoding proto --tls off",
			[]string{"grpc", "connect"},
			2,
			nil,
		},
		{
			"directory.GetPerson --transport http1 --encoding json --tls off --connections 1,4",
			[]string{"http1-json,connections=1", "http1-json,connections=4"},
			2, nil,
		},
		{
			"directory.GetPerson --transport http1,grpc --encoding json,proto --tls off --driver client,raw",
			[]string{"http1-json", "http1-json,driver=raw"},
			8, nil,
		},
		// What nothing carries is left out and named.
		{
			"routeguide.GetFeature",
			[]string{"http1-json"},
			0,
			[]string{"left out, since nothing carries GetFeature over them: ", "grpc with json, TLS off"},
		},
		{"routeguide.RecordRoute --transport http1,grpc --encoding proto --tls off,on", nil, 0, []string{"left out"}},
	} {
		got := s.run(append([]string{"explain", "--print-plan"}, strings.Fields(c.args)...)...)
		got.wants(t, got.code, nil, c.left)
		if got.code == desk.ExitUsage && c.arms == nil {
			continue
		}
		p := decode[plan.Plan](t, got.stdout)
		var names []string
		for _, arm := range p.Arms {
			names = append(names, arm.Name)
		}
		if c.count > 0 && len(names) != c.count || !slices.Equal(names[:len(c.arms)], c.arms) {
			t.Errorf("%s: %d arms: %q", c.args, len(names), names)
		}
		if p.Name != "explain" || p.Rounds.Min < 10 {
			t.Errorf("%s: plan %q, %+v", c.args, p.Name, p.Rounds)
		}
	}
	p := decode[plan.Plan](t, s.run("explain", "directory.GetPerson", "--connections", "1,4", "--from", "grpc-tls",
		"--to", "http1-json", "--print-plan", "--tls", "off,on", "--encoding", "json,proto").stdout)
	if p.Explain != (plan.Corners{From: "grpc-tls", To: "http1-json"}) || len(p.Loads) != 1 ||
		p.Loads[0].InFlight != 4 || p.Slices != explainSlices {
		t.Errorf("%+v, loads %+v, %d slices", p.Explain, p.Loads, p.Slices)
	}
	if many := decode[plan.Plan](t,
		s.run("explain", "directory.ListPersons", "--data", "4,100,10000",
			"--print-plan").stdout); many.Rounds.Min < 11 {
		t.Errorf("%d rounds prove no effect of so many", many.Rounds.Min)
	}
}

func TestExplainRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	for _, c := range []struct{ args, says string }{
		{"directory", "directory is a workload: name an operation of it, such as directory.ListPersons"},
		{"directory.GetNobody", `unknown operation of directory "GetNobody"`},
		{"directory.GetPerson --transport soap", `unknown --transport "soap"; known: connect`},
		{"directory.GetPerson --encoding xml", `unknown --encoding "xml"`},
		{"directory.GetPerson --tls maybe", `unknown --tls "maybe"`},
		{"directory.GetPerson --tls on,on", "--tls names on twice"},
		{"directory.GetPerson --data 5", `unknown data set of directory "5"; known: 100, 10000, 4`},
		{"directory.GetPerson --connections 0", "--connections 0: want 1 or more"},
		{"directory.GetPerson --connections 1,8 --in-flight 4", "--connections 8 is more than the 4 in flight"},
		{"directory.GetPerson --data 4,100,10000 --connections 1,4", "make 108 arms, and an experiment has at most 64"},
		{
			"directory.GetPerson --transport http1 --encoding json --tls off",
			"has 1 arms with these factors, and needs at least two",
		},
		{"directory.GetPerson --from soap", `explain.from is "soap"`},
		{"directory.GetPerson --until 9", "is not a percentage"},
		{"directory.GetPerson --format pdf", `unknown format "pdf"; known: csv, json, markdown, text`},
		{"latest", "no results yet"},
		{"no-such-id", "no result"},
	} {
		s.run(append([]string{"explain"}, strings.Fields(c.args)...)...).wants(t, desk.ExitUsage, nil, []string{c.says})
	}
	s.factorialStored()
	s.run("explain", "latest", "--data", "4").wants(t, desk.ExitUsage, nil,
		[]string{"--data is for an experiment to run; latest is a result that was measured"})
	s.run("explain", "latest", "--from", "soap").wants(t, desk.ExitUsage, nil,
		[]string{`unknown arm to start from "soap"; known: grpc-avro`})
}

// A stored result is explained in every form, and verify makes all of it again.
func TestExplainAResult(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := newShell(t)
	r := s.factorialStored()
	s.run("explain", "latest", "--full").wants(t, desk.ExitOK,
		[]string{"server CPU per request against http1-json", "TLS on vs off", "act together"}, nil)
	s.run("explain", r.ID[:16], "--from", "http1-tls-json", "--to", "grpc-tls-avro", "--full").wants(t, desk.ExitOK,
		[]string{"server CPU per request from http1-tls-json to grpc-tls-avro"}, nil)
	s.run("explain", r.ID, "--format", "markdown").wants(t, desk.ExitOK,
		[]string{"| **together** |", "| gRPC vs HTTP/1.1 | +23.6 % |", "### How it was measured"}, nil)
	s.run("results", "show", r.ID, "--full").wants(t, desk.ExitOK, []string{"http1-tls-avro"},
		[]string{"wirelab explain " + r.ID})
	rows, err := csv.NewReader(strings.NewReader(s.run("explain", r.ID, "--format", "csv").stdout)).ReadAll()
	if err != nil || len(rows) < 100 || !slices.Contains(rows[1], "HTTP/2 vs HTTP/1.1") {
		t.Errorf("%v, %d rows", err, len(rows))
	}
	text := s.run("explain", r.ID, "--json", "--to", "grpc-tls-proto").stdout
	d := decode[report.Document](t, text)
	if d.Explanation == nil || d.Explanation.To != "grpc-tls-proto" || len(d.Printed.Explained) != 3 ||
		!strings.Contains(d.Printed.Explained[0], "Of grpc-tls-proto's") {
		t.Fatalf("%+v", d.Printed.Explained)
	}
	file := filepath.Join(t.TempDir(), "explained.json")
	verified := func(text string) outcome {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.run("verify", file)
	}
	verified(text).wants(t, desk.ExitOK,
		[]string{"holds", "explanation: every effect, interaction and share computed again"}, nil)
	for _, edit := range []struct{ from, to, where string }{
		{"Of grpc-tls-proto's", "Of gRPC's", "printed.explained[0]"},
		{`"ratio": 1.1`, `"ratio": 1.2`, "explanation."},
		{`"to": "grpc-tls-proto"`, `"to": "grpc-json"`, "explanation.loads[0]"},
		{`"to": "grpc-tls-proto"`, `"to": "soap"`, `unknown arm to end at "soap"`},
	} {
		before, explained, found := strings.Cut(text, `"explanation": {`)
		if !found || !strings.Contains(explained, edit.from) {
			t.Fatalf("nothing to edit: %s", edit.from)
		}
		verified(before+`"explanation": {`+strings.Replace(explained, edit.from, edit.to, 1)).wants(t, desk.ExitFailed,
			[]string{"does not hold", edit.where}, nil)
	}
}

func TestExplainWhatCannotBe(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var drop []string
	for _, arm := range resulttest.FactorialArms(nil) {
		if arm.Name != "http1-json" && arm.Name != "grpc-proto" {
			drop = append(drop, arm.Name)
		}
	}
	s.factorialStored(drop...)
	s.run("explain", "latest").wants(t, desk.ExitUsage, nil, []string{
		"the arms differ in transport and encoding only together",
		"transport gRPC, encoding JSON; or transport HTTP/1.1, encoding Protocol Buffers",
	})
}

// A factorial over real servers, whole: measured, stored, explained, verified.
func TestExplainMeasures(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs an experiment")
	}
	dir := t.TempDir()
	p := begin(t, dir, "explain", "directory.GetPerson", "--transport", "http1,grpc", "--encoding", "json,proto",
		"--tls", "off",
		"--rounds", "1", "--max-rounds", "1", "--slices", "2", "--json")
	if code := p.end(); code != desk.ExitOK && code != desk.ExitNoWord {
		t.Errorf("exit code %d:\n%s", code, p.said.String())
	}
	p.wantNoneLeft()
	d := decode[report.Document](t, p.stdout.String())
	e := d.Explanation
	if e == nil || len(e.Factors) != 2 || len(d.Result.Rounds) != 1 || d.Result.Plan.Name != "explain" {
		t.Fatalf("%+v", e)
	}
	m := e.Loads[0].Metrics[0]
	// On a busy machine checks refuse arms; then that is what it says.
	if len(m.Effects) != 2 && m.Why == "" || len(m.Arms)+len(m.Left) != 4 {
		t.Errorf("%+v", m)
	}
	file := filepath.Join(dir, "explained.json")
	if err := os.WriteFile(file, p.stdout.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	newShell(t).run("verify", file).wants(t, desk.ExitOK, []string{"holds"}, nil)
}
