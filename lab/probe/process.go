// Package probe reads the resource use of processes and hosts: CPU time, memory, allocations, context switches and
// bytes through sockets. It also describes the machine. It knows Linux, and nothing about what is being measured.
package probe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// thread has the kernel's counters of a thread, which are dropped when the thread ends.
type thread struct {
	voluntary, preempted uint64
	waited               uint64 // ns, ready to run but without a CPU
	runs                 uint64 // how often it got a CPU
	resident             uint64 // bytes, of the whole process
	peak                 uint64 // bytes, the peak of the whole process so far
}

// add adds the counters of another thread.
func (t *thread) add(other thread) {
	t.voluntary += other.voluntary
	t.preempted += other.preempted
	t.waited += other.waited
	t.runs += other.runs
	t.resident = max(t.resident, other.resident)
	t.peak = max(t.peak, other.peak)
}

// tell copies the counters to a usage.
func (t *thread) tell(usage *result.Usage) {
	usage.VoluntaryWaits, usage.Preemptions = t.voluntary, t.preempted
	usage.Waited, usage.Runs, usage.ResidentBytes = plan.Duration(t.waited), t.runs, t.resident
}

// counted sums up the counters of threads. It keeps those of threads that ended between two readings. K identifies a
// thread.
type counted[K comparable] struct {
	last map[K]thread // at the last reading
	gone thread       // the sum over the threads that have ended
}

// sum takes a reading. It returns the sum over these threads and all that have ended.
func (c *counted[K]) sum(now map[K]thread) thread {
	for id, before := range c.last {
		later, alive := now[id]
		// An id may be reused, and then the counters start from 0.
		if !alive || later.waited < before.waited || later.voluntary < before.voluntary {
			before.resident = 0 // memory of an ended thread is not held any more
			c.gone.add(before)
		}
	}
	c.last = now
	all := c.gone
	for _, t := range now {
		all.add(t)
	}
	return all
}

// readThreads reads the counters of each thread of a process, by thread id.
func readThreads(pid int) (map[string]thread, error) {
	folder := fmt.Sprintf("/proc/%d/task", pid)
	tasks, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	all := make(map[string]thread, len(tasks))
	for _, task := range tasks {
		status, err := os.ReadFile(folder + "/" + task.Name() + "/status")
		if ended(err) {
			continue // it ended during the reading
		}
		if err != nil {
			return nil, err
		}
		t := thread{
			voluntary: field(status, "voluntary_ctxt_switches:"),
			preempted: field(status, "nonvoluntary_ctxt_switches:"),
			resident:  field(status, "VmRSS:") * 1024,
			peak:      field(status, "VmHWM:") * 1024,
		}
		// schedstat has three numbers: ns on a CPU, ns waiting for one, and how often it got one. Kernels built
		// without it do not have the file.
		schedule, err := os.ReadFile(folder + "/" + task.Name() + "/schedstat")
		if err != nil && !ended(err) {
			return nil, err
		}
		if words := strings.Fields(string(schedule)); len(words) == 3 {
			if t.waited, err = strconv.ParseUint(words[1], 10, 64); err != nil {
				return nil, fmt.Errorf("schedstat: %w", err)
			}
			if t.runs, err = strconv.ParseUint(words[2], 10, 64); err != nil {
				return nil, fmt.Errorf("schedstat: %w", err)
			}
		}
		all[task.Name()] = t
	}
	return all, nil
}

// ended reports whether an error means that a thread no longer exists.
func ended(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// Since returns the use between two readings. Resident memory and pauses are not counters; they are those of the
// later reading.
func Since(before, after result.Usage) result.Usage {
	return result.Usage{
		CPU:            after.CPU - before.CPU,
		Allocations:    both(before.Allocations, after.Allocations, less),
		AllocatedBytes: both(before.AllocatedBytes, after.AllocatedBytes, less),
		VoluntaryWaits: less(before.VoluntaryWaits, after.VoluntaryWaits),
		Preemptions:    less(before.Preemptions, after.Preemptions),
		GarbageCycles:  both(before.GarbageCycles, after.GarbageCycles, less),
		ResidentBytes:  after.ResidentBytes,
		Wall:           after.Wall - before.Wall,
		// The kernel may drop waiting times of ended threads, so this value can decrease, unlike the CPU clock.
		Waited:   max(0, after.Waited-before.Waited),
		Runs:     after.Runs - min(after.Runs, before.Runs),
		PauseP99: after.PauseP99,
		Spun:     after.Spun - before.Spun,
		Others:   after.Others - before.Others,
	}
}

// both combines two values if both are known, and otherwise returns nil.
func both(a, b *uint64, of func(a, b uint64) uint64) *uint64 {
	if a == nil || b == nil {
		return nil
	}
	return new(of(*a, *b))
}

// less is the increase of a counter. It is never negative: the kernel drops the counts of ended threads.
func less(before, after uint64) uint64 { return after - min(after, before) }

func plus(a, b uint64) uint64 { return a + b }

// Add adds the use of another period. A value that is unknown in one is unknown in the sum.
func Add(sum *result.Usage, more result.Usage) {
	if *sum == (result.Usage{}) {
		*sum = more
		return
	}
	sum.CPU += more.CPU
	sum.Allocations = both(sum.Allocations, more.Allocations, plus)
	sum.AllocatedBytes = both(sum.AllocatedBytes, more.AllocatedBytes, plus)
	sum.VoluntaryWaits += more.VoluntaryWaits
	sum.Preemptions += more.Preemptions
	sum.GarbageCycles = both(sum.GarbageCycles, more.GarbageCycles, plus)
	sum.ResidentBytes = max(sum.ResidentBytes, more.ResidentBytes)
	sum.Wall += more.Wall
	sum.Waited += more.Waited
	sum.Runs += more.Runs
	sum.PauseP99 = max(sum.PauseP99, more.PauseP99)
	sum.Spun += more.Spun
	sum.Others += more.Others
}

// field returns the number that follows a label at the beginning of a line; 0 if there is no such line.
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
