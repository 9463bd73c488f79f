package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
)

// varint is a protocol that no command knows.
func varint() wirelab.Protocol {
	return wirelab.Protocol{Name: "varint-tcp", Transport: "TCP", Framing: "varint", Encoding: "CBOR", Network: "tcp"}
}

// withToy runs a command of a program among whose works routeguide goes over a protocol more, as if a file of its bindings
// had it.
func withToy(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := newApp(cli.Terminal{Stdout: &out, Stderr: &errs, Clock: clitest.Still{}}, args, nil)
	a.Catalog = slices.Clone(a.Catalog)
	for i, w := range a.Catalog {
		if w.Name != "routeguide" {
			continue
		}
		cell := w.Cells[slices.IndexFunc(w.Cells, func(c wirelab.Cell) bool { return c.Protocol.Name == "raw-tcp" && c.Usual })]
		cell.Protocol = varint()
		a.Catalog[i].Cells = append(slices.Clone(w.Cells), cell)
	}
	if code := a.Execute(t.Context(), newRootCommand(a), args, cli.Ending{Code: a.ExitCode, Describe: a.DescribeError, Last: a.Last}); code != 0 {
		t.Errorf("%v: exit code %d\n%s", args, code, errs.String())
	}
	return out.String()
}

// What has a protocol through its bindings has it in every command: no list of names is kept beside the registry.
func TestANewProtocolIsKnownEverywhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		args []string
		want string
	}{
		{"the matrix", []string{"matrix"}, "varint-tcp"},
		{"the matrix of a workload", []string{"matrix", "routeguide"}, "varint-tcp"},
		{"explain", []string{"explain", "routeguide.GetFeature", "--transport", "varint-tcp,grpc", "--encoding", "cbor,proto", "--tls", "off", "--print-plan"}, `"varint-tcp"`},
		{"arms", []string{"compare", "varint-tcp", "grpc", "-w", "routeguide.GetFeature", "--print-plan"}, `"varint-tcp"`},
		{"completion of arms", []string{"__complete", "compare", "-w", "routeguide.GetFeature", ""}, "varint-tcp\n"},
		{"completion of --protocol", []string{"__complete", "call", "routeguide.GetFeature", "--protocol", ""}, "varint-tcp\n"},
		{"completion of --transport", []string{"__complete", "explain", "routeguide.GetFeature", "--transport", ""}, "varint-tcp\n"},
		{"completion of --encoding", []string{"__complete", "explain", "routeguide.GetFeature", "--encoding", ""}, "cbor\n"},
		{"the help, of which the reference is made", []string{"explain", "--help-all"}, "json,proto,avro,gob,cbor"},
	} {
		if got := withToy(t, c.args...); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is not in\n%s", c.what, c.want, got)
		}
	}
}
