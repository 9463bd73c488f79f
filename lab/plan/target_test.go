package plan_test

import (
	"strings"
	"testing"

	"wirelab/lab/plan"
)

// The process of a target is given together with the target, and only then.
func TestProcessOfTarget(t *testing.T) {
	t.Parallel()
	const text = "grpc,server=tonic,target=127.0.0.1:9000,pid=4711"
	arm, err := plan.ParseArm(text)
	if err != nil || arm.PID != 4711 || arm.String() != text || !arm.Seen() || arm.Library() != "" {
		t.Errorf("%+v, %q, %v", arm, arm.String(), err)
	}
	for text, want := range map[string]string{
		"grpc,pid=4711":                           "given with a target",
		"grpc,target=127.0.0.1:9000,pid=0":        "the id of a process",
		"grpc,target=127.0.0.1:9000,pid=-1":       "the id of a process",
		"grpc,target=127.0.0.1:9000,pid=shop":     "the id of a process",
		"grpc,target=127.0.0.1:9000,pid=1e9":      "the id of a process",
		"grpc,target=127.0.0.1:9000,pid=99999999": "1 to 4194304",
	} {
		if _, err := plan.ParseArm(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want one with %q", text, err, want)
		}
	}
}

// Server CPU is the primary metric if it is known for every arm, and is refused if not.
func TestServerCPUOfTargets(t *testing.T) {
	t.Parallel()
	p := plan.Plan{
		Workload: "toy", Operation: "Double",
		Arms: []plan.Arm{{Protocol: "grpc"}, {Protocol: "grpc", Target: "127.0.0.1:9000", PID: 7}},
	}
	if done, err := p.Complete(); err != nil || done.Primary != plan.ServerCPU {
		t.Errorf("with its process: %q, %v", done.Primary, err)
	}
	p.Primary = plan.ServerAllocations
	if _, err := p.Complete(); err == nil {
		t.Error("the allocations of a server that wirelab did not start were accepted")
	}
	p.Primary, p.Arms[1].PID = "", 0
	if done, err := p.Complete(); err != nil || done.Primary != plan.Throughput {
		t.Errorf("without its process: %q, %v", done.Primary, err)
	}
	p.Primary = plan.ServerCPU
	if _, err := p.Complete(); err == nil || !strings.Contains(err.Error(), "pid= with target=") {
		t.Errorf("%v", err)
	}
}
