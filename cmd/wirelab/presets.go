package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/plan"
)

func newPresetsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "presets [NAME]",
		Short: "List the experiments that are ready to run, or show one's plan",
		Long: `Presets lists the experiments that come with wirelab, what each one answers, and
about how long it takes. With a name it prints the whole plan as JSON, with all
defaults. That is a plan file for "wirelab run", and a start for your own.`,
		Example: "  wirelab presets\n  wirelab run quick\n  wirelab presets quick > mine.json",
		Args:    cli.Arguments(0, 1, "at most one name"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return presetNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			p, err := plan.Preset(args[0])
			if err != nil {
				return err
			}
			done, err := p.Complete()
			if err != nil {
				return err
			}
			done.Seed = p.Seed // a drawn one would make every run of the file the same
			return a.PrintJSON(done)
		}
		if *asJSON {
			return a.PrintJSON(plan.Presets())
		}
		return a.printPresets(plan.Presets())
	}
	return c
}

// presetNames are the names of the presets, in order.
func presetNames() []string {
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

// firstPreset is what to begin with.
const firstPreset = "quick"

// printPresets prints presets in groups, the one to begin with first.
func (a *app) printPresets(all []plan.Plan) error {
	var b strings.Builder
	widest := 0
	for _, p := range all {
		widest = max(widest, len(p.Name))
	}
	show := func(p plan.Plan) {
		fmt.Fprintf(&b, "  %-*s about %s\n", widest, p.Name, aboutTime(p))
		b.WriteString(cli.Hang("", 6, p.About, a.columns()))
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
	b.WriteString(cli.Hang("", 0, "Run one with: wirelab run NAME. See its arms and settings with: wirelab presets NAME. "+
		"Times are computed from the plans, for an idle machine.", a.columns()))
	return a.Printf("%s", b.String())
}

// What a round takes beside its slices, roughly: processes start, and some warming up goes on until steady.
const (
	starting        = 200 * time.Millisecond
	startingCluster = 3 * time.Second
	unsteady        = 2
)

// aboutTime is about how long a plan takes on an idle machine: its fewest rounds, or as long as it asks for.
func aboutTime(p plan.Plan) string {
	done, err := p.Complete()
	if err != nil {
		return "?"
	}
	var round time.Duration
	for _, l := range done.Loads {
		start := starting
		slice := time.Duration(done.Slices) * time.Duration(done.Slice)
		if l.Messaging() {
			slice, start = time.Duration(done.Slice), startingCluster
		}
		round += start + slice + unsteady*time.Duration(done.WarmUp)
	}
	round *= time.Duration(len(done.Arms))
	whole := max(time.Duration(done.Rounds.Min)*round, min(time.Duration(done.For), time.Duration(max(done.Rounds.Max, done.Rounds.Min))*round))
	if whole < 90*time.Minute {
		return fmt.Sprintf("%d min", max(1, int((whole+30*time.Second)/time.Minute)))
	}
	return fmt.Sprintf("%d hours", int((whole+30*time.Minute)/time.Hour))
}
