package main

import (
	"slices"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
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
		Short: "Show the workloads, protocols, operations and libraries",
		Long: `Matrix lists the workloads with their operations and the protocols that carry them.
With a WORKLOAD it shows all of one: what each protocol is made of, which
operations it carries and why it does not carry others, the libraries that speak
it at each end, the data sets (--data) and the databases (--db).`,
		Example: "  wirelab matrix\n  wirelab matrix routeguide\n  wirelab matrix routeguide --json",
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
		if len(args) == 1 {
			return a.printWorkload(matrix[0])
		}
		return a.printMatrix(matrix)
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
