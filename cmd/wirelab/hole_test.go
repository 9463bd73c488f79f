package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/workload/catalog"
)

// holed is an app with a workload that one protocol does not carry, and one does.
func holed(stdout *bytes.Buffer) *app {
	grpc := wirelab.Protocol{
		Name: "grpc", Transport: "HTTP/2", Encoding: "Protocol Buffers", Network: "tcp",
		Multiplexed: true,
	}
	netrpc := wirelab.Protocol{Name: "netrpc", Transport: "TCP", Encoding: "gob", Network: "tcp", Multiplexed: true}
	return with(newApp(cli.Terminal{Stdout: stdout, Stderr: stdout}, nil, func(string) string { return "" }),
		func(a *app) {
			a.Catalog = []wirelab.Work{{
				Name: "mill",
				Operations: []wirelab.OperationInfo{
					{Name: "Grind", Requests: []string{"drawn"}},
					{Name: "Turn", Requests: []string{"drawn"}},
				},
				Cells: []wirelab.Cell{{
					Workload: "mill", Protocol: grpc, Server: "grpc-go", Client: "grpc-go",
					Usual: true,
				}},
				Missing: []wirelab.Missing{{Protocol: netrpc, Why: "a mill has no gob"}},
			}}
		})
}

func TestWholeHoleIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command func(*app) *cobra.Command
		args    string
	}{
		"serve":   {newServeCommand, "mill netrpc"},
		"call":    {newCallCommand, "mill.Grind --protocol netrpc --target 127.0.0.1:9"},
		"compare": {newCompareCommand, "grpc netrpc --workload mill.Grind"},
	} {
		var out bytes.Buffer
		command := c.command(holed(&out))
		command.SetArgs(strings.Fields(c.args))
		command.SetOut(&out)
		command.SetErr(&out)
		err := command.ExecuteContext(t.Context())
		if err == nil || desk.ExitCodeOf(err) != desk.ExitUsage ||
			desk.Describe(err) != "mill is not carried over netrpc: a mill has no gob" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWholeHoleIsInTheMatrix(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := holed(&out)
	m := catalog.MatrixOf(a.Catalog[0])
	if row := m.Protocols[1]; len(m.Protocols) != 2 || row.Protocol != "netrpc" || row.Encoding != "gob" ||
		row.Holes["Grind"] != "a mill has no gob" || row.Holes["Turn"] == "" || len(row.Operations) > 0 ||
		row.Servers == nil {
		t.Errorf("rows %+v", m.Protocols)
	}
	if want, text := "[1]  netrpc: a mill has no gob", catalog.WorkloadText(m, 80); !strings.Contains(text, want) {
		t.Errorf("%q is absent from\n%s", want, text)
	}
}
