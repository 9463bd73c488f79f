package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tools returns the names of the load generators that can drive an arm, as driver=tool:NAME. Package tool knows how
// to run each; a test keeps the two lists the same.
func Tools() []string { return []string{"wrk", "h2load", "ghz", "k6", toolDirect} }

// ToolArrivals is the distribution of the calls that a tool makes at a rate; "" if the tool cannot keep a rate.
func ToolArrivals(tool string) string {
	switch tool {
	case "h2load", "ghz", "k6":
		return Constant
	case toolDirect:
		return Poisson
	}
	return ""
}

// DirectProtocol is the protocol of arms without a server: a tool runs the statements of the service directly on the
// database.
const (
	DirectProtocol = "postgres"
	toolDirect     = "pgbench"
)

// Direct reports whether the arm has no server, and a tool calls the database directly.
func (a Arm) Direct() bool { return a.Protocol == DirectProtocol }

// checkDirect checks an arm without a server. It also checks that a tool for databases drives no other arm.
func (a Arm) checkDirect() error {
	switch {
	case a.Direct() && a.Tool() != toolDirect:
		return bad("driver", a.Driver,
			DriverTool+toolDirect+": an arm "+DirectProtocol+" is the database without a service")
	case !a.Direct() && a.Tool() == toolDirect:
		return bad("protocol", a.Protocol,
			DirectProtocol+": "+toolDirect+" runs statements on a database, and cannot call a service")
	case a.Direct() && (a.Server != "" || a.Inject != "" || a.Target != ""):
		return bad("protocol", a.Protocol, "without server, inject and target: it has no server")
	}
	return nil
}

// Drivers returns all drivers that an arm can have.
func Drivers() []string {
	all := []string{DriverClient, DriverRaw, DriverDescribed}
	for _, tool := range Tools() {
		all = append(all, DriverTool+tool)
	}
	return all
}

// Slices of plans with tools. A tool is one process for each slice, and most accept only whole seconds.
const (
	defaultSlicesTool = 3
	sliceTool         = Duration(time.Second)
)

// tooled reports whether another load generator drives one of the arms.
func (p Plan) tooled() bool {
	return slices.ContainsFunc(p.Arms, func(a Arm) bool { return a.Tool() != "" })
}

// toolMetrics are the metrics that are known for an arm driven by a tool, and that can be primary.
func toolMetrics() []string {
	return []string{ServerCPU, Throughput, ClientCPU, DatabaseCPU, BackendCPU}
}

// toolLaw is the default distribution of arrivals in a plan's open loops: that of its first tool at a rate.
func (p Plan) toolLaw() string {
	for _, a := range p.Arms {
		if law := ToolArrivals(a.Tool()); law != "" {
			return law
		}
	}
	return ""
}

// checkTools checks a complete plan in which tools drive arms.
func (p Plan) checkTools() error {
	for i, a := range p.Arms {
		if a.Tool() == "" {
			continue
		}
		driver := fmt.Sprintf("arms[%d].driver", i)
		for n, l := range p.Loads {
			if !l.traits().calls || len(l.Stages) > 0 || l.Recording.Given() {
				return bad(driver, a.Driver,
					"client or raw with "+l.String()+": tools make calls in a closed loop or at a constant rate")
			}
			if err := a.checkToolRate(l, driver, fmt.Sprintf("loads[%d].arrivals", n)); err != nil {
				return err
			}
		}
		switch {
		case p.Slice%sliceTool != 0:
			return bad("slice", p.Slice, "whole seconds, since "+a.Tool()+" drives an arm, and accepts no others")
		case !slices.Contains(toolMetrics(), p.Primary):
			return bad("primary", p.Primary,
				strings.Join(toolMetrics(), ", ")+": no other is known for an arm that "+a.Tool()+" drives")
		case a.Direct() && p.DatabaseOf(a) != DirectProtocol:
			return bad("database", p.DatabaseOf(a),
				DirectProtocol+": "+a.Tool()+" can use no other database (--db "+DirectProtocol+")")
		}
	}
	return nil
}

// checkToolRate checks that a tool can make the calls of an open load as planned.
func (a Arm) checkToolRate(l Load, driver, arrivals string) error {
	law := ToolArrivals(a.Tool())
	switch {
	case !l.Open() || l.Arrivals == law:
		return nil
	case law == "":
		var can []string
		for _, other := range Tools() {
			if ToolArrivals(other) != "" {
				can = append(can, DriverTool+other)
			}
		}
		return bad(driver, a.Driver, "one of "+strings.Join(can, ", ")+" with "+l.String()+": "+
			a.Tool()+" cannot keep a rate, but calls again as soon as it has a reply (in_flight, --in-flight)")
	}
	return bad(arrivals, l.Arrivals, law+": "+a.Tool()+" makes calls at a rate in no other way")
}
