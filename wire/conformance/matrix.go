package conformance

import (
	"fmt"
	"slices"
	"strings"

	"wirelab"
)

// Absences tells what is missing from the matrix of workload, operation and
// protocol: a protocol that a workload neither carries nor declares as a hole,
// an operation that is neither, a hole without a reason; and where two
// workloads mean different things by one protocol's name. required are the
// protocols every workload must have; those of any workload are added, since
// a column with a gap is a comparison with a gap.
func Absences(works []wirelab.Work, required []string) []string {
	protocols := slices.Clone(required)
	for _, w := range works {
		for _, p := range declared(w) {
			if !p.Pipeline {
				protocols = append(protocols, p.Name)
			}
		}
	}
	slices.Sort(protocols)
	protocols = slices.Compact(protocols)
	var absent []string
	for _, w := range works {
		for _, protocol := range protocols {
			at := slices.IndexFunc(w.Cells, func(c wirelab.Cell) bool { return c.Protocol.Name == protocol })
			if slices.ContainsFunc(w.Missing, func(m wirelab.Missing) bool { return m.Protocol.Name == protocol }) {
				if at >= 0 {
					absent = append(absent, fmt.Sprintf("%s/%s is declared a hole and carried too", w.Name, protocol))
				}
				continue
			}
			if at < 0 {
				absent = append(absent, fmt.Sprintf(
					"%s has no binding of %s: write workload/%s/bind/%s.go, or a hole with its reason, and run make "+
						"generate",
					w.Name, protocol, w.Name, strings.ReplaceAll(protocol, "-", "_")))
				continue
			}
			absent = append(absent, holeFaults(w, w.Cells[at])...)
		}
		absent = append(absent, twice(w)...)
	}
	return append(absent, disagreements(works)...)
}

// disagreements tells which protocols are declared in two ways: a report
// would show two things under one name.
func disagreements(works []wirelab.Work) []string {
	type claim struct {
		workload string
		protocol wirelab.Protocol
	}
	var faults []string
	first := map[string]claim{}
	for _, w := range works {
		for _, p := range declared(w) {
			before, known := first[p.Name]
			if !known {
				first[p.Name] = claim{w.Name, p}
				continue
			}
			if before.protocol != p {
				faults = append(faults, fmt.Sprintf(
					"%s is one thing in %s and another in %s: %+v and %+v", p.Name, before.workload, w.Name,
					before.protocol, p))
			}
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults) // a protocol has a cell for each pair of libraries
}

// declared returns the protocol of each cell and each hole of a workload.
func declared(w wirelab.Work) []wirelab.Protocol {
	var all []wirelab.Protocol
	for _, c := range w.Cells {
		all = append(all, c.Protocol)
	}
	for _, m := range w.Missing {
		all = append(all, m.Protocol)
	}
	return all
}

// unserved tells what is wrong with what a binding has at its ends: it must
// have both, unless it is declared to have nothing.
func unserved[S any](b wirelab.Binding[S]) []string {
	var faults []string
	switch {
	case b.Missing == "" && (len(b.Servers) == 0 || len(b.Clients) == 0):
		faults = append(faults, "has no server or no client: a hole too must answer, unless wirelab.Hole declares the "+
			"whole protocol one")
	case b.Missing != "" && (len(b.Servers) > 0 || len(b.Clients) > 0 || len(b.Holes) > 0):
		faults = append(faults, "is declared a hole as a whole, and yet has servers, clients or holes")
	}
	if b.Missing != "" && !judgeable(b.Missing) {
		faults = append(faults,
			fmt.Sprintf("is a hole, and the reason %q is not a sentence a reader can judge", b.Missing))
	}
	return faults
}

// judgeable reports whether a hole's reason is long enough to be one.
func judgeable(reason string) bool { return len(strings.Fields(reason)) >= 4 }

// holeFaults tells which holes of a cell say nothing, or are of nothing.
func holeFaults(w wirelab.Work, cell wirelab.Cell) []string {
	var faults []string
	for name, reason := range cell.Holes {
		if !slices.ContainsFunc(w.Operations, func(o wirelab.OperationInfo) bool { return o.Name == name }) {
			faults = append(faults,
				fmt.Sprintf("%s/%s has a hole %q, which is no operation", w.Name, cell.Protocol.Name, name))
		}
		if strings.TrimSpace(reason) == "" {
			faults = append(faults,
				fmt.Sprintf("%s/%s has a hole %s without a reason", w.Name, cell.Protocol.Name, name))
		}
	}
	slices.Sort(faults)
	return faults
}

// twice tells which cells of a workload are there twice, so that one of them
// could not be named.
func twice(w wirelab.Work) []string {
	var faults []string
	seen := map[string]bool{}
	for _, c := range w.Cells {
		name := fmt.Sprintf("%s/%s/%s→%s", w.Name, c.Protocol.Name, c.Client, c.Server)
		if seen[name] {
			faults = append(faults, name+" is there twice")
		}
		seen[name] = true
	}
	return faults
}
