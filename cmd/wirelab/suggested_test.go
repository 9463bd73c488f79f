package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/chaos"
	"wirelab/lab/databases"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/resulttest"
	"wirelab/pipeline/stack"
	"wirelab/results/outages"
	"wirelab/results/report"
)

// Each command that decide and reports suggest is one that chaos takes: of each path, or a server that is called
// directly, with each way of using a queue, with a broker from here or elsewhere, and with each database.
func TestSuggestedChaosIsTaken(t *testing.T) {
	t.Parallel()
	a := newApp(cli.Terminal{}, nil, func(string) string { return "" })
	away := newApp(cli.Terminal{}, nil, func(key string) string {
		for _, variable := range prepare.BrokerVariables() {
			if key == variable {
				return "there"
			}
		}
		return ""
	})
	work, err := a.Work("logging")
	if err != nil {
		t.Fatal(err)
	}
	r := resulttest.Ways(2, plan.Load{InFlight: 50},
		resulttest.Way{Name: "one", Answer: time.Millisecond, Guarantee: &result.Guarantee{}, Database: "some"},
		resulttest.Way{Name: "log-grpc", Answer: 2 * time.Millisecond, Guarantee: &result.Guarantee{}, Database: "some"})
	analysis := analyse.Result(r) // once: commands depend on what arms are, and not on their figures
	protocols, commands := map[string]bool{}, 0
	for _, c := range work.Cells {
		protocols[c.Protocol.Name] = true
	}
	for path := range protocols {
		for _, who := range []*app{a, away} {
			settings := []outages.Asked{{}}
			if len(new(outages.Asked).Broker(&who.Lab, path)) > 0 {
				settings = queueSettings()
			}
			for _, f := range settings {
				guarantee := stack.GuaranteeOf(f.Broker(&who.Lab, path))
				for _, kind := range []string{wirelab.Memory, databases.Embedded, databases.Postgres} {
					if kind == wirelab.Memory && strings.Contains(path, "-direct") {
						continue // no such arm can start
					}
					for _, known := range []*result.Guarantee{guarantee, nil} {
						r.Arms[0].Protocol, r.Arms[0].Guarantee = path, known
						r.Plan.Arms[0].Database, r.Plan.Arms[1].Database = kind, databases.Embedded
						commands += who.takesAll(t, r, &analysis)
					}
				}
			}
		}
	}
	if commands < 500 {
		t.Errorf("only %d commands were suggested", commands)
	}
}

// queueSettings are all ways of using a queue.
func queueSettings() (settings []outages.Asked) {
	for _, kind := range []string{"quorum", "classic"} {
		for _, unconfirmed := range []bool{false, true} {
			for _, transient := range []bool{false, true} {
				settings = append(settings, outages.Asked{Queue: kind, NoConfirms: unconfirmed, Transient: transient})
			}
		}
	}
	return append(settings, outages.Asked{Topology: true})
}

var suggestedChaos = regexp.MustCompile(`wirelab chaos logging ([^>]*) > `)

// takesAll checks each command that a result's tables suggest, and tells how many those are.
func (a *app) takesAll(t *testing.T, r *result.Result, analysis *claim.Analysis) int {
	t.Helper()
	n := 0
	for _, table := range report.Decisions(r, analysis, nil) {
		for _, row := range table.Rows {
			for _, found := range suggestedChaos.FindAllStringSubmatch(row.Says, -1) {
				n++
				if err := a.takesChaos(strings.Fields(found[1])); err != nil {
					t.Errorf("%s: %s", found[0], desk.Describe(err))
				}
			}
		}
	}
	return n
}

// takesChaos is what chaos says to a command line before it looks what is installed.
func (a *app) takesChaos(words []string) error {
	var f chaosFlags
	flags := pflag.NewFlagSet("chaos", pflag.ContinueOnError)
	f.register(flags)
	if err := flags.Parse(words); err != nil {
		return err
	}
	base, err := f.Options()
	if err != nil {
		return err
	}
	groups, err := f.Runs()
	if err != nil {
		return err
	}
	runs := 0
	for _, path := range flags.Args() {
		one, err := f.ForPath(&a.Lab, base, path)
		if err != nil {
			return err
		}
		if f.database.Kind == wirelab.Memory && strings.HasSuffix(path, "-direct") {
			return fmt.Errorf("%s cannot store in memory", path)
		}
		for _, group := range groups {
			var why []string
			if one.Faults, why = chaos.Without(path, one.Stack.Brokers, group); len(why) > 0 {
				continue
			}
			if _, err := one.Complete(); err != nil {
				return err
			}
			runs++
		}
	}
	if runs == 0 {
		return errors.New("there is nothing to run")
	}
	return nil
}
