package doctor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/doctor"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
)

// healthy is a machine with nothing wrong.
func healthy() (probe.Machine, probe.Watched, result.Placement) {
	m := probe.Machine{
		Environment: result.Environment{
			Host: "lab", CPU: "Example CPU", CPUs: 4, MemoryBytes: 8 << 30,
			Governor: "performance", ClockSource: "tsc", Go: "go1.26.8",
		},
		Allowed: []int{0, 1, 2, 3}, Turbo: "off", TurboFile: "/sys/devices/system/cpu/cpufreq/boost",
		ClockSources: []string{"tsc", "hpet"}, Available: 6 << 30, Load: 0.1, Files: 65536, MTU: 65536, Ports: 28232,
		Clock: probe.ClockReading{Cost: 26, Step: 23},
	}
	w := probe.Watched{
		For:   plan.Duration(3 * time.Second),
		Noise: result.Noise{Steal: 0.0001, Others: 0.004, CPUPressure: 0.001, IOPressure: 0},
		Wakes: probe.Wakes{
			Count: 200, P50: plan.Duration(30 * time.Microsecond),
			P99: plan.Duration(90 * time.Microsecond), Worst: plan.Duration(200 * time.Microsecond),
		},
	}
	return m, w, result.Placement{DriverCPUs: []int{0, 1}, ServerCPUs: []int{2, 3}}
}

func TestNothingIsWrongWithAHealthyMachine(t *testing.T) {
	t.Parallel()
	e := doctor.Examine(healthy())
	for _, f := range e.Findings {
		if f.Level != doctor.Fine || f.Do != "" || f.Command != "" {
			t.Errorf("%s is %s: %s %s", f.ID, f.Level, f.Do, f.Command)
		}
	}
	if !e.Fit || e.Summary() != "Fit to measure on, with no warning." {
		t.Errorf("%v, %s", e.Fit, e.Summary())
	}
}

