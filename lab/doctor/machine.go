package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// processors checks the CPUs that server and driver get.
func processors(m probe.Machine, place result.Placement) []Finding {
	return []Finding{cores(m), siblings(m, place), quota(m), governor(m), boost(m), virtual(m), battery(m)}
}

func cores(m probe.Machine) Finding {
	f := Finding{
		ID: "cores", Group: Processors, Name: "CPUs",
		Value: fmt.Sprintf("%d, this process may use %d", m.Environment.CPUs, len(m.Allowed)),
		Why: "With one CPU driver and server run in turns, so that times include the driver's own work; " +
			"with two CPUs each has its own.",
		Do: "give the machine, or the container, two CPUs or more",
	}
	if len(m.Allowed) < m.Environment.CPUs {
		f.Command = fmt.Sprintf("taskset -c 0-%d wirelab doctor", max(1, m.Environment.CPUs-1))
	}
	return judged(f, above(-len(m.Allowed), -2, -2))
}

// siblings looks for a core of which the server has one thread and the driver another.
func siblings(m probe.Machine, place result.Placement) Finding {
	f := Finding{
		ID: "siblings", Group: Processors, Name: "threads of a core", Value: "none shared by server and driver",
		Why: "Two threads of one core slow each other down, so that the driver's work shows in the server's figures.",
		Do:  "turn the second threads off if that leaves two cores; otherwise use a machine with more cores",
	}
	var torn []string
	for _, core := range m.Shared {
		on := func(cpus []int) bool {
			return slices.ContainsFunc(core, func(cpu int) bool { return slices.Contains(cpus, cpu) })
		}
		if on(place.ServerCPUs) && on(place.DriverCPUs) {
			torn = append(torn, numbers(core))
		}
	}
	if len(torn) == 0 {
		return judged(f, Fine)
	}
	f.Value = "server and driver share the core of CPUs " + strings.Join(torn, " and ")
	f.Command = "echo off | sudo tee /sys/devices/system/cpu/smt/control"
	return judged(f, Warn)
}

func numbers(all []int) string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, "+")
}

// quota compares the control group's share with what server and driver use.
func quota(m probe.Machine) Finding {
	f := Finding{
		ID: "quota", Group: Processors, Name: "CPU quota", Value: "none",
		Why: "A group that has used up its share is stopped for up to a tenth of a second, and calls in flight seem " +
			"slow.",
		Do: "give the container whole CPUs without a quota, as with --cpuset-cpus",
	}
	if m.Quota == 0 {
		return judged(f, Fine)
	}
	f.Value = fmt.Sprintf("%.3g CPUs", m.Quota)
	f.Command = "docker update --cpus 0 --cpuset-cpus 0,1 CONTAINER"
	switch {
	case m.Quota < 2:
		return judged(f, Bad)
	case m.Quota < float64(len(m.Allowed)):
		return judged(f, Warn)
	}
	return judged(f, Fine)
}

func governor(m probe.Machine) Finding {
	f := Finding{
		ID: "governor", Group: Processors, Name: "frequency governor", Value: m.Environment.Governor,
		Why: "Governors other than performance lower the clock of a core that is not busy, so that few calls in " +
			"flight look slower than many.",
		Do:      "keep the clock high while measuring",
		Command: "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
	}
	switch m.Environment.Governor {
	case "performance":
		return judged(f, Fine)
	case "unknown", "":
		f.Value = "unknown, as in most virtual machines"
		return judged(f, Fine)
	}
	return judged(f, Warn)
}

func boost(m probe.Machine) Finding {
	f := Finding{
		ID: "turbo", Group: Processors, Name: "turbo", Value: m.Turbo,
		Why: "The clock rises while few cores work and falls as they get warm. Rounds in random order keep " +
			"that fair, " +
			"but it widens intervals.",
		Do: "hold the clock at its nominal rate while measuring",
	}
	switch m.Turbo {
	case "on":
		off := "0"
		if strings.HasSuffix(m.TurboFile, "no_turbo") {
			off = "1"
		}
		f.Command = "echo " + off + " | sudo tee " + m.TurboFile
		return judged(f, Warn)
	case "":
		f.Value = "unknown"
	}
	return judged(f, Fine)
}

