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

// Machine is what matters of a machine as a place to measure on, as its
// kernel tells it. What it does not tell is "" or negative, as each field says.
type Machine struct {
	Environment result.Environment `json:"environment"`
	// Allowed are the CPUs that this process may run on, and Shared those
	// among them that share a core, a list for each such core.
	Allowed []int   `json:"allowed"`
	Shared  [][]int `json:"shared,omitempty"`
	// Turbo is "on" or "off", "" where nobody tells; TurboFile is the file
	// that told it and that changes it.
	Turbo     string `json:"turbo,omitempty"`
	TurboFile string `json:"turbo_file,omitempty"`
	// ClockSources are those that the kernel could use.
	ClockSources []string `json:"clock_sources,omitempty"`
	// Quota is how many CPUs' time the control group may use; 0: all.
	Quota float64 `json:"quota,omitempty"`
	// Available is memory that can be had without swapping; 0 if not told.
	// Swapped is swap in use, Swap all there is.
	Available uint64 `json:"available_bytes"`
	Swapped   uint64 `json:"swapped_bytes"`
	Swap      uint64 `json:"swap_bytes"`
	// Load is the load average over a minute; negative if not told.
	Load float64 `json:"load"`
	// Battery is "charging" or "discharging" where there is one.
	Battery string `json:"battery,omitempty"`
	// Files is how many files a process may have open; 0 if not told.
	Files uint64 `json:"files"`
	// MTU is the loopback's; Ports how many a client may use; 0 if not told.
	MTU   int `json:"loopback_mtu"`
	Ports int `json:"ports"`
	// Clock is what reading the clock is like.
	Clock ClockReading `json:"clock"`
}

// ClockReading is what reading the clock is like: what a reading costs on
// average, and the smallest step seen from one to the next.
type ClockReading struct {
	Cost plan.Duration `json:"cost"`
	Step plan.Duration `json:"step"`
}

// ReadMachine reads what the machine is. root is the root of its files,
// os.DirFS("/"); what a file would tell that is not there stays untold.
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
	// The runtime raises the soft limit to the hard one when it starts, here
	// and in the children.
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		m.Files = limit.Cur
	}
	m.MTU, _ = strconv.Atoi(textOf(root, "sys/class/net/lo/mtu")) // 0 if it is not there
	if ends := numbersOf(textOf(root, "proc/sys/net/ipv4/ip_local_port_range")); len(ends) == 2 {
		m.Ports = int(ends[1]-ends[0]) + 1
	}
	m.Clock = readClock()
	return m
}

// textOf is a file without the space around it; "" if it cannot be read.
func textOf(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}

// numbersOf are the whole numbers of a text, nil if a word of it is none.
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

// Cores are the CPUs that this process may run on, those of one core together,
// each in the order of its first. root is as in [ReadMachine]. An error is the
// kernel's, which does not tell.
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

// cores groups CPUs that are threads of one core. Where that is not told, each
// is a core of its own.
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

// cpuList reads "0-3,8", as the kernel writes sets of CPUs.
func cpuList(text string) []int {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		low, err := strconv.Atoi(from)
		high := low
		if err == nil && isRange {
			high, err = strconv.Atoi(to)
		}
		const most = 1 << 16 // CPUs that a kernel can have
		if err != nil || low < 0 || high > most {
			return nil
		}
		for cpu := low; cpu <= high; cpu++ {
			all = append(all, cpu)
		}
	}
	return all
}

// turbo tells whether the clock may rise above its nominal rate.
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

// battery tells whether the machine lives on one.
func battery(root fs.FS) string {
	found := ""
	supplies, _ := fs.ReadDir(root, "sys/class/power_supply") // none if it is not there
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

// quota is the CPUs' time that the tightest control group allows; 0: all.
func quota(root fs.FS) float64 {
	least := 0.0
	for _, folder := range groupFolders(textOf(root, "proc/self/cgroup"), "cpu") {
		group := strings.TrimPrefix(folder, "/")
		// Version 2 has both numbers in a line, version 1 a file for each.
		// Where there is no limit the first is no number, "max" or -1.
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

// readClock reads the clock many times. The smallest step of many is what the
// clock resolves, or what a reading takes where it resolves more. The cost is
// that of the fastest batch, so that what else runs is not in it.
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
