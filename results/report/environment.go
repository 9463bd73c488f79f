package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab/lab/result"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report/block"
)

// EnvironmentBlocks lists the machine, its settings and all versions, each under its heading.
func EnvironmentBlocks(r *result.Result) []block.Block {
	e := r.Environment
	memory := ""
	if e.MemoryBytes > 0 {
		memory = Significant(float64(e.MemoryBytes)/(1<<30), 3) + " GiB"
	}
	commit := e.Commit
	if e.Dirty {
		commit += ", with changes that were not committed"
	}
	machine := withText(
		block.Fact{Name: "host", Text: e.Host},
		block.Fact{Name: "system", Text: strings.TrimSpace(e.OS + " " + e.Kernel)},
		block.Fact{Name: "CPU", Text: e.CPU}, block.Fact{Name: "CPUs", Text: strconv.Itoa(e.CPUs)},
		block.Fact{Name: "memory", Text: memory}, block.Fact{Name: "governor", Text: e.Governor},
		block.Fact{Name: "clock source", Text: e.ClockSource}, block.Fact{Name: "virtual", Text: e.Virtual},
	)
	versions := withText(block.Fact{Name: "wirelab", Text: commit}, block.Fact{Name: "Go", Text: e.Go})
	all := []block.Block{
		block.Heading{Text: "Environment"},
		append(machine, sorted(e.Settings)...),
	}
	if len(r.Hosts) > 0 {
		all = append(all, block.Heading{Text: "Hosts"}, hostFacts(r))
	}
	return append(all,
		block.Heading{Text: "Versions"},
		append(versions, sorted(e.Libraries)...),
	)
}

// hostFacts are the machines that servers and drivers ran on, where that was not the runner's own.
func hostFacts(r *result.Result) (facts block.Facts) {
	for _, h := range r.Hosts {
		text := fmt.Sprintf("%s at %s; %d CPUs, %s; round trip %s; clock off by %s ± %s",
			strings.Join(h.Roles, " and "), h.Address, h.Environment.CPUs, h.Environment.CPU,
			phrases.Brief(time.Duration(h.RoundTrip)), phrases.Brief(time.Duration(h.Offset)),
			phrases.Brief(time.Duration(h.Uncertainty)))
		if len(h.Findings) > 0 {
			text += "; " + strings.Join(h.Findings, "; ")
		}
		facts = append(facts, block.Fact{Name: h.Name, Text: text})
	}
	return facts
}

// withText removes facts without a text.
func withText(all ...block.Fact) block.Facts {
	return slices.DeleteFunc(all, func(f block.Fact) bool { return f.Text == "" || f.Text == "0" })
}

// sorted returns facts in the order of their names.
func sorted(all map[string]string) (facts block.Facts) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		facts = append(facts, block.Fact{Name: name, Text: all[name]})
	}
	return facts
}
