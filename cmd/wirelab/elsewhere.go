package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"wirelab"
	"wirelab/lab/databases"
	"wirelab/lab/network"
	"wirelab/lab/plan"
	"wirelab/lab/presets"
	"wirelab/lab/result"
	"wirelab/pipeline/stack"
	"wirelab/workload/catalog"
)

// describe is an error for the person at the terminal. Of a name that is not known where it was written it
// says what the name stands for elsewhere: "kafka" in the place of a preset is a protocol.
func (a *app) describe(err error) string { return a.Services.Hidden(a.described(err)) }

func (a *app) described(err error) string {
	text := describe(err)
	if a.Unkept != nil && errors.Is(err, a.Unkept) && err != a.Unkept { //nolint:errorlint // it alone
		return text + "; " + describe(a.Unkept)
	}
	coded := new(wirelab.Error)
	if !errors.As(err, &coded) || coded.Unknown == "" {
		return text
	}
	says := a.elsewhere(coded.Unknown)
	quoted := fmt.Sprintf("%.100q", coded.Unknown)
	if says == "" || !strings.Contains(text, quoted) {
		return text
	}
	return strings.Replace(text, quoted, quoted+"; "+coded.Unknown+" is "+says, 1)
}

// elsewhere says what a name stands for, and where it is written; "" if nothing has that name.
func (a *app) elsewhere(name string) string {
	var says []string
	is := func(what string) { says = append(says, what) }
	var carried []string
	for _, w := range a.Catalog {
		if slices.Contains(catalog.ProtocolNames(w), name) {
			carried = append(carried, w.Name)
		}
		for _, o := range w.Operations {
			if o.Name == name || w.Name+"."+o.Name == name {
				is("an operation: --workload " + w.Name + "." + o.Name)
			}
		}
		if w.Name == name {
			is("a workload: --workload " + a.ExampleOf(w))
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
	case slices.Contains(result.ThresholdMetrics(), name):
		is("a metric of --fail-if")
	}
	if slices.Contains([]string{databases.Postgres, databases.Embedded, "memory"}, name) {
		is("a database: --db " + name)
	}
	return strings.Join(says, ", and ")
}
