package experiment_test

import (
	"strings"
	"testing"

	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// The needs of a plan are known before it runs.
func TestNeeds(t *testing.T) {
	t.Parallel()
	loads := func(all ...plan.Load) plan.Plan {
		return plan.Plan{Arms: []plan.Arm{{Protocol: "a"}, {Protocol: "b"}}, Loads: all, Floor: plan.FloorNone}
	}
	arms := []result.Arm{{Name: "a"}, {Name: "b", Multiplexed: true}}
	for _, c := range []struct {
		name        string
		plan        plan.Plan
		connections int
		callers     int
	}{
		{"one for each call in flight", loads(plan.Load{InFlight: 50}), 50, 100},
		{"of all loads", loads(plan.Load{InFlight: 50}, plan.Load{InFlight: 8}), 58, 116},
		{"once for all rates", loads(plan.Load{InFlight: 256, Rate: 10}, plan.Load{InFlight: 256, Rate: 20}), 256, 512},
		{"streams", loads(plan.Load{Streams: 100}), 100, 0},
		{"messages", loads(plan.Load{InFlight: 50, Scenario: plan.Live}), 0, 0},
	} {
		if n := experiment.Needs(c.plan, arms); n.Connections != c.connections || n.Callers != c.callers {
			t.Errorf("%s: %+v", c.name, n)
		}
	}
	p := loads(plan.Load{InFlight: 50})
	p.Floor = plan.FloorAuto
	n := experiment.Needs(p, arms)
	if n.Connections != 100 || n.Arm != "a" {
		t.Errorf("with a null responder: %+v", n)
	}
	for _, c := range []struct {
		limits  probe.Limits
		refused bool
		warns   string
	}{
		{probe.Limits{}, false, ""},
		{probe.Limits{Descriptors: 1024, Memory: 1 << 40, CPUs: 8}, false, ""},
		{probe.Limits{Descriptors: 100, CPUs: 8}, true, ""},
		{probe.Limits{Memory: 1 << 20, CPUs: 8}, false, "123 MiB of memory, and 1 MiB are left"},
		{probe.Limits{Quota: 1.5, CPUs: 8}, false, "the time of 1.5 CPUs and runs on 8"},
		{probe.Limits{Quota: 8, CPUs: 8}, false, ""},
		{probe.Limits{CPUs: 1}, false, "one CPU"},
	} {
		warns := strings.Join(n.Warnings(c.limits), "; ")
		if (n.Refused(c.limits) != nil) != c.refused || (warns == "") != (c.warns == "") ||
			!strings.Contains(warns, c.warns) {
			t.Errorf("%+v: %v, %s", c.limits, n.Refused(c.limits), warns)
		}
	}
}
