package doctor

import (
	"fmt"
	"math"
	"strings"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/probe"
)

// neighbours checks what else the machine and its host do. A finding is bad if package gate refuses a round for it;
// pressure has no gate.
func neighbours(m probe.Machine, w probe.Watched) []Finding {
	return []Finding{steal(w), others(w), pressure(w), average(m), throttled(w), heat(w), disk(w)}
}

func steal(w probe.Watched) Finding {
	f := Finding{
		ID: "steal", Group: Neighbours, Name: "taken by the host", Value: percent(w.Noise.Steal) + over(w),
		Why: "Time that the hypervisor gives to other machines is added to the calls in flight.",
		Do:  "measure at a quieter time, or on an instance with dedicated CPUs",
	}
	return judged(f, above(w.Noise.Steal, 0.005, 0.05))
}

func others(w probe.Watched) Finding {
	f := Finding{
		ID: "others", Group: Neighbours, Name: "other processes", Value: percent(w.Noise.Others) + " of all CPUs",
		Why:     "They take CPU time and caches from server and driver, from one arm more than from another.",
		Do:      "stop them, or wait until they are done",
		Command: "top -b -n 1 -o %CPU | head -n 15",
	}
	var named []string
	for _, t := range w.Tasks {
		if t.Share >= 0.005 {
			named = append(named, fmt.Sprintf("%s (%d) %s", printable(t.Name), t.PID, percent(t.Share)))
		}
	}
	if len(named) > 0 {
		f.Value += ": " + strings.Join(named, ", ")
	}
	return judged(f, above(w.Noise.Others, 0.03, 0.5))
}

// printable replaces control characters in the name of a process, which could move the cursor.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, name)
}

func pressure(w probe.Watched) Finding {
	f := Finding{
		ID: "cpu-pressure", Group: Neighbours, Name: "waiting for a CPU", Value: told(w.Noise.CPUPressure),
		Why: "The share of time in which a task was ready to run and had no CPU, while wirelab measured nothing.",
		Do:  "stop other programs",
	}
	return judged(f, above(w.Noise.CPUPressure, 0.1, 1))
}

func average(m probe.Machine) Finding {
	f := Finding{
		ID: "load", Group: Neighbours, Name: "load average", Value: fmt.Sprintf("%.2f over a minute", m.Load),
		Why: "It shows work that comes and goes: above the number of CPUs, some task waited all the time.",
		Do:  "wait until it has fallen",
	}
	if m.Load < 0 {
		f.Value = "unknown"
	}
	return judged(f, above(m.Load, 0.5*float64(max(1, len(m.Allowed))), math.Inf(1)))
}

func throttled(w probe.Watched) Finding {
	f := Finding{
		ID: "throttled", Group: Neighbours, Name: "held back by quota", Value: brief(w.Noise.Throttled) + over(w),
		Why: "The control group used up its share of CPU while hardly anything ran; with servers and drivers " +
			"it would " +
			"be stopped all the time.",
		Do: "lift the quota",
	}
	switch {
	case w.Noise.Throttled < 0:
		f.Value = "unknown"
	case w.Noise.Throttled == 0:
		f.Value = "no"
	}
	return judged(f, above(time.Duration(w.Noise.Throttled), 0, 0))
}

func heat(w probe.Watched) Finding {
	f := Finding{
		ID: "heat", Group: Neighbours, Name: "slowed by heat", Value: fmt.Sprintf("%d times", w.Throttles) + over(w),
		Why: "A core that is too hot lowers its clock, so that later slices look slower.",
		Do:  "let it cool down, clear its air vents, or limit the clock (turbo off)",
	}
	if w.Throttles == 0 {
		f.Value = "no"
	}
	return judged(f, above(w.Throttles, 0, 1<<62))
}

func disk(w probe.Watched) Finding {
	f := Finding{
		ID: "io-pressure", Group: Neighbours, Name: "waiting for disks", Value: told(w.Noise.IOPressure),
		Why: "A program reads or writes much: its interrupts and use of caches disturb calls, and a store on that " +
			"disk would be slow.",
		Do: "stop that program, or wait",
	}
	return judged(f, above(w.Noise.IOPressure, 0.1, 0.8))
}

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
)

