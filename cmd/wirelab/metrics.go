package main

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result/threshold"
)

// metricsText is the text of "wirelab help metrics".
func metricsText() string {
	var b strings.Builder
	b.WriteString("Names of metrics, for --fail-if and --primary. A percentile may be any: p95, p12.5,\n" +
		"p99.99, response-p95, stored-p99.99.\n\n")
	words := threshold.ThresholdMetrics()
	long := slices.IndexFunc(words,
		func(w string) bool { _, err := kinds.MetricByID(w); return err == nil && strings.Contains(w, "-") })
	fmt.Fprintf(&b, "Short:\n  %s\n\nAll:\n", strings.Join(words[:max(long, 0)], ", "))
	width := 0
	for _, m := range kinds.Metrics() {
		width = max(width, len(m.ID))
	}
	for _, m := range kinds.Metrics() {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, m.ID, m.Title)
	}
	return strings.TrimRight(b.String(), "\n")
}

// metricID returns the id of a metric that the user named, perhaps by its short name: "p95" is response-p95. It
// returns an unknown name unchanged, and the check of the plan reports it.
func metricID(word string) string {
	if m, err := kinds.MetricNamed(word); err == nil {
		return m.ID
	}
	return word
}