// Each finding appears if, and only if, there is a reason.
func TestFindings(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range []struct {
		name   string
		change func(*probe.Machine, *probe.Watched, *result.Placement)
		id     string
		level  doctor.Level
		says   string // in value, advice or command
	}{
		{
			"one CPU", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Allowed = []int{0} }, "cores",
			doctor.Bad, "may use 1",
		},
		{
			"no word of CPUs", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Allowed = nil },
			"cores",
			doctor.Bad, "may use 0",
		},
		{
			"two CPUs of one core, torn",
			func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Shared = [][]int{{0, 2}, {1, 3}} },
			"siblings", doctor.Warn, "smt/control",
		},
		{
			"two CPUs of one core, on one side",
			func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Shared = [][]int{{0, 1}, {2, 3}} },
			"siblings", doctor.Fine, "none",
		},
		{
			"a small quota", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Quota = 1.5 }, "quota",
			doctor.Bad, "1.5 CPUs",
		},
		{
			"a quota", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Quota = 3 }, "quota",
			doctor.Warn,
			"docker update",
		},
		{
			"a quota that does not bind", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Quota = 8 },
			"quota", doctor.Fine, "8 CPUs",
		},
		{"a governor", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) {
			m.Environment.Governor = "powersave"
		}, "governor", doctor.Warn, "echo performance"},
		{
			"an untold governor",
			func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Environment.Governor = "unknown" },
			"governor", doctor.Fine, "unknown",
		},
		{
			"boost", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Turbo = "on" }, "turbo",
			doctor.Warn, "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
		},
		{"Intel's turbo", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) {
			m.Turbo, m.TurboFile = "on", "/sys/devices/system/cpu/intel_pstate/no_turbo"
		}, "turbo", doctor.Warn, "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"},
		{
			"untold turbo", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Turbo = "" }, "turbo",
			doctor.Fine, "unknown",
		},
		{"a virtual machine", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) {
			m.Environment.Virtual = "virtual machine"
		}, "virtual", doctor.Warn, "dedicated"},
		{
			"a laptop", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Battery = "discharging" },
			"battery", doctor.Warn, "plug",
		},
		{
			"hpet", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) {
				m.Environment.ClockSource = "hpet"
			},
			"clock-source", doctor.Bad, "echo tsc |",
		},
		{"acpi_pm alone", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) {
			m.Environment.ClockSource, m.ClockSources = "acpi_pm", []string{"acpi_pm"}
		}, "clock-source", doctor.Bad, "dmesg"},
		{"kvm-clock", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) {
			m.Environment.ClockSource = "kvm-clock"
		}, "clock-source", doctor.Fine, "kvm-clock"},
		{
			"an unheard-of clock",
			func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Environment.ClockSource = "xen" },
			"clock-source", doctor.Warn, "xen",
		},
		{
			"a dear clock", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Clock.Cost = 900 },
			"clock-cost", doctor.Warn, "900 ns",
		},
		{
			"a very dear clock", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Clock.Cost = 3000 },
			"clock-cost", doctor.Bad, "3 µs",
		},
		{
			"a coarse clock", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Clock.Step = 4e6 },
			"clock-step", doctor.Bad, "4 ms",
		},
		{
			"late timers at times", func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.Wakes.P99 = 3e6 },
			"timer", doctor.Warn, "p99 3 ms",
		},
		{"late timers", func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) {
			w.Wakes.P50, w.Wakes.P99 = 2e6,
				3e6
		}, "timer", doctor.Bad, "isolcpus"},
		{
			"steal", func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.Noise.Steal = 0.02 }, "steal",
			doctor.Warn, "2.0 % in 3s",
		},
		{
			"much steal", func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.Noise.Steal = 0.06 },
			"steal",
			doctor.Bad, "dedicated",
		},
		{"a neighbour", func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) {
			w.Noise.Others, w.Tasks = 0.1,
				[]probe.Task{{PID: 77, Name: "cc\x1b[31m", Share: 0.09}, {PID: 1, Name: "init", Share: 0.001}}
		}, "others", doctor.Warn, "10.0 % of all CPUs: cc?[31m (77) 9.0 %"},
		{
			"many neighbours", func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.Noise.Others = 0.6 },
			"others", doctor.Bad, "top -b",
		},
		{
			"a queue for the CPUs",
			func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.Noise.CPUPressure = 0.2 }, "cpu-pressure",
			doctor.Warn, "20.0 %",
		},
		{
			"a long queue", func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.Noise.CPUPressure = 0.7 },
			"cpu-pressure", doctor.Warn, "stop",
		},
		{
			"no word of pressure",
			func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.Noise.CPUPressure = -1 }, "cpu-pressure",
			doctor.Fine, "unknown",
		},
		{
			"a busy minute", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Load = 2.5 }, "load",
			doctor.Warn, "2.50",
		},
		{
			"no word of load", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Load = -1 }, "load",
			doctor.Fine, "unknown",
		},
		{
			"held back", func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.Noise.Throttled = 5e6 },
			"throttled", doctor.Bad, "5 ms",
		},
		{
			"heat", func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.Throttles = 3 }, "heat",
			doctor.Warn,
			"3 times",
		},
		{
			"a busy disk", func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.Noise.IOPressure = 0.5 },
			"io-pressure", doctor.Warn, "50.0 %",
		},
		{
			"little memory", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Available = 300 << 20 },
			"memory", doctor.Warn, "300 MiB of 8.0 GiB",
		},
		{
			"no memory", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Available = 30 << 20 },
			"memory", doctor.Bad, "arms",
		},
		{
			"no word of memory", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Available = 0 },
			"memory", doctor.Fine, "unknown",
		},
		{
			"swap that lies still",
			func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Swap, m.Swapped = 1<<30, 1<<29 }, "swap",
			doctor.Fine, "512 MiB of 1.0 GiB",
		},
		{"swap that moves", func(m *probe.Machine, w *probe.Watched, _ *result.Placement) {
			m.Swap, w.Swapped = 1<<30,
				10
		}, "swap", doctor.Warn, "swapoff"},
		{"thrashing", func(m *probe.Machine, w *probe.Watched, _ *result.Placement) {
			m.Swap, w.Swapped = 1<<30,
				99999
		}, "swap", doctor.Bad, "99999"},
		{
			"a queue for memory",
			func(_ *probe.Machine, w *probe.Watched, _ *result.Placement) { w.MemoryPressure = 0.05 },
			"memory-pressure", doctor.Warn, "5.0 %",
		},
		{
			"few files", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Files = 1024 }, "files",
			doctor.Warn, "ulimit -n",
		},
		{
			"hardly any files", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Files = 64 }, "files",
			doctor.Bad, "64",
		},
		{
			"small packets", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.MTU = 1500 }, "mtu",
			doctor.Warn, "mtu 65536",
		},
		{"no word of limits", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) {
			m.MTU, m.Ports, m.Files = 0, 0, 0
		}, "files", doctor.Fine, "unknown"},
		{
			"few ports", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) { m.Ports = 1000 }, "ports",
			doctor.Warn, "ip_local_port_range",
		},
		{"the race detector", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) {
			m.Environment.Settings = map[string]string{"-race": "true"}
		}, "build", doctor.Bad, "make build"},
		{"GOGC", func(m *probe.Machine, _ *probe.Watched, _ *result.Placement) {
			m.Environment.Settings = map[string]string{"GOGC": "off", "GOMAXPROCS": "1"}
		}, "runtime", doctor.Warn, "unset GOMAXPROCS GOGC"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, w, place := healthy()
			c.change(&m, &w, &place)
			e := doctor.Examine(m, w, place)
			i := slices.IndexFunc(e.Findings, func(f doctor.Finding) bool { return f.ID == c.id })
			if i < 0 {
				t.Fatalf("no finding %s", c.id)
			}
			f := e.Findings[i]
			seen[c.id] = true
			if f.Level != c.level || !strings.Contains(f.Value+"\n"+f.Do+"\n"+f.Command, c.says) {
				t.Errorf("%+v; want %s with %q", f, c.level, c.says)
			}
			if f.Why == "" || (f.Do == "") != (f.Level == doctor.Fine) {
				t.Errorf("%+v: no reason, or advice that does not fit", f)
			}
			if e.Fit != (c.level != doctor.Bad) {
				t.Errorf("fit is %v with a finding that is %s: %s", e.Fit, c.level, e.Summary())
			}
			for _, other := range e.Findings {
				if other.ID != c.id && other.Level != doctor.Fine {
					t.Errorf("%s is %s too", other.ID, other.Level)
				}
			}
			if e.Count(doctor.Bad) > 0 && !strings.Contains(e.Summary(), f.Name) {
				t.Errorf("the summary does not name it: %s", e.Summary())
			}
		})
	}
	for _, f := range doctor.Examine(healthy()).Findings {
		if !seen[f.ID] {
			t.Errorf("no case makes %s appear", f.ID)
		}
		if !slices.Contains(doctor.Groups(), f.Group) {
			t.Errorf("%s is in no group that is shown", f.ID)
		}
	}
}

// The doctor calls exactly those readings bad that the gates refuse in every round, so that neither contradicts the
// other's advice.
func TestBadIsWhatTheGatesRefuse(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]result.Noise{
		"quiet":      {Steal: 0.001, Others: 0.01},
		"some steal": {Steal: 0.04}, "much steal": {Steal: 0.06},
		"some others": {Others: 0.4}, "many others": {Others: 0.6},
		"held back": {Throttled: 1e6},
	} {
		m, w, place := healthy()
		w.Noise = n
		r := resulttest.OneArm()
		for i := range r.Rounds {
			r.Rounds[i].Noise = n
		}
		refused := false
		for _, c := range analyse.Result(r).Loads[0].Arms[0].Checks {
			refused = refused || !c.OK
		}
		if fit := doctor.Examine(m, w, place).Fit; fit == refused {
			t.Errorf("%s: the doctor says fit: %v, the gates refuse it: %v", name, fit, refused)
		}
	}
}