func virtual(m probe.Machine) Finding {
	f := Finding{
		ID: "virtual", Group: Processors, Name: "virtual machine", Value: "no",
		Why: "Other machines on the same hardware take its CPUs and caches at times that cannot be seen from inside.",
		Do:  "if small differences matter, measure on your own hardware or on an instance with dedicated CPUs",
	}
	if m.Environment.Virtual == "" {
		return judged(f, Fine)
	}
	f.Value = "yes"
	return judged(f, Warn)
}

func battery(m probe.Machine) Finding {
	f := Finding{
		ID: "battery", Group: Processors, Name: "power", Value: "mains",
		Why: "On battery the firmware may lower clocks at any time.",
		Do:  "plug in the power supply",
	}
	if m.Battery == "discharging" {
		f.Value = "battery"
		return judged(f, Warn)
	}
	return judged(f, Fine)
}

// goodClocks are clock sources that are read without a system call, in tens of nanoseconds. slowClocks are devices that
// take a microsecond.
var (
	goodClocks = []string{"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"}
	slowClocks = []string{"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"}
)

// clock checks how precisely the machine tells and keeps time.
func clock(m probe.Machine, w probe.Watched) []Finding {
	return []Finding{source(m), cost(m), step(m), wakes(w)}
}

func source(m probe.Machine) Finding {
	is := m.Environment.ClockSource
	f := Finding{
		ID: "clock-source", Group: Clock, Name: "clock source", Value: is,
		Why: "The clock is read twice for each call. A device such as hpet takes a microsecond each time, and the " +
			"CPUs wait for one another.",
		Do: "use the CPU's own counter; if the kernel found it unstable, its log says why (dmesg | grep -i tsc)",
	}
	for _, better := range goodClocks {
		if slices.Contains(m.ClockSources, better) {
			f.Command = "echo " + better +
				" | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
			break
		}
	}
	switch {
	case slices.Contains(goodClocks, is):
		return judged(f, Fine)
	case slices.Contains(slowClocks, is):
		return judged(f, Bad)
	}
	return judged(f, Warn)
}

func cost(m probe.Machine) Finding {
	f := Finding{
		ID: "clock-cost", Group: Clock, Name: "reading the clock", Value: brief(m.Clock.Cost),
		Why: "The cost of a reading is part of every call's time and CPU.",
		Do:  "use a clock source that is read without a system call: tsc, or kvm-clock",
	}
	return judged(f, above(time.Duration(m.Clock.Cost), 150*time.Nanosecond, 2*time.Microsecond))
}

func step(m probe.Machine) Finding {
	f := Finding{
		ID: "clock-step", Group: Clock, Name: "smallest step", Value: brief(m.Clock.Step),
		Why: "Times shorter than the clock's step cannot be told apart.",
		Do:  "use another clock source: tsc, or kvm-clock",
	}
	return judged(f, above(time.Duration(m.Clock.Step), time.Microsecond, 50*time.Microsecond))
}

// Timers that are later than this are reported. The engine wakes 50 µs before a call is due and polls the clock for the
// rest, so that only a longer delay makes a call late.
const (
	lateWarn = 100 * time.Microsecond
	lateBad  = time.Millisecond
)

func wakes(w probe.Watched) Finding {
	f := Finding{
		ID: "timer", Group: Clock, Name: "timer wakes late",
		Value: fmt.Sprintf("p50 %v, p99 %v, worst %v", brief(w.Wakes.P50), brief(w.Wakes.P99), brief(w.Wakes.Worst)),
		Why: "In the open loop each call is due at a fixed time. A driver that wakes late sends it late, " +
			"and the gate on lateness then refuses the quantiles.",
		Do: "stop other programs, or reserve a CPU for the driver (boot with isolcpus=); the closed loop " +
			"does not " +
			"need it",
	}
	level := Fine
	switch p50, p99 := time.Duration(w.Wakes.P50), time.Duration(w.Wakes.P99); {
	case p50 > lateBad:
		level = Bad
	case p50 > lateWarn || p99 > lateBad:
		level = Warn
	}
	return judged(f, level)
}
