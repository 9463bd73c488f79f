package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wirelab"
	"wirelab/broker/drivers"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
	"wirelab/lab/databases"
	"wirelab/lab/plan"
	"wirelab/pipeline/stack"
)

// varint is a protocol that no command knows.
func varint() wirelab.Protocol {
	return wirelab.Protocol{Name: "varint-tcp", Transport: "TCP", Framing: "varint", Encoding: "CBOR", Network: "tcp"}
}

// withToy runs a command of a program among whose works routeguide goes over a protocol more, as if a file of its
// bindings had it.
func withToy(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := newApp(cli.Terminal{Stdout: &out, Stderr: &errs, Clock: clitest.Still{}}, args, nil)
	a.Catalog = slices.Clone(a.Catalog)
	for i, w := range a.Catalog {
		if w.Name != "routeguide" {
			continue
		}
		cell := w.Cells[slices.IndexFunc(w.Cells,
			func(c wirelab.Cell) bool { return c.Protocol.Name == "raw-tcp" && c.Usual })]
		cell.Protocol = varint()
		a.Catalog[i].Cells = append(slices.Clone(w.Cells), cell)
	}
	if code := a.Execute(t.Context(), newRootCommand(a), args,
		cli.Ending{Code: a.ExitCode, Describe: a.DescribeError, Last: a.Last}); code != 0 {
		t.Errorf("%v: exit code %d\n%s", args, code, errs.String())
	}
	return out.String()
}

// A protocol that bindings register is known to every command: no list of names exists besides the registry.
func TestANewProtocolIsKnownEverywhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		args []string
		want string
	}{
		{"the matrix", []string{"matrix"}, "varint-tcp"},
		{"the matrix of a workload", []string{"matrix", "routeguide"}, "varint-tcp"},
		{"explain", []string{
			"explain", "routeguide.GetFeature", "--transport", "varint-tcp,grpc", "--encoding",
			"cbor,proto", "--tls", "off", "--print-plan",
		}, `"varint-tcp"`},
		{
			"arms",
			[]string{"compare", "varint-tcp", "grpc", "-w", "routeguide.GetFeature", "--print-plan"},
			`"varint-tcp"`,
		},
		{"completion of arms", []string{"__complete", "compare", "-w", "routeguide.GetFeature", ""}, "varint-tcp\n"},
		{
			"completion of --protocol",
			[]string{"__complete", "call", "routeguide.GetFeature", "--protocol", ""},
			"varint-tcp\n",
		},
		{
			"completion of --transport",
			[]string{"__complete", "explain", "routeguide.GetFeature", "--transport", ""},
			"varint-tcp\n",
		},
		{
			"completion of --encoding",
			[]string{"__complete", "explain", "routeguide.GetFeature", "--encoding", ""},
			"cbor\n",
		},
		{"the help, of which the reference is made", []string{"explain", "--help-all"}, "json,proto,avro,gob,cbor"},
	} {
		if got := withToy(t, c.args...); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is not in\n%s", c.what, c.want, got)
		}
	}
}

// mayName are the names of registries that a file of the commands writes, and why.
func mayName() map[string]string {
	return map[string]string{
		"audit.go routeguide":      "the service that tools are tried against",
		"call.go client":           "a flag",
		"db.go directory":          "where files are",
		"flags.go hermes":          "a flag",
		"flags.go nats":            "a flag",
		"up.go hermes":             "a flag",
		"up.go nats":               "a flag",
		"up.go logging":            "a command",
		"upmessaging.go messaging": "a command",
	}
}

// Commands hold no name that a registry knows: of protocols, workloads, brokers, databases or drivers.
func TestCommandsNameNothingOfARegistry(t *testing.T) {
	t.Parallel()
	a := newApp(cli.Terminal{}, nil, nil)
	known := slices.Concat(a.AllProtocols(), a.WorkloadNames(), a.OperationNames(), drivers.Started(), stack.Brokers(),
		databases.Kinds(), plan.Drivers())
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(known, text) &&
					mayName()[e.Name()+" "+text] == "" {
					t.Errorf("%s writes %q, which a registry knows", e.Name(), text)
				}
			}
			return true
		})
	}
}
