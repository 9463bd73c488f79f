// Package catalog finds workloads, operations, protocols and libraries by name in a list of works, and describes
// the contents of the list. It knows only the vocabulary. It must not know which works exist, or how a cell is
// used.
package catalog

import (
	"slices"
	"strings"

	"wirelab"
)

// Catalog is a list of works.
type Catalog []wirelab.Work

// Messaging is the workload whose loads are messages.
const Messaging = "messaging"

// Work returns the workload with a name, or an error that suggests similar names.
func (c Catalog) Work(name string) (wirelab.Work, error) {
	for _, w := range c {
		if w.Name == name {
			return w, nil
		}
	}
	return wirelab.Work{}, wirelab.UnknownName("workload", name, c.WorkloadNames(), "wirelab matrix")
}

// WorkloadNames returns the names of all workloads.
func (c Catalog) WorkloadNames() []string {
	names := make([]string, len(c))
	for i, w := range c {
		names[i] = w.Name
	}
	return names
}

// OperationOf returns the operation of a workload with a name.
func OperationOf(w wirelab.Work, name string) (wirelab.OperationInfo, error) {
	known := make([]string, len(w.Operations))
	for i, o := range w.Operations {
		if o.Name == name {
			return o, nil
		}
		known[i] = o.Name
	}
	return wirelab.OperationInfo{}, wirelab.UnknownName("operation of "+w.Name, name, known, "wirelab matrix "+w.Name)
}

// ProtocolNames returns the protocols of a workload, in order.
func ProtocolNames(w wirelab.Work) []string {
	var names []string
	for _, c := range w.Cells {
		if !slices.Contains(names, c.Protocol.Name) {
			names = append(names, c.Protocol.Name)
		}
	}
	return names
}

// Cell returns a cell. An empty library means the usual one at that end. An error lists the known names.
func (c Catalog) Cell(workload, protocol, server, client string) (wirelab.Cell, error) {
	w, err := c.Work(workload)
	if err != nil {
		return wirelab.Cell{}, err
	}
	var cells []wirelab.Cell
	for _, c := range w.Cells {
		if c.Protocol.Name == protocol {
			cells = append(cells, c)
		}
	}
	for _, m := range w.Missing {
		if m.Protocol.Name == protocol {
			return wirelab.Cell{},
				wirelab.Errorf(wirelab.InvalidArgument, "%s is not carried over %s: %s", w.Name, protocol, m.Why)
		}
	}
	if len(cells) == 0 {
		return wirelab.Cell{},
			wirelab.UnknownName("protocol of "+w.Name, protocol, ProtocolNames(w), "wirelab matrix "+w.Name)
	}
	where := " of " + w.Name + " over " + protocol
	server, err = library("server library"+where, server, cells, func(c wirelab.Cell) string { return c.Server })
	if err != nil {
		return wirelab.Cell{}, err
	}
	client, err = library("client library"+where, client, cells, func(c wirelab.Cell) string { return c.Client })
	if err != nil {
		return wirelab.Cell{}, err
	}
	i := slices.IndexFunc(cells, func(c wirelab.Cell) bool { return c.Server == server && c.Client == client })
	return cells[i], nil // every server can be called by every client
}

// library returns the name if a cell has it; without a name, that of the usual library.
func library(what, name string, cells []wirelab.Cell, of func(wirelab.Cell) string) (string, error) {
	var known []string
	for _, c := range cells {
		if name == "" && c.Usual || of(c) == name {
			return of(c), nil
		}
		known = append(known, of(c))
	}
	return "", wirelab.UnknownName(what, name, known, "wirelab matrix")
}

// Operations returns the operations of all workloads, in the form that --workload takes.
func (c Catalog) Operations() []string {
	var names []string
	for _, w := range c {
		for _, o := range w.Operations {
			names = append(names, w.Name+"."+o.Name)
		}
	}
	return names
}

// AllProtocols returns the protocols of all workloads, sorted.
func (c Catalog) AllProtocols() []string {
	var names []string
	for _, w := range c {
		names = append(names, ProtocolNames(w)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// OperationNames returns the names of all operations, sorted.
func (c Catalog) OperationNames() []string {
	var names []string
	for _, w := range c {
		for _, o := range w.Operations {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// KnownCalls returns an error if the workload does not know an operation or its requests.
func KnownCalls(work wirelab.Work, name, requests string) error {
	o, err := OperationOf(work, name)
	if err != nil {
		return err
	}
	if requests != "" && !slices.Contains(o.Requests, requests) {
		return wirelab.UnknownName("way to draw requests of "+o.Name, requests, o.Requests)
	}
	return nil
}

// DataName returns the name of a data set, also of the usual one.
func DataName(work wirelab.Work, data string) string {
	if data == "" && len(work.Data) > 0 {
		return work.Data[0]
	}
	return data
}

// RawCarries returns an error if the raw driver cannot drive an operation of a cell.
func RawCarries(cell wirelab.Cell, operation string) error {
	if cell.DialRaw == nil {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"there is no raw driver for %s; leave --driver raw out, or see wirelab matrix", cell.Protocol.Name)
	}
	if why, hole := cell.RawHoles[operation]; hole {
		return wirelab.Errorf(wirelab.InvalidArgument, "the raw driver does not carry %s over %s: %s", operation,
			cell.Protocol.Name, why)
	}
	return nil
}

// ExampleOf returns an operation of a workload, in the form that --workload takes.
func (c Catalog) ExampleOf(w wirelab.Work) string {
	if w.Name == Messaging || len(w.Operations) == 0 {
		return w.Name
	}
	return w.Name + "." + w.Operations[0].Name
}

// AnOperation returns an operation of a workload, as an example.
func (c Catalog) AnOperation(workload string) string {
	w, err := c.Work(workload)
	if err != nil || len(w.Operations) == 0 {
		return workload + ".OPERATION"
	}
	return workload + "." + w.Operations[0].Name
}

// Carrying returns the first workload that a protocol carries; "" for an unknown protocol.
func (c Catalog) Carrying(protocol string) string {
	at := slices.IndexFunc(c, func(w wirelab.Work) bool { return slices.Contains(ProtocolNames(w), protocol) })
	if at < 0 {
		return ""
	}
	return c[at].Name
}

// WorkNamed returns what a name denotes, "an operation" or "a workload", and the value for --workload; "" for an
// unknown name. For a workload the value is one of its operations.
func (c Catalog) WorkNamed(name string) (kind, work string) {
	for _, w := range c {
		if w.Name == name {
			return "a workload", c.ExampleOf(w)
		}
		for _, o := range w.Operations {
			if o.Name == name || w.Name+"."+o.Name == name {
				return "an operation", w.Name + "." + o.Name
			}
		}
	}
	return "", ""
}

// Streams returns an error if an operation cannot be held open as a stream.
func Streams(work wirelab.Work, name string) error {
	var feeds []string
	for _, o := range work.Operations {
		switch {
		case o.Feed && o.Name == name:
			return nil
		case o.Feed:
			feeds = append(feeds, o.Name)
		}
	}
	if len(feeds) == 0 {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"%s of %s cannot be held as streams: no operation of %s is a feed, whose events say when they were sent",
			name, work.Name, work.Name)
	}
	return wirelab.Errorf(wirelab.InvalidArgument,
		"%s of %s cannot be held as streams: its replies do not say when they were sent; %s does", name, work.Name,
		strings.Join(feeds, ", "))
}
