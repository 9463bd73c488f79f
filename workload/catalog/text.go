package catalog

import (
	"fmt"
	"slices"
	"strings"

	"wirelab"
	"wirelab/internal/paragraph"
)

// Text describes all workloads in short: their operations and protocols.
func Text(matrix []Matrix, columns int) string {
	var b strings.Builder
	partly := false
	for _, m := range matrix {
		var operations, protocols []string
		for _, o := range m.Operations {
			operations = append(operations, o.Name)
		}
		for _, p := range m.Protocols {
			switch len(p.Operations) {
			case 0:
			case len(m.Operations):
				protocols = append(protocols, p.Protocol)
			default:
				protocols, partly = append(protocols, p.Protocol+"*"), true
			}
		}
		fmt.Fprintf(&b, "%s\n", m.Workload)
		b.WriteString(paragraph.Hang("  operations", 14, strings.Join(operations, ", "), columns))
		b.WriteString(paragraph.Hang("  protocols", 14, strings.Join(protocols, ", "), columns))
		for _, line := range extras(m) {
			b.WriteString(paragraph.Hang("  "+line[0], 14, line[1], columns))
		}
		b.WriteString("\n")
	}
	if partly {
		b.WriteString("* carries some of the operations\n\n")
	}
	b.WriteString(`All of one workload:  wirelab matrix routeguide
A comparison:         wirelab compare grpc http1-json -w routeguide.GetFeature
`)
	return b.String()
}

// extras returns the data sets and databases of a workload that has several.
func extras(m Matrix) [][2]string {
	var lines [][2]string
	if len(m.Data) > 1 {
		lines = append(lines, [2]string{"data sets", strings.Join(m.Data, ", ")})
	}
	if len(m.Databases) > 1 {
		lines = append(lines, [2]string{"databases", strings.Join(m.Databases, ", ")})
	}
	return lines
}

// numbered lists some of a workload's operations by their numbers: "1 2 4", "all".
func numbered(m Matrix, some []string) string {
	switch len(some) {
	case 0:
		return "-"
	case len(m.Operations):
		return "all"
	}
	var numbers []string
	for i, o := range m.Operations {
		if slices.Contains(some, o.Name) {
			numbers = append(numbers, fmt.Sprint(i+1))
		}
	}
	return strings.Join(numbers, " ")
}

// reasons are the reasons why operations are not carried, each once.
type reasons struct {
	texts []string
	who   [][]string // the protocols that carry nothing, by reason
}

// of returns the numbers of the reasons why a protocol does not carry some operations: " [1] [2]".
func (r *reasons) of(p Row, m Matrix) string {
	var marks []string
	for _, o := range m.Operations {
		why, hole := p.Holes[o.Name]
		if !hole {
			continue
		}
		i := slices.Index(r.texts, why)
		if i < 0 {
			i = len(r.texts)
			r.texts, r.who = append(r.texts, why), append(r.who, nil)
		}
		if len(p.Operations) == 0 && !slices.Contains(r.who[i], p.Protocol) {
			r.who[i] = append(r.who[i], p.Protocol)
		}
		if mark := fmt.Sprintf(" [%d]", i+1); !slices.Contains(marks, mark) {
			marks = append(marks, mark)
		}
	}
	return strings.Join(marks, "")
}

// WorkloadText describes one workload in full.
func WorkloadText(m Matrix, columns int) string {
	operations := [][]string{}
	for i, o := range m.Operations {
		operations = append(operations,
			[]string{fmt.Sprintf("  %d", i+1), o.Name, string(o.Kind), "requests " + strings.Join(o.Requests, ", ")})
	}
	why := &reasons{}
	carried := [][]string{{"PROTOCOL", "TRANSPORT", "ENCODING", "TLS", "RAW", "CARRIES"}}
	for _, p := range m.Protocols {
		name, secure := p.Protocol, "-"
		if p.Style == wirelab.Generic {
			name += "~"
		}
		if p.Secure {
			secure = "yes"
		}
		if marks := why.of(p, m); len(p.Operations) > 0 {
			carried = append(carried,
				[]string{name, p.Transport, p.Encoding, secure, numbered(m, p.Raw), numbered(m, p.Operations) + marks})
		}
	}
	text := m.Workload + "\n" + paragraph.Table(operations, columns)
	for _, line := range extras(m) {
		text += paragraph.Hang("  "+line[0]+": ", len(line[0])+4, line[1], columns)
	}
	return text + "\n" + paragraph.Table(carried, columns) + below(m, why, columns)
}

// below explains the table of a workload: its terms, the libraries, and the operations that are not carried.
func below(m Matrix, why *reasons, columns int) string {
	var b strings.Builder
	line := func(label string, indent int, text string) {
		b.WriteString(paragraph.Hang(label, indent, text, columns))
	}
	line("", 0, "CARRIES and RAW are numbers of the operations above; RAW: those that --driver raw can call.")
	if slices.ContainsFunc(m.Protocols, func(p Row) bool { return p.Style == wirelab.Generic }) {
		line("~ ", 2, "generic: one code for every operation, where the others have code for each")
	}
	b.WriteString("\nLibraries of server and client, the usual one first:\n")
	groups, order := map[string][]string{}, []string{}
	for _, p := range m.Protocols {
		if len(p.Operations) == 0 {
			continue
		}
		key := strings.Join(p.Servers, ", ") + "; " + strings.Join(p.Clients, ", ")
		if slices.Equal(p.Servers, p.Clients) {
			key = strings.Join(p.Servers, ", ")
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], p.Protocol)
	}
	for _, key := range order {
		line("  "+key+"  ", 24, strings.Join(groups[key], ", "))
	}
	if len(why.texts) > 0 {
		b.WriteString("\nWhat is not carried:\n")
	}
	for i, text := range why.texts {
		if len(why.who[i]) > 0 {
			text = strings.Join(why.who[i], ", ") + ": " + text
		}
		line(fmt.Sprintf("[%d]", i+1), 5, text)
	}
	return b.String()
}
