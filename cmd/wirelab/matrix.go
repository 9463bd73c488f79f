package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cli"
)

// matrixRow is a workload over a protocol, as "matrix --json" shows it.
type matrixRow struct {
	Protocol    string            `json:"protocol"`
	Transport   string            `json:"transport"`
	Encoding    string            `json:"encoding"`
	Secure      bool              `json:"secure"`
	Multiplexed bool              `json:"multiplexed"`
	Style       wirelab.Style     `json:"style,omitempty"` // "" where nothing is carried
	Servers     []string          `json:"servers"`         // the usual one first
	Clients     []string          `json:"clients"`
	Operations  []string          `json:"operations"`      // those it carries
	Holes       map[string]string `json:"holes,omitempty"` // those it does not, and why
	Raw         []string          `json:"raw"`             // operations that the raw driver carries too
	Null        bool              `json:"null_responder"`  // whether an arm has a floor
}

// matrixWork is a workload in the same.
type matrixWork struct {
	Workload   string            `json:"workload"`
	Operations []matrixOperation `json:"operations"`
	Data       []string          `json:"data"`      // sets, the default first
	Databases  []string          `json:"databases"` // what servers can keep it in, the default first
	Protocols  []matrixRow       `json:"protocols"`
}

type matrixOperation struct {
	Name     string       `json:"name"`
	Kind     wirelab.Kind `json:"kind"`
	Requests []string     `json:"requests"` // the default first
}

func newMatrixCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "matrix [WORKLOAD]",
		Short: "Show what can be compared: workloads, protocols, operations, libraries",
		Long: `Shows every workload with the protocols that carry it, the operations each
protocol carries, and the libraries that speak it at each end, the usual one
first, its data sets (--data) and what servers can keep them in (--db). A hole
is an operation that a protocol cannot carry, with the reason.
RAW tells which operations --driver raw carries too.`,
		Example: "  wirelab matrix\n  wirelab matrix routeguide --json",
		Args:    cli.Arguments(0, 1, "at most one workload"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.workloadNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		works := a.works
		if len(args) == 1 {
			w, err := a.work(args[0])
			if err != nil {
				return err
			}
			works = []wirelab.Work{w}
		}
		matrix := make([]matrixWork, len(works))
		for i, w := range works {
			matrix[i] = matrixOf(w)
		}
		if *asJSON {
			return a.PrintJSON(matrix)
		}
		for i, w := range matrix {
			if i > 0 {
				if err := a.Printf("\n"); err != nil {
					return err
				}
			}
			if err := a.printMatrix(w); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// matrixOf gathers the cells of a workload by protocol.
func matrixOf(w wirelab.Work) matrixWork {
	m := matrixWork{
		Workload: w.Name, Operations: []matrixOperation{}, Protocols: []matrixRow{},
		Data: append([]string{}, w.Data...), Databases: append(slices.Clone(w.Databases), wirelab.Memory),
	}
	for _, o := range w.Operations {
		m.Operations = append(m.Operations, matrixOperation{o.Name, o.Kind, o.Requests})
	}
	for _, c := range w.Cells {
		i := slices.IndexFunc(m.Protocols, func(r matrixRow) bool { return r.Protocol == c.Protocol.Name })
		if i < 0 {
			row := rowOf(c.Protocol)
			row.Style, row.Holes, row.Null = c.Style, c.Holes, c.Null != nil
			for _, o := range w.Operations {
				if _, hole := c.Holes[o.Name]; hole {
					continue
				}
				row.Operations = append(row.Operations, o.Name)
				if rawCarries(c, o.Name) == nil {
					row.Raw = append(row.Raw, o.Name)
				}
			}
			m.Protocols = append(m.Protocols, row)
			i = len(m.Protocols) - 1
		}
		row := &m.Protocols[i]
		if !slices.Contains(row.Servers, c.Server) {
			row.Servers = append(row.Servers, c.Server)
		}
		if !slices.Contains(row.Clients, c.Client) {
			row.Clients = append(row.Clients, c.Client)
		}
	}
	for _, missing := range w.Missing {
		row := rowOf(missing.Protocol)
		for _, o := range w.Operations {
			row.Holes[o.Name] = missing.Why
		}
		m.Protocols = append(m.Protocols, row)
	}
	return m
}

// rowOf is the row of a protocol that carries nothing yet.
func rowOf(p wirelab.Protocol) matrixRow {
	return matrixRow{
		Protocol: p.Name, Transport: p.Transport, Encoding: p.Encoding, Secure: p.Secure, Multiplexed: p.Multiplexed,
		Servers: []string{}, Clients: []string{}, Operations: []string{}, Raw: []string{}, Holes: map[string]string{},
	}
}

// libraries lists the libraries of a row's end.
func libraries(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ", ")
}

// rawOf tells in few words what the raw driver carries of a row.
func rawOf(p matrixRow) string {
	switch len(p.Raw) {
	case 0:
		return "-"
	case len(p.Operations):
		return "all"
	}
	return strings.Join(p.Raw, ", ")
}

// printMatrix prints a workload as a table, and the reasons of its holes below.
func (a *app) printMatrix(m matrixWork) error {
	head := []string{"PROTOCOL", "TRANSPORT", "ENCODING", "TLS"}
	for _, o := range m.Operations {
		head = append(head, o.Name)
	}
	rows := [][]string{append(head, "SERVERS", "CLIENTS", "RAW")}
	var reasons []string
	for _, p := range m.Protocols {
		name := p.Protocol
		if p.Style == wirelab.Generic {
			name += " (generic)"
		}
		row := []string{name, p.Transport, p.Encoding, "-"}
		if p.Secure {
			row[3] = "yes"
		}
		for _, o := range m.Operations {
			reason, hole := p.Holes[o.Name]
			if !hole {
				row = append(row, "yes")
				continue
			}
			i := slices.Index(reasons, reason)
			if i < 0 {
				reasons = append(reasons, reason)
				i = len(reasons) - 1
			}
			row = append(row, fmt.Sprintf("no [%d]", i+1))
		}
		rows = append(rows, append(row, libraries(p.Servers), libraries(p.Clients), rawOf(p)))
	}
	operations := make([][]string, len(m.Operations))
	for i, o := range m.Operations {
		operations[i] = []string{"  " + o.Name, string(o.Kind), "requests " + strings.Join(o.Requests, ", ")}
	}
	if err := cli.Both(a.Printf("%s\n", m.Workload), a.PrintTable(operations)); err != nil {
		return err
	}
	for _, line := range []struct {
		what  string
		names []string
		least int // fewer are not worth a line
	}{{"data sets", m.Data, 1}, {"databases", m.Databases, 2}} {
		if len(line.names) < line.least {
			continue
		}
		if err := a.Printf("  %s: %s\n", line.what, strings.Join(line.names, ", ")); err != nil {
			return err
		}
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	if err := a.PrintTable(rows); err != nil {
		return err
	}
	for i, reason := range reasons {
		if err := a.Printf("[%d] %s\n", i+1, reason); err != nil {
			return err
		}
	}
	return nil
}
