// Package presets lists the experiments that are ready to run, in groups, with the approximate time that each takes.
// It only knows plans, and must not know how one is run.
package presets

import (
	"fmt"
	"strings"
	"time"

	"wirelab/internal/paragraph"
	"wirelab/lab/plan"
)

// Names returns the names of the presets, sorted.
func Names() []string {
	var names []string
	for _, p := range plan.Presets() {
		names = append(names, p.Name)
	}
	return names
}

// presetGroups are the headings of presets, by workload.
var presetGroups = []struct{ workload, heading string }{
	{"routeguide", "One small service"},
	{"directory", "Encodings, on a directory of persons"},
	{"ledger", "In front of a database: calls and streams"},
	{"logging", "Handing entries on: a call, or a queue"},
	{"messaging", "Message brokers"},
}

// firstPreset is the one to start with.
const firstPreset = "quick"

// Text lists presets in groups, starting with the one to run first.
func Text(all []plan.Plan, columns int) string {
	var b strings.Builder
	widest := 0
	for _, p := range all {
		widest = max(widest, len(p.Name))
	}
	show := func(p plan.Plan) {
		fmt.Fprintf(&b, "  %-*s about %s\n", widest, p.Name, aboutTime(p))
		b.WriteString(paragraph.Hang("", 6, p.About, columns))
	}
	b.WriteString("Start here\n")
	for _, p := range all {
		if p.Name == firstPreset {
			show(p)
		}
	}
	shown := map[string]bool{firstPreset: true}
	heading := func(text string, in func(plan.Plan) bool) {
		for _, p := range all {
			if shown[p.Name] || !in(p) {
				continue
			}
			if text != "" {
				fmt.Fprintf(&b, "\n%s\n", text)
				text = ""
			}
			shown[p.Name] = true
			show(p)
		}
	}
	for _, g := range presetGroups {
		heading(g.heading, func(p plan.Plan) bool { return p.Workload == g.workload })
	}
	heading("Others", func(plan.Plan) bool { return true })
	b.WriteString("\n")
	b.WriteString(paragraph.Hang("", 0,
		"Run one with: wirelab run NAME. See its arms and settings with: wirelab presets NAME. "+
			"Times are computed from the plans, for an idle machine.", columns))
	return b.String()
}

// The approximate time of a round in addition to its slices. Processes start, and some warm-ups need longer than
// planned until they are steady.
const (
	starting        = 200 * time.Millisecond
	startingCluster = 3 * time.Second
	unsteady        = 2
)

// aboutTime is the approximate duration of a plan on an idle machine: its minimum rounds, or its own time if it sets
// one.
func aboutTime(p plan.Plan) string {
	done, err := p.Complete()
	if err != nil {
		return "?"
	}
	var round time.Duration
	for range done.Loads {
		start := starting
		slice := time.Duration(done.Slices) * time.Duration(done.Slice)
		if done.Nodes > 0 {
			slice, start = time.Duration(done.Slice), startingCluster
		}
		round += start + slice + unsteady*time.Duration(done.WarmUp)
	}
	round *= time.Duration(len(done.Arms))
	whole := max(time.Duration(done.Rounds.Min)*round,
		min(time.Duration(done.For), time.Duration(max(done.Rounds.Max, done.Rounds.Min))*round))
	if whole < 90*time.Minute {
		return fmt.Sprintf("%d min", max(1, int((whole+30*time.Second)/time.Minute)))
	}
	return fmt.Sprintf("%d hours", int((whole+30*time.Minute)/time.Hour))
}
