package probe

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab/internal/process"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Watched is what a machine did over some seconds without a measurement.
type Watched struct {
	For   plan.Duration `json:"for"`
	Noise result.Noise  `json:"noise"`
	// MemoryPressure is the share of time in which some task waited for memory; negative if unknown.
	MemoryPressure float64 `json:"memory_pressure"`
	// Swapped is the number of pages read from or written to swap. Throttles is how often a core was slowed down
	// because of heat.
	Swapped   uint64 `json:"swapped_pages"`
	Throttles uint64 `json:"thermal_throttles"`
	// Tasks are the processes that used most CPU time, without this one; at most 5.
	Tasks []Task `json:"tasks"`
	Wakes Wakes  `json:"wakes"`
}

// Task is a process and its share of the CPU time of all CPUs.
type Task struct {
	PID   int     `json:"pid"`
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// Wakes says how late a sleeper woke up. Worst is the maximum.
type Wakes struct {
	Count int           `json:"count"`
	P50   plan.Duration `json:"p50"`
	P99   plan.Duration `json:"p99"`
	Worst plan.Duration `json:"worst"`
}

// Sleeper is a clock with a sleep, such as the engine's. SleepUntil returns how much of the wait it spun.
type Sleeper interface {
	Now() int64
	SleepUntil(ctx context.Context, due int64) (spun time.Duration)
}

// wakes is the number of sleeps, and tasks the maximum number of processes in the result.
const (
	wakes = 200
	tasks = 5
)

// Watch observes the machine for about d. In that time it sleeps repeatedly by the clock, which wakes margin before
// the requested time and spins for the rest. Watch returns early with the context's error when ctx ends. root is as
// in [ReadMachine].
func Watch(ctx context.Context, root fs.FS, clock Sleeper, margin, d time.Duration) (Watched, error) {
	before, err := lookAround(root)
	if err != nil {
		return Watched{}, err
	}
	late := make([]time.Duration, 0, wakes)
	for range wakes {
		due := clock.Now() + int64(d/wakes)
		spun := clock.SleepUntil(ctx, due)
		if ctx.Err() != nil {
			return Watched{}, context.Cause(ctx)
		}
		// The sleeper woke when it began to spin. That should be margin before due.
		woke := clock.Now() - int64(spun)
		late = append(late, max(0, time.Duration(woke-due)+margin))
	}
	after, err := lookAround(root)
	if err != nil {
		return Watched{}, err
	}
	w := between(before, after)
	slices.Sort(late)
	at := func(q float64) plan.Duration { return plan.Duration(late[min(len(late)-1, int(q*float64(len(late))))]) }
	w.Wakes = Wakes{Count: len(late), P50: at(0.5), P99: at(0.99), Worst: at(1)}
	return w, nil
}

// look has the counters at one time.
type look struct {
	times     CPUTimes
	own       time.Duration    // CPU time of this process
	tasks     map[int]taskTime // by process id
	waited    time.Duration    // the time in which tasks waited for memory; negative if unknown
	swapped   uint64
	throttles uint64
}

type taskTime struct {
	name string
	used time.Duration
}

func lookAround(root fs.FS) (look, error) {
	times, err := ReadCPUTimes()
	if err != nil {
		return look{}, err
	}
	own, err := process.CPU(os.Getpid())
	if err != nil {
		return look{}, err
	}
	l := look{
		times: times, own: own, tasks: taskTimes(root),
		waited: parsePressure(textOf(root, "proc/pressure/memory")),
	}
	memory := []byte(textOf(root, "proc/vmstat"))
	l.swapped = field(memory, "pswpin ") + field(memory, "pswpout ")
	cpus, _ := fs.Glob(root, "sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count") // the pattern is valid
	for _, name := range cpus {
		if n, err := strconv.ParseUint(textOf(root, name), 10, 64); err == nil {
			l.throttles += n
		}
	}
	return l, nil
}

// between returns what happened between two looks.
func between(before, after look) Watched {
	took := after.times.At.Sub(before.times.At)
	w := Watched{
		For:       plan.Duration(took),
		Noise:     Noise(before.times, after.times, after.own-before.own),
		Swapped:   after.swapped - min(after.swapped, before.swapped),
		Throttles: after.throttles - min(after.throttles, before.throttles),
		Tasks:     []Task{},
	}
	w.MemoryPressure = -1
	if before.waited >= 0 && after.waited >= before.waited && took > 0 {
		w.MemoryPressure = min(1, float64(after.waited-before.waited)/float64(took))
	}
	capacity := float64(took) * float64(max(1, after.times.CPUs))
	for pid, task := range after.tasks {
		used := task.used
		if earlier, ok := before.tasks[pid]; ok && earlier.name == task.name {
			used -= earlier.used
		}
		if used > 0 && pid != os.Getpid() {
			w.Tasks = append(w.Tasks, Task{PID: pid, Name: task.name, Share: min(1, float64(used)/capacity)})
		}
	}
	slices.SortFunc(w.Tasks, func(a, b Task) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.PID, b.PID))
	})
	w.Tasks = w.Tasks[:min(len(w.Tasks), tasks)]
	return w
}

// taskTimes returns the CPU time of every process.
func taskTimes(root fs.FS) map[int]taskTime {
	all := map[int]taskTime{}
	entries, _ := fs.ReadDir(root, "proc") // empty if there is no /proc
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if task, ok := taskOf(textOf(root, path.Join("proc", entry.Name(), "stat"))); ok {
			all[pid] = task
		}
	}
	return all
}

// taskOf reads the line of /proc/PID/stat. The name may contain anything, even brackets, so it ends at the last one.
// User and system time are fields 14 and 15, in hundredths of a second.
func taskOf(line string) (taskTime, bool) {
	first, last := strings.Index(line, "("), strings.LastIndex(line, ")")
	if first < 0 || last < first {
		return taskTime{}, false
	}
	rest := strings.Fields(line[last+1:])
	if len(rest) < 13 {
		return taskTime{}, false
	}
	ticks := numbersOf(rest[11] + " " + rest[12])
	if len(ticks) != 2 {
		return taskTime{}, false
	}
	return taskTime{name: line[first+1 : last], used: time.Duration(ticks[0]+ticks[1]) * 10 * time.Millisecond}, true
}
