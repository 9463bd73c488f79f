package probe

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Machine describes a machine as a place to measure on, as its kernel reports it. Unknown values are "" or negative,
// as each field says.
type Machine struct {
	Environment result.Environment `json:"environment"`
	// Allowed are the CPUs that this process may run on. Shared has, for each core with several of them, the list of
	// those CPUs.
	Allowed []int   `json:"allowed"`
	Shared  [][]int `json:"shared,omitempty"`
	// Turbo is "on", "off", or "" if unknown. TurboFile is the file that says so, and that changes it.
	Turbo     string `json:"turbo,omitempty"`
	TurboFile string `json:"turbo_file,omitempty"`
	// ClockSources are the clock sources that the kernel offers.
	ClockSources []string `json:"clock_sources,omitempty"`
	// Quota is how many CPUs' worth of time the control group may use; 0: no limit.
	Quota float64 `json:"quota,omitempty"`
	// Available is the memory that is available without swapping; 0 if unknown. Swapped is the swap space in use,
	// Swap all of it.
	Available uint64 `json:"available_bytes"`
	Swapped   uint64 `json:"swapped_bytes"`
	Swap      uint64 `json:"swap_bytes"`
	// Load is the load average over a minute; negative if unknown.
	Load float64 `json:"load"`
	// Battery is "charging" or "discharging"; "" without a battery.
	Battery string `json:"battery,omitempty"`
	// Files is how many files a process may have open; 0 if unknown.
	Files uint64 `json:"files"`
	// MTU is that of the loopback interface. Ports is how many ports a client may use. 0 if unknown.
	MTU   int `json:"loopback_mtu"`
	Ports int `json:"ports"`
	// Clock is the cost and the resolution of the clock.
	Clock ClockReading `json:"clock"`
}

// ClockReading has the average cost of reading the clock, and the smallest step between two readings.
type ClockReading struct {
	Cost plan.Duration `json:"cost"`
	Step plan.Duration `json:"step"`
}

// ReadMachine describes the machine. root is the root of its files, os.DirFS("/"). Values whose files are missing
// stay unknown.
func ReadMachine(root fs.FS) Machine {
	m := Machine{Environment: Environment(), Load: -1}
	if all, err := Cores(root); err == nil {
		m.Allowed = slices.Sorted(slices.Values(slices.Concat(all...)))
		m.Shared = slices.DeleteFunc(all, func(core []int) bool { return len(core) < 2 })
	}
	m.Turbo, m.TurboFile = turbo(root)
	m.ClockSources = strings.Fields(textOf(root, "sys/devices/system/clocksource/clocksource0/available_clocksource"))
	m.Quota = quota(root)
	memory := []byte(textOf(root, "proc/meminfo"))
	m.Available = 1024 * field(memory, "MemAvailable:")
	m.Swap = 1024 * field(memory, "SwapTotal:")
	m.Swapped = m.Swap - min(m.Swap, 1024*field(memory, "SwapFree:"))
	if words := strings.Fields(textOf(root, "proc/loadavg")); len(words) > 0 {
		if v, err := strconv.ParseFloat(words[0], 64); err == nil {
			m.Load = v
		}
	}
	m.Battery = battery(root)
	var limit unix.Rlimit
	// The Go runtime raises the soft limit to the hard one at start, in this process and in its children.
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		m.Files = limit.Cur
	}
	m.MTU, _ = strconv.Atoi(textOf(root, "sys/class/net/lo/mtu")) // 0 if the file is missing
	if ends := numbersOf(textOf(root, "proc/sys/net/ipv4/ip_local_port_range")); len(ends) == 2 {
		m.Ports = int(ends[1]-ends[0]) + 1
	}
	m.Clock = readClock()
	return m
}

// textOf returns the contents of a file without surrounding space; "" if it cannot be read.
func textOf(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}

// numbersOf returns the whole numbers in a text, or nil if a word is not a number.
func numbersOf(text string) []int64 {
	var all []int64
	for _, word := range strings.Fields(text) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil
		}
		all = append(all, n)
	}
	return all
}

