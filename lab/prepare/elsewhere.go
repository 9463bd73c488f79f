package prepare

import (
	"slices"
	"strings"

	"wirelab/lab/databases"
	"wirelab/lab/network"
	"wirelab/lab/plan"
	"wirelab/lab/presets"
	"wirelab/lab/result/threshold"
	"wirelab/pipeline/stack"
	"wirelab/workload/catalog"
)

// Elsewhere says what a name means in other places, and how it is used there. It returns "" if nothing has that name.
func Elsewhere(l *Lab, name string) string {
	var says []string
	is := func(what string) { says = append(says, what) }
	var carried []string
	for _, w := range l.Catalog {
		if slices.Contains(catalog.ProtocolNames(w), name) {
			carried = append(carried, w.Name)
		}
		for _, o := range w.Operations {
			if o.Name == name || w.Name+"."+o.Name == name {
				is("an operation: --workload " + w.Name + "." + o.Name)
			}
		}
		if w.Name == name {
			is("a workload: --workload " + l.ExampleOf(w))
		}
	}
	if len(carried) > 0 {
		is("a protocol of " + strings.Join(carried, ", "))
	}
	if slices.Contains(presets.Names(), name) {
		is("a preset: wirelab run " + name)
	}
	if slices.ContainsFunc(network.Presets(), func(p network.Preset) bool { return p.Name == name }) {
		is("a network: --network " + name)
	}
	if slices.Contains(plan.Scenarios(), name) {
		is("a scenario of messaging: --scenario " + name)
	}
	if slices.Contains(stack.Brokers(), name) && len(carried) == 0 {
		is("a broker: wirelab up logging --broker " + name)
	}
	switch {
	case slices.Contains(plan.MetricIDs(), name):
		is("a metric: --primary " + name)
	case slices.Contains(threshold.ThresholdMetrics(), name):
		is("a metric of --fail-if")
	}
	if slices.Contains([]string{databases.Postgres, databases.Embedded, "memory"}, name) {
		is("a database: --db " + name)
	}
	return strings.Join(says, ", and ")
}
