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

// Need is the most that one process of an experiment takes of what the system limits, as far
// as the plan tells it: what it is short of would only show as calls that fail, or as silence.
type Need struct {
	// Descriptors are the files and connections that the driver of Arm has open, Connections
	// of them to its server at once.
	Descriptors, Connections int
	Arm                      string
	// Callers are the calls in flight that all drivers together have room for, with
	// client libraries, and Memory is what they may take.
	Callers int
	Memory  uint64
}

const (
	// ownDescriptors are those of a process that are no connections to a server.
	ownDescriptors = 40
	// callerMemory is what a caller's histograms hold at most: see [load.Runner].
	callerMemory = 1_300_000
)

// Needs returns what a complete plan needs. Loads of messages are left out: how many
// connections those take is the broker's client's matter.
func Needs(p plan.Plan, arms []result.Arm) Need {
	var most Need
	if kinds.OfPlan(p).Run.Cluster {
		return most
	}
	for i, arm := range p.Arms {
		connections, callers := 0, 0
		seen := map[control.Load]bool{}
		for _, l := range p.Loads {
			// As the driver has it: loads that differ only in when calls are due share theirs.
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
			held *= 2 // for a time it is connected to a null responder too
		}
		if p.Network != "" { // a relay has two for each, and a process of its own for each server
			held = max(held, 2*connections)
		}
		if held > most.Connections {
			most.Connections, most.Descriptors, most.Arm = held, held+ownDescriptors, arms[i].Name
		}
	}
	most.Memory = uint64(most.Callers) * callerMemory
	return most
}

// Refused is nil, or says which limit keeps the experiment from being measured.
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

// Warnings say which limits may spoil the figures, and what to do.
func (n Need) Warnings(l probe.Limits) []string {
	var all []string
	if l.Memory > 0 && n.Memory > l.Memory {
		all = append(all, fmt.Sprintf("the drivers have room for %d calls in flight, which may take %s of memory, and "+
			"%s are left: "+
			"have fewer calls in flight or arms, or --driver raw, which needs no memory for each",
			n.Callers, mebibytes(n.Memory), mebibytes(l.Memory)))
	}
	switch {
	case l.Quota > 0 && (l.Quota < 2 || l.CPUs > 0 && l.Quota < float64(l.CPUs)):
		all = append(all, fmt.Sprintf("this control group may use the time of %.3g CPUs and runs on %d: once that is "+
			"used up all its processes are stopped, "+
			"and calls seem slow; give it whole CPUs without a quota, as with --cpuset-cpus", l.Quota, l.CPUs))
	case l.CPUs == 1:
		all = append(all, "there is one CPU, which server and driver share: times have the other's work in them; give "+
			"it two or more")
	}
	return all
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
