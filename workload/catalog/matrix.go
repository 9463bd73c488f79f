package catalog

import (
	"slices"

	"wirelab"
)

// Row is a workload over a protocol, in the JSON of "matrix --json".
type Row struct {
	Protocol    string            `json:"protocol"`
	Transport   string            `json:"transport"`
	Encoding    string            `json:"encoding"`
	Secure      bool              `json:"secure"`
	Multiplexed bool              `json:"multiplexed"`
	Style       wirelab.Style     `json:"style,omitempty"` // "" if nothing is carried
	Servers     []string          `json:"servers"`         // the usual one first
	Clients     []string          `json:"clients"`
	Operations  []string          `json:"operations"`      // the carried ones
	Holes       map[string]string `json:"holes,omitempty"` // the others, with the reason
	Raw         []string          `json:"raw"`             // operations that the raw driver carries
	Null        bool              `json:"null_responder"`  // whether an arm has a floor
}

// Matrix is a workload, in the same JSON.
type Matrix struct {
	Workload   string      `json:"workload"`
	Operations []Operation `json:"operations"`
	Data       []string    `json:"data"`      // sets, the default first
	Databases  []string    `json:"databases"` // that servers can use, the default first
	Protocols  []Row       `json:"protocols"`
}

// Operation is an operation of a workload, in the same JSON.
type Operation struct {
	Name     string       `json:"name"`
	Kind     wirelab.Kind `json:"kind"`
	Requests []string     `json:"requests"` // the default first
}

// MatrixOf groups the cells of a workload by protocol.
func MatrixOf(w wirelab.Work) Matrix {
	m := Matrix{
		Workload: w.Name, Operations: []Operation{}, Protocols: []Row{},
		Data: append([]string{}, w.Data...), Databases: append(slices.Clone(w.Databases), wirelab.Memory),
	}
	for _, o := range w.Operations {
		m.Operations = append(m.Operations, Operation{o.Name, o.Kind, o.Requests})
	}
	for _, c := range w.Cells {
		i := slices.IndexFunc(m.Protocols, func(r Row) bool { return r.Protocol == c.Protocol.Name })
		if i < 0 {
			row := rowOf(c.Protocol)
			row.Style, row.Holes, row.Null = c.Style, c.Holes, c.Null != nil
			for _, o := range w.Operations {
				if _, hole := c.Holes[o.Name]; hole {
					continue
				}
				row.Operations = append(row.Operations, o.Name)
				if RawCarries(c, o.Name) == nil {
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

// rowOf returns the row of a protocol, without operations.
func rowOf(p wirelab.Protocol) Row {
	return Row{
		Protocol: p.Name, Transport: p.Transport, Encoding: p.Encoding, Secure: p.Secure, Multiplexed: p.Multiplexed,
		Servers: []string{}, Clients: []string{}, Operations: []string{}, Raw: []string{}, Holes: map[string]string{},
	}
}
