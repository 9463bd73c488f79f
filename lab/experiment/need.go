package experiment

import (
	"fmt"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Need is the most that one process of an experiment needs of resources that the system limits, as far as the plan
// determines it. Without a check, a shortage would only show as calls that fail or hang.
type Need struct {
	// Descriptors is how many files and connections the driver of Arm has open. Connections of them are to its server,
	// at the same time.
	Descriptors, Connections int
	Arm                      string
	// Callers is how many calls in flight all drivers together have memory for, with client libraries. Memory is how
	// many bytes that may take.
	Callers int
	Memory  uint64
}

const (
	// ownDescriptors is how many descriptors of a process are not connections to a server.
	ownDescriptors = 40
	// callerMemory is the most that the histograms of one caller take, in bytes: see [load.Runner].
	callerMemory = 1_300_000
)

// Needs returns what a complete plan needs. Loads of messages are left out: the broker's client decides how many
// connections those take.
func Needs(p plan.Plan, arms []result.Arm) Need {
	var most Need
	if kinds.OfPlan(p).Run.Cluster {
		return most
	}
	for i, arm := range p.Arms {
		connections, callers := 0, 0
		seen := map[control.Load]bool{}
		for _, l := range p.Loads {
			// As in the driver, loads that differ only in when calls are due share their connections.
			same := control.Load{
				Operation: p.OperationOf(l), Requests: p.RequestsOf(l), InFlight: l.InFlight,
				Connections: Connections(arm, l, arms[i].Multiplexed), Streams: l.Streams,
			}
			if seen[same] {
				continue
			}
			seen[same] = true
			connections += min(same.Connections, max(l.Width(), 1))
			if !arm.Raw() && !kinds.Of(l).Run.Held {
				callers += l.InFlight
			}
		}
		most.Callers += callers
		held := connections
		if p.Floor == plan.FloorAuto && arms[i].Floorless == "" {
			held *= 2 // it is also connected to a null responder for a time
		}
		if p.Network != "" { // a relay has two for each, and there is one relay process for each server
			held = max(held, 2*connections)
		}
		if held > most.Connections {
			most.Connections, most.Descriptors, most.Arm = held, held+ownDescriptors, arms[i].Name
		}
	}
	most.Memory = uint64(most.Callers) * callerMemory
	return most
}

// Refused returns an error if a limit makes the measurement impossible; otherwise nil.
func (n Need) Refused(l probe.Limits) error {
	if l.Descriptors == 0 || uint64(n.Descriptors) <= l.Descriptors {
		return nil
	}
	return wirelab.Errorf(wirelab.ResourceExhausted,
		"%s needs %d connections at once, and so %d open files in one process, and the limit is %d (ulimit -Hn): "+
			"raise it, in a container with --ulimit nofile=%d, or have fewer calls in flight or connections "+
			"(connections=N)",
		n.Arm, n.Connections, n.Descriptors, l.Descriptors, n.Descriptors)
}

// Warnings returns which limits may spoil the figures, and what to do.
func (n Need) Warnings(l probe.Limits) []string {
	var all []string
	if l.Memory > 0 && n.Memory > l.Memory {
		all = append(all, fmt.Sprintf("the drivers need room for %d calls in flight, which may take %s of memory, "+
			"and %s are left: "+
			"have fewer calls in flight or arms, or --driver raw, which needs no memory for each",
			n.Callers, mebibytes(n.Memory), mebibytes(l.Memory)))
	}
	switch {
	case l.Quota > 0 && (l.Quota < 2 || l.CPUs > 0 && l.Quota < float64(l.CPUs)):
		all = append(all, fmt.Sprintf("this control group may use the time of %.3g CPUs and runs on %d: once that "+
			"time is used up, the kernel stops all its processes for a while, "+
			"and calls seem slow; give it whole CPUs without a quota, as with --cpuset-cpus", l.Quota, l.CPUs))
	case l.CPUs == 1:
		all = append(all, "there is one CPU for server and driver, so that each delays the other; give "+
			"the experiment two or more")
	}
	return all
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
