package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"wirelab/lab/stat"
)

// printTable prints each generator's cost in each scenario, and ours by it.
func printTable(out io.Writer, found []outcome) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer table.Flush() //nolint:errcheck // nothing is left to tell it to
	for _, s := range scenarios() {
		if !slices.ContainsFunc(found, func(o outcome) bool { return o.Scenario == s.name }) {
			continue
		}
		fmt.Fprintf(table, "%s\n  generator\tCPU µs/request\t95 %% CI\trequests/s\traw by it\t95 %% CI\tat most\tload by it\t95 %% CI\tat most\t\n", s.name)
		for _, tool := range s.tools {
			cost := costs(found, s.name, tool)
			if len(cost) < 2 {
				continue
			}
			mean, err := stat.GeometricMean(cost, stat.DefaultAlpha)
			if err != nil {
				continue // not reached: a run without requests is an error before
			}
			fmt.Fprintf(table, "  %s\t%.2f\t%.2f to %.2f\t%.0f\t%s\t%s\t\n",
				tool, mean.Value, mean.Low, mean.High, rate(found, s.name, tool),
				against(s.targets, ours, tool, costs(found, s.name, ours), cost), against(s.load, load, tool, costs(found, s.name, load), cost))
		}
	}
}

// against compares the cost of one of ours with a rival's, round by round.
func against(targets map[string]float64, own, tool string, cost, theirs []float64) string {
	if tool == own {
		return "\t\t"
	}
	e, err := stat.PairedRatio(theirs, cost, stat.DefaultAlpha)
	if err != nil {
		return "\t\t"
	}
	limit := ""
	if most, ok := targets[tool]; ok {
		limit = fmt.Sprintf("%.2f: ", most)
		if e.Ratio <= most {
			limit += "met"
		} else {
			limit += "MISSED"
		}
	}
	return fmt.Sprintf("%.2f\t%.2f to %.2f\t%s", e.Ratio, e.Low, e.High, limit)
}

// costs are a generator's costs in the order of rounds.
func costs(found []outcome, scenario, tool string) []float64 {
	var all []float64
	for _, o := range found {
		if o.Scenario == scenario && o.Tool == tool {
			all = append(all, o.perRequest())
		}
	}
	return all
}

// rate is the requests per second of all rounds together.
func rate(found []outcome, scenario, tool string) float64 {
	requests, seconds := 0.0, 0.0
	for _, o := range found {
		if o.Scenario == scenario && o.Tool == tool {
			requests += float64(o.Requests)
			seconds += o.Seconds
		}
	}
	return requests / seconds
}