// Cores returns the CPUs that this process may run on, grouped by core, in the order of their first CPU. root is as
// in [ReadMachine]. The error is that of the kernel.
func Cores(root fs.FS) ([][]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("cores of this process: %w", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cores(root, cpus), nil
}

// cores groups CPUs that are threads of one core. If the topology is unknown, each CPU is a separate core.
func cores(root fs.FS, cpus []int) [][]int {
	var all [][]int
	seen := map[int]bool{}
	for _, cpu := range cpus {
		if seen[cpu] {
			continue
		}
		core := []int{cpu}
		list := textOf(root, path.Join("sys/devices/system/cpu", "cpu"+strconv.Itoa(cpu),
			"topology/thread_siblings_list"))
		for _, sibling := range cpuList(list) {
			if sibling != cpu && slices.Contains(cpus, sibling) {
				core = append(core, sibling)
				seen[sibling] = true
			}
		}
		all = append(all, core)
	}
	return all
}

// cpuList reads the kernel's form of a set of CPUs: "0-3,8".
func cpuList(text string) []int {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		low, err := strconv.Atoi(from)
		high := low
		if err == nil && isRange {
			high, err = strconv.Atoi(to)
		}
		const most = 1 << 16 // the maximum number of CPUs of a kernel
		if err != nil || low < 0 || high > most {
			return nil
		}
		for cpu := low; cpu <= high; cpu++ {
			all = append(all, cpu)
		}
	}
	return all
}

// turbo reports whether the clock rate may rise above its nominal value.
func turbo(root fs.FS) (state, file string) {
	for _, place := range []struct{ name, on, off string }{
		{"sys/devices/system/cpu/intel_pstate/no_turbo", "0", "1"},
		{"sys/devices/system/cpu/cpufreq/boost", "1", "0"},
	} {
		switch textOf(root, place.name) {
		case place.on:
			return "on", "/" + place.name
		case place.off:
			return "off", "/" + place.name
		}
	}
	return "", ""
}

// battery reports whether the machine has a battery, and whether it runs on it.
func battery(root fs.FS) string {
	found := ""
	supplies, _ := fs.ReadDir(root, "sys/class/power_supply") // empty if there is no such folder
	for _, supply := range supplies {
		dir := path.Join("sys/class/power_supply", supply.Name())
		// A mouse has a battery too, whose scope is "Device".
		if textOf(root, path.Join(dir, "type")) != "Battery" || textOf(root, path.Join(dir, "scope")) == "Device" {
			continue
		}
		if textOf(root, path.Join(dir, "status")) == "Discharging" {
			return "discharging"
		}
		found = "charging"
	}
	return found
}

// quota is how many CPUs' worth of time the tightest control group allows; 0: no limit.
func quota(root fs.FS) float64 {
	least := 0.0
	for _, folder := range groupFolders(textOf(root, "proc/self/cgroup"), "cpu") {
		group := strings.TrimPrefix(folder, "/")
		// Version 2 has both numbers in one line, version 1 has a file for each. Without a limit the first is "max"
		// or -1.
		limits := numbersOf(textOf(root, path.Join(group, "cpu.max")))
		if limits == nil {
			limits = append(numbersOf(textOf(root, path.Join(group, "cpu.cfs_quota_us"))),
				numbersOf(textOf(root, path.Join(group, "cpu.cfs_period_us")))...)
		}
		if len(limits) != 2 || limits[0] <= 0 || limits[1] <= 0 {
			continue
		}
		if cpus := float64(limits[0]) / float64(limits[1]); least == 0 || cpus < least {
			least = cpus
		}
	}
	return least
}

// readClock reads the clock many times. The smallest step is the resolution of the clock, or the cost of a reading if
// the resolution is finer. The cost is that of the fastest batch, so that other work on the machine does not count.
func readClock() ClockReading {
	const batches, readings = 50, 1000
	var cost, step time.Duration
	least := func(least *time.Duration, d time.Duration) {
		if *least == 0 || d < *least {
			*least = d
		}
	}
	began := time.Now()
	for range batches {
		first := time.Since(began)
		last := first
		for range readings {
			now := time.Since(began)
			if now > last {
				least(&step, now-last)
			}
			last = now
		}
		least(&cost, (last-first)/readings)
	}
	return ClockReading{Cost: plan.Duration(cost), Step: plan.Duration(step)}
}