func memory(m probe.Machine, w probe.Watched) []Finding {
	free := Finding{
		ID: "memory", Group: Memory, Name: "available",
		Value: size(m.Available) + " of " + size(m.Environment.MemoryBytes),
		Why: "Servers and drivers of all arms run at the same time; if memory is short the kernel drops caches, " +
			"swaps, or kills them.",
		Do: "close programs that need much memory, or compare fewer arms at a time",
	}
	level := above(-int64(m.Available), -gibibyte/2, -gibibyte/8)
	if m.Available == 0 {
		free.Value, level = "unknown", Fine
	}
	swap := Finding{
		ID: "swap", Group: Memory, Name: "swap", Value: "none",
		Why: "A page that has to be read back takes milliseconds in the middle of a call.",
		Do:  "free memory, then turn swap off while measuring", Command: "sudo swapoff -a",
	}
	if m.Swap > 0 {
		swap.Value = fmt.Sprintf("%s of %s used, %d pages moved", size(m.Swapped), size(m.Swap), w.Swapped) + over(w)
	}
	waiting := Finding{
		ID: "memory-pressure", Group: Memory, Name: "waiting for memory", Value: told(w.MemoryPressure),
		Why: "A task had to wait until memory was freed.",
		Do:  "close programs that need much memory",
	}
	return []Finding{
		judged(free, level), judged(swap, above(w.Swapped, 0, 1000)),
		judged(waiting, above(w.MemoryPressure, 0.01, 0.2)),
	}
}

// The limits that experiments need. A plan may ask for 10,000 connections in each of 32 arms, but one process holds
// those of one arm.
const (
	filesWarn, filesBad = 10_100, 256
	portsWarn           = 10_000
	mtuWarn             = 16_000
)

func limits(m probe.Machine) []Finding {
	files := Finding{
		ID: "files", Group: Limits, Name: "open files", Value: fmt.Sprintf("%d in a process", m.Files),
		Why:     "Each connection is a file in the driver and one in the server; a plan may have 10,000.",
		Do:      "raise the limit before plans with many connections",
		Command: "ulimit -n 65536",
	}
	mtu := Finding{
		ID: "mtu", Group: Limits, Name: "loopback packets", Value: fmt.Sprintf("%d bytes", m.MTU),
		Why: "Small packets split large messages, which is more work for the kernel, and more for some protocols " +
			"than for others.",
		Do:      "give the loopback interface its usual packet size",
		Command: "sudo ip link set dev lo mtu 65536",
	}
	ports := Finding{
		ID: "ports", Group: Limits, Name: "client ports", Value: fmt.Sprintf("%d", m.Ports),
		Why:     "A closed connection keeps its port for a minute, and each round opens new ones.",
		Do:      "allow more of them before plans with many connections",
		Command: "sudo sysctl -w net.ipv4.ip_local_port_range='15000 64999'",
	}
	all := []Finding{
		judged(files, above(-int64(m.Files), -filesWarn, -filesBad)),
		judged(mtu, above(-m.MTU, -mtuWarn, 0)),
		judged(ports, above(-m.Ports, -portsWarn, 0)),
	}
	for i, untold := range []bool{m.Files == 0, m.MTU == 0, m.Ports == 0} {
		if untold {
			all[i].Value = "unknown"
			all[i] = judged(all[i], Fine)
		}
	}
	return all
}

// program checks the build of wirelab and the settings of its runtime.
func program(m probe.Machine) []Finding {
	f := Finding{
		ID: "build", Group: Program, Name: "build", Value: m.Environment.Go,
		Why: "The race detector makes everything five to ten times slower, and not by the same factor.",
		Do:  "build without -race", Command: "make build",
	}
	level := Fine
	if m.Environment.Settings["-race"] == "true" {
		f.Value += " with the race detector"
		level = Bad
	}
	runtime := Finding{
		ID: "runtime", Group: Program, Name: "runtime settings", Value: "none",
		Why: "Servers and drivers inherit them, so that figures hold only for these settings.",
		Do:  "unset those that you do not mean to measure",
	}
	var set, names []string
	for _, name := range []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"} {
		if value, ok := m.Environment.Settings[name]; ok {
			set = append(set, name+"="+value)
			names = append(names, name)
		}
	}
	if len(set) == 0 {
		return []Finding{judged(f, level), judged(runtime, Fine)}
	}
	runtime.Value, runtime.Command = strings.Join(set, " "), "unset "+strings.Join(names, " ")
	return []Finding{judged(f, level), judged(runtime, Warn)}
}

// percent formats a share.
func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// told formats a share as percent of the time; a negative share is unknown.
func told(share float64) string {
	if share < 0 {
		return "unknown"
	}
	return percent(share) + " of the time"
}

// over says for how long the machine was watched.
func over(w probe.Watched) string {
	return " in " + time.Duration(w.For).Round(100*time.Millisecond).String()
}

func size(bytes uint64) string {
	if bytes < gibibyte {
		return fmt.Sprintf("%d MiB", bytes/mebibyte)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/gibibyte)
}

// brief formats a duration with three digits: "26 ns", "1.31 ms".
func brief(d plan.Duration) string {
	unit := time.Duration(1)
	for time.Duration(d)/unit >= 1000 {
		unit *= 10
	}
	text := time.Duration(d).Round(unit).String()
	if at := strings.LastIndexAny(text, "0123456789"); time.Duration(d) < time.Second && d > 0 {
		return text[:at+1] + " " + text[at+1:]
	}
	return text
}
