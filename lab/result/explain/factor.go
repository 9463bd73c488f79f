package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
)

// The names of factors. Transport is transport and framing together, since few framings work over more than one
// transport. When a difference is split, the two are separated as far as the arms allow it.
const (
	Transport     = "transport"
	Framing       = "framing"
	Encoding      = "encoding"
	TLS           = "TLS"
	ConnectionsOf = "connections"
	DataSet       = "data"
	DriverOf      = "driver"
	ServerWork    = "server's extra work"
)

// facts are the properties of the arms in which they can differ.
type facts struct {
	result  *result.Result
	factors []Factor
	wires   []wire // of each arm
}

// wire is a level of [Transport]. It includes the libraries if arms with the same transport and framing differ in
// them.
type wire struct{ transport, framing, server, client string }

func (w wire) String() string {
	name := w.transport
	switch {
	case w.framing == "" || w.framing == "HTTP":
	case w.framing == "gRPC" && w.transport == "HTTP/2", w.transport == "TCP":
		name = w.framing
	default:
		name = w.framing + " over " + w.transport
	}
	if libraries := join(w.server, w.client); libraries != "" {
		name += " (" + libraries + ")"
	}
	return name
}

func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), ", ")
}

// factsOf collects the properties in which the arms of a result differ.
func factsOf(r *result.Result, arms int) facts {
	f := facts{result: r, wires: wiresOf(r, arms)}
	for _, one := range []struct {
		name string
		of   func(arm int) string
	}{
		{Transport, func(a int) string { return f.wires[a].String() }},
		{Encoding, func(a int) string { return result.ArmOf(r, a).Encoding }},
		{TLS, func(a int) string { return words.Choose(result.ArmOf(r, a).Secure, "on", "off") }},
		{ConnectionsOf, connectionsOf(r, arms)},
		{DataSet, func(a int) string { return dataOf(r, a) }},
		{DriverOf, func(a int) string { return metric.DriverOf(r.Plan.Arms[a]) }},
		{ServerWork, func(a int) string {
			return words.Choose(r.Plan.Arms[a].Inject == "", "none", r.Plan.Arms[a].Inject)
		}},
	} {
		factor := Factor{Name: one.name}
		for a := range arms {
			level := one.of(a)
			at := slices.Index(factor.Levels, level)
			if at < 0 {
				at = len(factor.Levels)
				factor.Levels = append(factor.Levels, level)
			}
			factor.Of = append(factor.Of, at)
		}
		if len(factor.Levels) > 1 {
			f.factors = append(f.factors, factor)
		}
	}
	return f
}

func dataOf(r *result.Result, arm int) string {
	if data := result.ArmOf(r, arm).Data; data != "" {
		return data
	}
	return r.Plan.DataOf(r.Plan.Arms[arm])
}

// framingOf is an arm's framing. Results from before the field existed have none; for the protocols of that time it
// follows from the name.
func framingOf(a result.Arm) string {
	if a.Framing != "" {
		return a.Framing
	}
	for _, known := range []struct{ prefix, framing string }{
		{"grpc", "gRPC"},
		{"connect", "Connect"},
		{"graphql", "GraphQL"},
		{"netrpc", "net/rpc"},
		{"sse", "SSE"},
	} {
		if strings.HasPrefix(a.Protocol, known.prefix) {
			return known.framing
		}
	}
	return "HTTP"
}

// wiresOf returns the arms' transports and framings, with the libraries if these separate arms with the same ones.
func wiresOf(r *result.Result, arms int) []wire {
	servers, clients := map[wire][]string{}, map[wire][]string{}
	add := func(to map[wire][]string, w wire, library string) {
		if !slices.Contains(to[w], library) {
			to[w] = append(to[w], library)
		}
	}
	bare := make([]wire, arms)
	for a := range arms {
		is := result.ArmOf(r, a)
		w := wire{transport: is.Transport, framing: framingOf(is)}
		bare[a] = w
		add(servers, w, r.ServedBy(a))
		if !r.Plan.Arms[a].Raw() {
			add(clients, w, is.Client)
		}
	}
	wires := slices.Clone(bare)
	for a, w := range bare {
		if len(servers[w]) > 1 {
			wires[a].server = "served by " + r.ServedBy(a)
		}
		if len(clients[w]) > 1 && !r.Plan.Arms[a].Raw() {
			wires[a].client = "called by " + result.ArmOf(r, a).Client
		}
	}
	return wires
}

// connectionsOf is the number of an arm's connections in the plan. If the plan sets none, they are no factor, because
// they follow from the transport.
func connectionsOf(r *result.Result, arms int) func(int) string {
	set := slices.ContainsFunc(r.Plan.Arms[:arms], func(a plan.Arm) bool { return a.Connections > 0 })
	return func(a int) string {
		switch n := r.Plan.Arms[a].Connections; {
		case !set:
			return ""
		case n > 0:
			return strconv.Itoa(n)
		case result.ArmOf(r, a).Multiplexed:
			return "1"
		}
		return "one for each call"
	}
}

// index finds a factor; −1 if the arms do not differ in it.
func (f *facts) index(name string) int {
	return slices.IndexFunc(f.factors, func(x Factor) bool { return x.Name == name })
}

// levels returns an arm's level of every factor.
func (f *facts) levels(arm int) []int {
	all := make([]int, len(f.factors))
	for i, x := range f.factors {
		all[i] = x.Of[arm]
	}
	return all
}

// describe names levels: "transport gRPC, TLS off".
func (f *facts) describe(factors, levels []int) string {
	all := make([]string, len(factors))
	for i, x := range factors {
		all[i] = f.factors[x].Name + " " + f.factors[x].Levels[levels[i]]
	}
	return strings.Join(all, ", ")
}

// names joins the names of factors: "transport × encoding".
func (f *facts) names(factors []int) string {
	all := make([]string, len(factors))
	for i, x := range factors {
		all[i] = f.factors[x].Name
	}
	return strings.Join(all, " × ")
}

// held returns a note if arms held different numbers of connections without a setting. Their cost is part of the
// transport's figures.
func (f *facts) held(trials [][]*result.Trial) string {
	if f.index(ConnectionsOf) >= 0 {
		return ""
	}
	first, most, least := -1, -1, -1
	open := make([]uint64, len(trials))
	for a, rounds := range trials {
		for _, t := range rounds {
			if t != nil {
				open[a] = max(open[a], t.Open)
			}
		}
		switch {
		case open[a] == 0:
		case first < 0:
			first, most, least = a, a, a
		case open[a] > open[most]:
			most = a
		case open[a] < open[least]:
			least = a
		}
	}
	if first < 0 || open[most] == open[least] {
		return ""
	}
	return fmt.Sprintf("%s held %d connections and %s %d: what that does is in the figures of transport; "+
		"--connections makes it a factor",
		f.result.ArmName(most), open[most], f.result.ArmName(least), open[least])
}
