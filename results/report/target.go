package report

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// process describes the process at an arm's target, as far as is known.
func process(a result.Arm) string {
	p := a.Process
	switch {
	case p == nil:
		return ""
	case p.Unpinned != "":
		return knownAs(p) + ", not pinned: " + p.Unpinned
	case len(p.CPUs) > 0:
		return knownAs(p) + " on CPU " + numbers(p.CPUs)
	}
	return knownAs(p) + ", not pinned"
}

func knownAs(p *result.Process) string {
	ids := make([]string, len(p.PIDs))
	for i, pid := range p.PIDs {
		ids[i] = fmt.Sprint(pid)
	}
	text := "process " + strings.Join(ids, " and ")
	if p.ByPort {
		text += " (found by its port)"
	}
	return text
}

// placed says where servers and drivers ran, and names those that ran in another place.
func placed(r *result.Result) string {
	p := r.Placement
	driver := "driver on CPU " + numbers(p.DriverCPUs)
	pinned := len(p.ServerCPUs) > 0 || len(p.DriverCPUs) > 0
	var elsewhere []string
	for arm, a := range r.Plan.Arms {
		placed := arm < len(r.Arms) && r.Arms[arm].Process != nil && len(r.Arms[arm].Process.CPUs) > 0
		if a.Target != "" && !placed {
			elsewhere = append(elsewhere, r.ArmName(arm))
		}
	}
	switch {
	case !pinned && len(elsewhere) == 0:
		return "server and driver not pinned"
	case !pinned:
		driver = "driver not pinned"
	case len(elsewhere) == 0:
		return "server on CPU " + numbers(p.ServerCPUs) + ", " + driver
	}
	return strings.Join(filled(oursAt(r, len(elsewhere), pinned), driver,
		"where "+List(elsewhere)+" "+choose(len(elsewhere) == 1, "runs is its own", "run is their own")), ", ")
}

// oursAt says where the servers that we started ran. others is the number of servers that we did not start.
func oursAt(r *result.Result, others int, pinned bool) string {
	switch {
	case others == len(r.Plan.Arms):
		return ""
	case !pinned:
		return "servers that were started here not pinned"
	}
	return "other servers on CPU " + numbers(r.Placement.ServerCPUs)
}

// lasting says that servers run by others are not started afresh.
func lasting(r *result.Result) string {
	var all []string
	for arm, a := range r.Plan.Arms {
		if a.Target != "" {
			all = append(all, r.ArmName(arm))
		}
	}
	if len(all) == 0 {
		return ""
	}
	text := List(all) + choose(len(all) == 1, " is", " are") +
		" not started afresh each round: a runtime that compiles while it runs is warmer in the last than in the first"
	if slices.ContainsFunc(r.Plan.Arms, func(a plan.Arm) bool { return a.Target == "" }) {
		text += ", while the other servers start afresh"
	}
	return text
}
