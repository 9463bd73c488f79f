package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tools are the load generators of others that can drive an arm, as driver=tool:NAME.
// Package tool knows how each is told what to do; a test keeps the two lists the same.
func Tools() []string { return []string{"wrk", "h2load", "ghz"} }

// Drivers are all drivers that an arm can have.
func Drivers() []string {
	all := []string{DriverClient, DriverRaw}
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

// checkTools checks a complete plan in which tools drive arms.
func (p Plan) checkTools() error {
	at := slices.IndexFunc(p.Arms, func(a Arm) bool { return a.Tool() != "" })
	if at < 0 {
		return nil
	}
	driver := fmt.Sprintf("arms[%d].driver", at)
	for _, l := range p.Loads {
		if l.Open() || l.Streaming() || l.Messaging() {
			return bad(driver, p.Arms[at].Driver,
				"client or raw with "+l.String()+": tools make calls in a closed loop (in_flight, --in-flight) only")
		}
	}
	switch {
	case p.Slice%sliceTool != 0:
		return bad("slice", p.Slice, "whole seconds, since "+p.Arms[at].Tool()+" drives an arm, and is told those only")
	case !slices.Contains(toolMetrics(), p.Primary):
		return bad("primary", p.Primary,
			strings.Join(toolMetrics(), ", ")+": of an arm that "+p.Arms[at].Tool()+" drives no other is known")
	}
	return nil
}
