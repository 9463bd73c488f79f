package plan_test

import (
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
)

// A tool is started for each slice and reports few metrics. So slices are long, and loads or metrics that it cannot
// handle are refused.
func TestPlansWithTools(t *testing.T) {
	t.Parallel()
	const milli = plan.Duration(time.Millisecond)
	wrk := plan.Arm{Protocol: "http1-json", Driver: "tool:wrk"}
	whole := func(change func(*plan.Plan)) (plan.Plan, error) {
		p := plan.Plan{Workload: "routeguide", Operation: "GetFeature", Arms: []plan.Arm{{Protocol: "grpc"}, wrk}}
		change(&p)
		return p.Complete()
	}
	p, err := whole(func(*plan.Plan) {})
	if err != nil {
		t.Fatal(err)
	}
	if p.Slice != plan.Duration(time.Second) || p.Slices != 3 ||
		p.Arms[1].Tool() != "wrk" || p.Arms[0].Tool() != "" || p.Arms[1].Raw() {
		t.Errorf("slices %d of %v, tools %q and %q", p.Slices, p.Slice, p.Arms[0].Tool(), p.Arms[1].Tool())
	}
	if p, err := whole(func(p *plan.Plan) { p.Arms = p.Arms[:1] }); err != nil || p.Slices != 10 {
		t.Errorf("a plan without tools has %d slices, %v", p.Slices, err)
	}
	for name, c := range map[string]struct {
		change func(*plan.Plan)
		want   string
	}{
		"an unknown tool":  {func(p *plan.Plan) { p.Arms[1].Driver = "tool:ab" }, "tool:h2load"},
		"no tool":          {func(p *plan.Plan) { p.Arms[1].Driver = "tool:" }, "tool:wrk"},
		"a client as well": {func(p *plan.Plan) { p.Arms[1].Client = "net/http" }, "client"},
		"a rate of wrk":    {func(p *plan.Plan) { p.Loads = []plan.Load{{Rate: 100}} }, "in_flight"},
		"another law than the tool's": {func(p *plan.Plan) {
			p.Arms[1].Driver, p.Loads = "tool:h2load", []plan.Load{{Rate: 100, Arrivals: plan.Poisson}}
		}, plan.Constant},
		"stages": {func(p *plan.Plan) {
			p.Arms[1].Driver, p.Loads = "tool:k6",
				[]plan.Load{{Stages: []plan.Stage{{For: 1000 * milli, From: 1, To: 9}}}}
		}, "constant rate"},
		"a database with a driver of ours": {
			func(p *plan.Plan) { p.Arms[1] = plan.Arm{Protocol: "postgres"} },
			"tool:pgbench",
		},
		"pgbench before a service": {func(p *plan.Plan) { p.Arms[1].Driver = "tool:pgbench" }, "postgres"},
		"a database that is none": {func(p *plan.Plan) {
			p.Arms[1] = plan.Arm{Protocol: "postgres", Driver: "tool:pgbench"}
		}, "--db postgres"},
		"server CPU without a server": {func(p *plan.Plan) {
			p.Arms[1], p.Database = plan.Arm{Protocol: "postgres", Driver: "tool:pgbench"}, "postgres"
			p.Primary = plan.ServerCPU
		}, plan.Throughput},
		"a short slice":                     {func(p *plan.Plan) { p.Slice = 1500 * milli }, "whole seconds"},
		"a primary that it does not report": {func(p *plan.Plan) { p.Primary = plan.ResponseP99 }, plan.ClientCPU},
	} {
		if _, err := whole(c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	p, err = whole(func(p *plan.Plan) { p.Arms[1].Driver, p.Loads = "tool:h2load", []plan.Load{{Rate: 100}} })
	if err != nil || p.Loads[0].Arrivals != plan.Constant || p.Primary != plan.ServerCPU {
		t.Errorf("at a rate: %v, primary %q, %v", p.Loads, p.Primary, err)
	}
	p, err = whole(func(p *plan.Plan) {
		p.Arms[1], p.Database = plan.Arm{Protocol: "postgres", Driver: "tool:pgbench"}, "postgres"
	})
	if err != nil || !p.Arms[1].Direct() || p.Arms[0].Direct() || p.Primary != plan.Throughput {
		t.Errorf("without a server: primary %q, %v", p.Primary, err)
	}
	const text = "grpc,driver=tool:ghz,connections=4"
	if arm, err := plan.ParseArm(text); err != nil || arm.Tool() != "ghz" || arm.String() != text {
		t.Errorf("arm %v, %v", arm, err)
	}
}
