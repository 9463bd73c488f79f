package plan_test

import (
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/plan"
)

func messages(loads ...plan.Load) plan.Plan {
	return plan.Plan{
		Workload: "messaging", Operation: "Publish",
		Arms:  []plan.Arm{{Protocol: "hermes-grpc"}, {Protocol: "nats-jetstream"}},
		Loads: loads,
	}
}

func TestMessagesComplete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		load    plan.Load
		want    string
		primary string
		slice   time.Duration
	}{
		"live": {plan.Load{Scenario: plan.Live}, "live, 60 sends under way", plan.MessageRate, 5 * time.Second},
		"slow": {
			plan.Load{Scenario: plan.Slow},
			"slow, 1,000/s Poisson, readers take 2 ms", plan.DeliveredP99,
			5 * time.Second,
		},
		"fanout": {
			plan.Load{Scenario: plan.Fanout, InFlight: 3},
			"fanout, 3 sends under way, 4 groups",
			plan.MessageRate, 5 * time.Second,
		},
		"leader-kill": {
			plan.Load{Scenario: plan.LeaderKill, Size: 1024},
			"leader-kill, 1,000/s Poisson, 1,024 bytes each", plan.SendOutage, 30 * time.Second,
		},
		"disk at rate": {
			plan.Load{Scenario: plan.Disk, Rate: 500},
			"disk, 500/s Poisson", plan.DrainRate,
			5 * time.Second,
		},
		"sustained": {
			plan.Load{Scenario: plan.Sustained},
			"sustained, 10,000/s Poisson", plan.DeliveredP99,
			5 * time.Second,
		},
	} {
		p, err := messages(c.load).Complete()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.Loads[0].String(); got != c.want || p.Primary != c.primary || time.Duration(p.Slice) != c.slice {
			t.Errorf("%s: %q by %s in %v", name, got, p.Primary, time.Duration(p.Slice))
		}
		if p.Slices != 1 || p.Nodes != 3 || p.Durability != plan.DurabilityFsync || p.Kind() != plan.Messages {
			t.Errorf("%s: %+v", name, p)
		}
		again, err := p.Complete()
		if err != nil || again.Loads[0].String() != c.want {
			t.Errorf("%s: completing it again: %v", name, err)
		}
	}
	all, err := messages(plan.Load{Scenario: plan.Live}, plan.Load{Scenario: plan.Crash},
		plan.Load{Scenario: plan.Disk, Rate: 20}).Complete()
	if err != nil || all.Loads[0].Rate != 1000 || all.Loads[1].Rate != 1000 || all.Loads[2].Rate != 20 {
		t.Errorf("with a scenario at a rate: %v, %v", all.Loads, err)
	}
	p := messages(plan.Load{Scenario: plan.Live})
	p.Operation = plan.BatchOperation
	if p, err := p.Complete(); err != nil || p.Loads[0].Batch != 100 {
		t.Errorf("batches of %d, %v", p.Loads[0].Batch, err)
	}
}

// A scenario that injects a fault is judged by an outage, and the others are not. A plan with both leaves the metric
// to each load.
func TestMessagesPrimaryOfSeveralScenarios(t *testing.T) {
	t.Parallel()
	for want, loads := range map[string][]plan.Load{
		"":                {{Scenario: plan.Sustained}, {Scenario: plan.LeaderKill}},
		plan.SendOutage:   {{Scenario: plan.Pause}, {Scenario: plan.LeaderKill}},
		plan.DeliveredP99: {{Scenario: plan.Slow}, {Scenario: plan.Crash}},
	} {
		p, err := messages(loads...).Complete()
		if err != nil || p.Primary != want {
			t.Errorf("%q, want %q, %v", p.Primary, want, err)
		}
	}
}

// Loads whose messages must be delivered are judged by their delivery.
func TestDeliverIsJudgedByDeliveries(t *testing.T) {
	t.Parallel()
	for want, load := range map[string]plan.Load{
		plan.DeliveredRate:  {Scenario: plan.Live},
		plan.DeliveredP99:   {Scenario: plan.Live, Rate: 100},
		plan.DeliveryOutage: {Scenario: plan.LeaderKill},
	} {
		p := messages(load)
		p.Operation = plan.DeliverOperation
		if p, err := p.Complete(); err != nil || p.Primary != want {
			t.Errorf("%s, want %s, %v", p.Primary, want, err)
		}
	}
}

func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	with := func(change func(*plan.Plan)) plan.Plan {
		p := messages(plan.Load{Scenario: plan.Live})
		change(&p)
		return p
	}
	for say, p := range map[string]plan.Plan{
		`unknown loads[0].scenario "alive"; did you mean live?`: messages(plan.Load{Scenario: "alive"}),
		"36 to 1048576":                  messages(plan.Load{Scenario: plan.Live, Size: 35}),
		"at most 3145728 bytes together": messages(plan.Load{Scenario: plan.Live, Size: 1 << 20, Batch: 5}),
		"the scenario is slow": messages(plan.Load{
			Scenario: plan.Live,
			Delay:    plan.Duration(time.Second),
		}),
		"left out unless the load":            messages(plan.Load{InFlight: 1, Size: 100}),
		"with a scenario if loads[0] has one": messages(plan.Load{Scenario: plan.Live}, plan.Load{InFlight: 1}),
		"and no streams held":                 messages(plan.Load{Scenario: plan.Live, Streams: 2, Rate: 10}),
		"which has one rate": messages(plan.Load{
			Scenario: plan.Live,
			Stages:   []plan.Stage{{For: plan.Duration(time.Second), From: 1, To: 2}},
		}),
		"fsync": with(func(p *plan.Plan) { p.Durability = "paper" }),
		"which stops one": with(func(p *plan.Plan) {
			p.Nodes, p.Loads[0].Scenario = 1,
				plan.LeaderKill
		}),
		"no raw driver":                        with(func(p *plan.Plan) { p.Arms[0].Driver = plan.DriverRaw }),
		"reach the nodes of a broker directly": with(func(p *plan.Plan) { p.Network = "lan" }),
		"alone in a plan": messages(plan.Load{Scenario: plan.DiskFull},
			plan.Load{Scenario: plan.Live}),
		"so short that readers finish": messages(plan.Load{
			Scenario: plan.Slow, Rate: 1000,
			Delay: plan.Duration(time.Second),
		}),
		"wirelab did not start": with(func(p *plan.Plan) {
			p.Arms[0].Target, p.Loads[0].Scenario = "10.0.0.1:50051", plan.Pause
		}),
	} {
		if _, err := p.Complete(); wirelab.CodeOf(err) != wirelab.InvalidArgument &&
			wirelab.CodeOf(err) != wirelab.NotFound || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v", say, err)
		}
	}
}

func TestDurabilityOfAnArm(t *testing.T) {
	t.Parallel()
	arm, err := plan.ParseArm("nats-jetstream,durability=default")
	if err != nil || arm.String() != "nats-jetstream,durability=default" {
		t.Fatal(arm, err)
	}
	p := plan.Plan{Durability: plan.DurabilityFsync}
	if p.DurabilityOf(arm) != plan.DurabilityDefault || p.DurabilityOf(plan.Arm{}) != plan.DurabilityFsync {
		t.Error("an arm's durability is its own, else the plan's")
	}
}
