package main

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/result"
)

// metricsText is "wirelab help metrics".
func metricsText() string {
	var b strings.Builder
	b.WriteString("Names of metrics, for --fail-if; --primary takes the long ones.\n\n")
	words := result.ThresholdMetrics()
	long := slices.IndexFunc(words, func(w string) bool { _, err := result.MetricByID(w); return err == nil && strings.Contains(w, "-") })
	fmt.Fprintf(&b, "Short:\n  %s\n\nAll:\n", strings.Join(words[:max(long, 0)], ", "))
	width := 0
	for _, m := range result.Metrics() {
		width = max(width, len(m.ID))
	}
	for _, m := range result.Metrics() {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, m.ID, m.Title)
	}
	return strings.TrimRight(b.String(), "\n")
}
