package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tools are the load generators of others that can drive an arm, as driver=tool:NAME.
// Package tool knows how each is told what to do; a test keeps the two lists the same.
func Tools() []string { return []string{"wrk", "h2load", "ghz", "k6", toolDirect} }

// ToolArrivals is the law of the calls that a tool makes at a rate; "" of one that cannot keep a rate.
func ToolArrivals(tool string) string {
	switch tool {
	case "h2load", "ghz", "k6":
		return Constant
	case toolDirect:
		return Poisson
	}
	return ""
}

// DirectProtocol is the protocol of arms that have no server: a tool runs the statements of the service on the
// database itself.
const (
	DirectProtocol = "postgres"
	toolDirect     = "pgbench"
)

// Direct reports whether the arm has no server, and a tool asks the database itself.
func (a Arm) Direct() bool { return a.Protocol == DirectProtocol }

// checkDirect checks an arm without a server, and that a tool that asks a database has such an arm.
func (a Arm) checkDirect() error {
	switch {
	case a.Direct() && a.Tool() != toolDirect:
		return bad("driver", a.Driver,
			DriverTool+toolDirect+": an arm "+DirectProtocol+" is the database without a service")
	case !a.Direct() && a.Tool() == toolDirect:
		return bad("protocol", a.Protocol,
			DirectProtocol+": "+toolDirect+" runs statements of a database, and calls no service")
	case a.Direct() && (a.Server != "" || a.Inject != "" || a.Target != ""):
		return bad("protocol", a.Protocol, "without server, inject and target: it has no server")
	}
	return nil
}

// Drivers are all drivers that an arm can have.
func Drivers() []string {
	all := []string{DriverClient, DriverRaw, DriverDescribed}
	for _, tool := range Tools() {
		all = append(all, DriverTool+tool)
	}
	return all
}

// Slices of plans with tools. A tool is a process for each slice, and most can be told whole seconds only.
const (
	defaultSlicesTool = 3
	sliceTool         = Duration(time.Second)
)

// tooled reports whether a load generator of others drives one of the arms.
func (p Plan) tooled() bool {
	return slices.ContainsFunc(p.Arms, func(a Arm) bool { return a.Tool() != "" })
}

// toolMetrics are what is known of an arm that a tool drives, and that a plan may be about.
func toolMetrics() []string {
	return []string{ServerCPU, Throughput, ClientCPU, DatabaseCPU, BackendCPU}
}

// toolLaw is the law of arrivals that a plan's open loops have if they name none: that of its first tool.
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
					"client or raw with "+l.String()+": tools make calls, in a closed loop or at one rate")
			}
			if err := a.checkToolRate(l, driver, fmt.Sprintf("loads[%d].arrivals", n)); err != nil {
				return err
			}
		}
		switch {
		case p.Slice%sliceTool != 0:
			return bad("slice", p.Slice, "whole seconds, since "+a.Tool()+" drives an arm, and is told those only")
		case !slices.Contains(toolMetrics(), p.Primary):
			return bad("primary", p.Primary,
				strings.Join(toolMetrics(), ", ")+": of an arm that "+a.Tool()+" drives no other is known")
		case a.Direct() && p.DatabaseOf(a) != DirectProtocol:
			return bad("database", p.DatabaseOf(a),
				DirectProtocol+": "+a.Tool()+" asks no other database (--db "+DirectProtocol+")")
		}
	}
	return nil
}

// checkToolRate checks that a tool can make an open loop's calls as the plan says.
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
			a.Tool()+" cannot keep a rate, it calls again as soon as it is answered (in_flight, --in-flight)")
	}
	return bad(arrivals, l.Arrivals, law+": "+a.Tool()+" has no other at a rate")
}
