package report_test

import (
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
	"wirelab/results/report/csv"
)

// fact is the line of a report's head with a name.
func fact(r *result.Result, name string) string {
	a := analyse.Result(r)
	for _, f := range report.Facts(r, &a) {
		if f.Name == name {
			return f.Text
		}
	}
	return ""
}

// The server at a target is unknown. So no report names our own library there, not even for
// results that do. Reports say what the plan says about the server.
func TestTargetsServerIsNotOurs(t *testing.T) {
	t.Parallel()
	r := resulttest.Closed()
	ours := r.Arms[1].Server
	r.Minor, r.Plan.Arms[1].Server = 2, ""
	r.Plan.Arms[1].Target = "127.0.0.1:9000"
	text := report.Arm(r, 1)
	if ours == "" || strings.Contains(text, "server "+ours) || strings.Contains(text, "both sides") ||
		!strings.Contains(text, "server unknown, at 127.0.0.1:9000") {
		t.Errorf("%q", text)
	}
	var sheet strings.Builder
	if err := csv.Write(&sheet, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(sheet.String(), "unknown, at 127.0.0.1:9000") {
		t.Error("the sheet does not say that the server is unknown")
	}
	r.Plan.Arms[1].Server, r.Arms[1].Server = "tonic", "tonic"
	if text := report.Arm(r, 1); !strings.Contains(text, "server tonic") ||
		!strings.Contains(text, "server at 127.0.0.1:9000") {
		t.Errorf("%q", text)
	}
}

// Where servers ran is said of those that it is true of.
func TestPlaceOfTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		process *result.Process
		all     bool // arms are targets
		want    string
	}{
		{"an unknown one", nil, false, "other servers on CPU 0, driver on CPU 1, where B runs is its own"},
		{
			"found by its port", &result.Process{PIDs: []int{7}, ByPort: true}, false,
			"other servers on CPU 0, driver on CPU 1, where B runs is its own",
		},
		{"pinned", &result.Process{PIDs: []int{7}, CPUs: []int{0}}, false, "server on CPU 0, driver on CPU 1"},
		{"all", nil, true, "driver on CPU 1, where A and B run is their own"},
	} {
		r := resulttest.Two()
		r.Placement = result.Placement{ServerCPUs: []int{0}, DriverCPUs: []int{1}}
		for arm := range r.Plan.Arms {
			if arm == 1 || c.all {
				r.Plan.Arms[arm].Target, r.Arms[arm].Process = "127.0.0.1:9000", c.process
			}
		}
		want := strings.NewReplacer(" A ", " "+r.ArmName(0)+" ", " B ", " "+r.ArmName(1)+" ").Replace(c.want)
		if got := fact(r, "machine"); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q at its end", c.name, got, want)
		}
		if got := fact(r, "targets"); !strings.Contains(got, "not started afresh each round") {
			t.Errorf("%s: targets %q", c.name, got)
		}
	}
	if got := fact(resulttest.Two(), "targets"); got != "" {
		t.Errorf("without targets: %q", got)
	}
}

// A busy machine is not to be cured by stopping the server that is measured.
func TestBusyMachineNamesTheTarget(t *testing.T) {
	t.Parallel()
	r := resulttest.Two()
	r.Plan.Arms[1].Target = "127.0.0.1:9000"
	for n := range r.Rounds {
		r.Rounds[n].Noise.Others = 0.9
	}
	fix := func() string {
		a := analyse.Result(r)
		for _, c := range a.Loads[0].Arms[0].Checks {
			if c.Gate == result.Neighbours {
				return c.Fix
			}
		}
		return ""
	}
	if got := fix(); !strings.Contains(got, "pid=") || !strings.Contains(got, "127.0.0.1:9000") {
		t.Errorf("%q", got)
	}
	r.Arms[1].Process = &result.Process{PIDs: []int{7}}
	if got := fix(); got == "" || strings.Contains(got, "pid=") {
		t.Errorf("with its process: %q", got)
	}
}

// Connections that a target's server closes while its arm is idle are explained; ours do not.
func TestConnectionsOpenedToTargets(t *testing.T) {
	t.Parallel()
	r := resulttest.Two()
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			r.Rounds[n].Trials[i].Connections = 3
		}
	}
	said := func() bool {
		a := analyse.Result(r)
		return strings.Contains(strings.Join(report.Notes(&a.Loads[0]), "\n"), "keep-alive")
	}
	if said() {
		t.Error("said of a server that was started here")
	}
	r.Plan.Arms[1].Target = "127.0.0.1:9000"
	if !said() {
		t.Error("not said of a target")
	}
}

// A count that was not taken is unknown and not 0, also in older results that have 0 there.
func TestUnknownIsNotZero(t *testing.T) {
	t.Parallel()
	for name, unknown := range map[string]*uint64{"not counted": nil, "an older result": new(uint64)} {
		r := resulttest.Closed()
		for n := range r.Rounds {
			for i := range r.Rounds[n].Trials {
				if trial := &r.Rounds[n].Trials[i]; trial.Arm == 1 {
					trial.Server.Allocations, trial.Server.AllocatedBytes = unknown, unknown
				}
			}
		}
		a := analyse.Result(r)
		if e := a.Loads[0].Row(plan.ServerAllocations).Cells[1].Estimate; e.Known || e.Value != 0 || e.Why == "" {
			t.Errorf("%s: %+v", name, e)
		}
		var sheet strings.Builder
		if err := csv.Write(&sheet, r); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(sheet.String()) {
			if strings.Contains(line, ","+r.ArmName(1)+",") && strings.Contains(line, ",server-allocs,0") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}
