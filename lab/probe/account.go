package probe

import (
	"errors"
	"math"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/internal/process"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Account measures the resource use of the calling process. It keeps values that would be lost between two readings:
// the waiting time and context switches of threads that have ended, which the kernel drops with the thread, and the
// garbage collection pauses of earlier readings. It is for one goroutine at a time.
type Account struct {
	opened  time.Time
	cores   unix.CPUSet // the CPUs that the process may run on
	threads counted[string]
	pauses  []uint64 // counts of the runtime's buckets at the last reading
}

// NewAccount opens the account of the calling process.
func NewAccount() *Account {
	a := &Account{opened: time.Now()}
	if err := unix.SchedGetaffinity(0, &a.cores); err != nil {
		a.cores.Fill() // cannot happen: a process may always read its own affinity
	}
	return a
}

// Self returns the resource use of the calling process so far. For repeated readings use an [Account].
func Self() (result.Usage, error) { return NewAccount().Read() }

// Read returns the resource use of the process so far. Wall is the time since the account was opened. PauseP99 covers
// the pauses since the previous reading.
func (a *Account) Read() (result.Usage, error) {
	usage, err := a.clocks(result.Usage{})
	if err != nil {
		return usage, err
	}
	busy, err := a.busy()
	if err != nil {
		return usage, err
	}
	usage.Others = plan.Duration(busy) - usage.CPU // counted since the machine started, so only differences are meaningful
	a.runtime(&usage)
	return usage, a.kernel(&usage)
}

// Over calls run and returns the resource use in that time. Reading itself costs CPU time and memory. So the
// expensive readings are outermost, and the result contains only the cost of reading the clocks.
func (a *Account) Over(run func()) (result.Usage, error) {
	var before, after result.Usage
	err := a.kernel(&before)
	a.runtime(&before)
	busy, errBusy := a.busy()
	before, errClock := a.clocks(before)
	run()
	after, errAfter := a.clocks(after)
	busyAfter, errBusyAfter := a.busy()
	a.runtime(&after)
	err = errors.Join(err, errBusy, errClock, errAfter, errBusyAfter, a.kernel(&after))
	used := Since(before, after)
	used.Others = plan.Duration(busyAfter-busy) - used.CPU
	return used, err
}

// busy is the CPU time of all processes on the cores that this process may run on.
func (a *Account) busy() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	busy := time.Duration(0)
	for line := range strings.Lines(string(text)) {
		digits, ok := strings.CutPrefix(line, "cpu")
		if !ok {
			break // the lines of CPUs come first
		}
		name, rest, _ := strings.Cut(digits, " ")
		cpu, err := strconv.Atoi(name)
		if err != nil || !a.cores.IsSet(cpu) {
			continue // the line for all CPUs, or another core
		}
		busy += busyTime(rest)
	}
	return busy, nil
}

// clocks adds the CPU time and the wall time.
func (a *Account) clocks(usage result.Usage) (result.Usage, error) {
	cpu, err := process.CPU(os.Getpid())
	usage.CPU, usage.Wall = plan.Duration(cpu), plan.Duration(time.Since(a.opened))
	return usage, err
}

// kernel adds the kernel's counters of each thread.
func (a *Account) kernel(usage *result.Usage) error {
	threads, err := readThreads(os.Getpid())
	if err != nil {
		return err
	}
	all := a.threads.sum(threads)
	all.tell(usage)
	return nil
}

// runtime adds the counters of Go's runtime.
func (a *Account) runtime(usage *result.Usage) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:objects"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
		// The runtime counts tiny allocations separately, because it packs several into one block. To a program's
		// author each is an allocation.
		{Name: "/gc/heap/tiny/allocs:objects"},
		{Name: "/sched/pauses/total/gc:seconds"},
	}
	metrics.Read(samples)
	usage.Allocations = new(samples[0].Value.Uint64() + samples[3].Value.Uint64())
	usage.AllocatedBytes = new(samples[1].Value.Uint64())
	usage.GarbageCycles = new(samples[2].Value.Uint64())
	pauses := samples[4].Value.Float64Histogram()
	usage.PauseP99 = pauseP99(a.pauses, pauses.Counts, pauses.Buckets)
	a.pauses = slices.Clone(pauses.Counts)
}

// pauseP99 is the 99th percentile of the pauses between two readings of the runtime's histogram: the upper bound of
// its bucket, or 0 if there were no pauses. With fewer than a hundred pauses it is the longest one.
func pauseP99(before, after []uint64, bounds []float64) plan.Duration {
	since := func(i int) uint64 {
		if i < len(before) {
			return after[i] - before[i]
		}
		return after[i]
	}
	total := uint64(0)
	for i := range after {
		total += since(i)
	}
	if total == 0 {
		return 0
	}
	rank, seen := uint64(math.Ceil(0.99*float64(total))), uint64(0)
	for i := range after {
		if seen += since(i); seen >= rank {
			bound := bounds[i+1]
			if math.IsInf(bound, 1) {
				bound = bounds[i]
			}
			return plan.Duration(bound * float64(time.Second))
		}
	}
	return 0 // cannot happen: the last bucket reaches the total
}
