// Package probe reads what a process and a host did: CPU, memory,
// allocations, context switches, bytes through sockets, and what the machine
// is. It knows Linux and nothing of what is measured with it.
package probe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/plan"
	"wirelab/result"
)

// CPU returns the CPU time that all threads of the process, ended ones
// included, have used so far, in user and kernel mode together, exact to the
// scheduler's accounting (ns). /proc/PID/stat would tell it in ticks of 10 ms,
// a fifth of a slice; so the process's POSIX CPU clock is read instead.
func CPU(pid int) (time.Duration, error) {
	// clock_getcpuclockid(3): the id of a process's clock is ~pid << 3 | CPUCLOCK_SCHED.
	const cpuClockSched = 2
	clock := int32(^pid<<3 | cpuClockSched)
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// Self returns what the calling process has used so far, allocations included.
func Self() (result.Usage, error) {
	usage, err := Process(os.Getpid())
	if err != nil {
		return usage, err
	}
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:objects"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
		// The runtime counts tiny allocations apart because it packs several
		// into one block; a program's author counts each.
		{Name: "/gc/heap/tiny/allocs:objects"},
	}
	metrics.Read(samples)
	usage.Allocations = samples[0].Value.Uint64() + samples[3].Value.Uint64()
	usage.AllocatedBytes = samples[1].Value.Uint64()
	usage.GarbageCycles = samples[2].Value.Uint64()
	return usage, nil
}

// Process returns what the kernel knows of another process: all of
// [result.Usage] but allocations and garbage collection.
func Process(pid int) (result.Usage, error) {
	var usage result.Usage
	cpu, err := CPU(pid)
	if err != nil {
		return usage, err
	}
	usage.CPU = plan.Duration(cpu)
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return usage, err
	}
	// Context switches are counted by thread. Those of threads that ended are
	// lost; Go programs end theirs rarely.
	for _, task := range tasks {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, task.Name()))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the thread ended meanwhile
		}
		if err != nil {
			return usage, err
		}
		usage.VoluntaryWaits += field(status, "voluntary_ctxt_switches:")
		usage.Preemptions += field(status, "nonvoluntary_ctxt_switches:")
		usage.ResidentBytes = field(status, "VmRSS:") * 1024
	}
	return usage, nil
}

// Since returns what was used between two readings; what is a level and not a
// count, the resident memory, is the later one's.
func Since(before, after result.Usage) result.Usage {
	return result.Usage{
		CPU:            after.CPU - before.CPU,
		Allocations:    after.Allocations - before.Allocations,
		AllocatedBytes: after.AllocatedBytes - before.AllocatedBytes,
		VoluntaryWaits: after.VoluntaryWaits - before.VoluntaryWaits,
		Preemptions:    after.Preemptions - before.Preemptions,
		GarbageCycles:  after.GarbageCycles - before.GarbageCycles,
		ResidentBytes:  after.ResidentBytes,
	}
}

// Add adds what was used over another stretch.
func Add(sum *result.Usage, more result.Usage) {
	sum.CPU += more.CPU
	sum.Allocations += more.Allocations
	sum.AllocatedBytes += more.AllocatedBytes
	sum.VoluntaryWaits += more.VoluntaryWaits
	sum.Preemptions += more.Preemptions
	sum.GarbageCycles += more.GarbageCycles
	sum.ResidentBytes = max(sum.ResidentBytes, more.ResidentBytes)
}

// field returns the number after a line's label, 0 if there is no such line.
func field(text []byte, label string) uint64 {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), label)
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		if len(words) == 0 {
			return 0
		}
		n, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return 0
}
