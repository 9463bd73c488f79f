package probe

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Environment describes the machine and this build. Values that the kernel does not provide are "unknown"; nothing is
// guessed.
func Environment() result.Environment {
	env := result.Environment{
		OS:          runtime.GOOS + "/" + runtime.GOARCH,
		Kernel:      "unknown",
		CPU:         cpuModel(),
		CPUs:        runtime.NumCPU(),
		Governor:    firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		ClockSource: firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Go:          runtime.Version(),
		Libraries:   map[string]string{},
		Settings:    map[string]string{},
	}
	if host, err := os.Hostname(); err == nil {
		env.Host = host
	}
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		env.Kernel = unix.ByteSliceToString(uts.Release[:])
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		env.MemoryBytes = field(text, "MemTotal:") * 1024
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil && strings.Contains(string(text), "hypervisor") {
		env.Virtual = "virtual machine"
	}
	for _, name := range []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"} {
		if value, ok := os.LookupEnv(name); ok {
			env.Settings[name] = value
		}
	}
	build(&env)
	return env
}

// build fills in what the linker recorded about the build.
func build(env *result.Environment) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	for _, dependency := range info.Deps {
		if dependency.Replace != nil {
			dependency = dependency.Replace
		}
		env.Libraries[dependency.Path] = dependency.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			env.Commit = s.Value
		case "vcs.modified":
			env.Dirty = s.Value == "true"
		case "-race", "-ldflags", "-gcflags", "-tags", "GOAMD64":
			env.Settings[s.Key] = s.Value
		}
	}
}

// CPUTimes is the work of a host's CPUs since it started, in seconds over all CPUs, and the times for which tasks
// waited.
type CPUTimes struct {
	Busy  float64 // user, nice, system and interrupt time; guest time is part of user
	Steal float64 // time that the hypervisor gave to others
	CPUs  int     // CPUs that are online; 0: unknown
	At    time.Time
	// CPUPressure and IOPressure are the times in which some task waited for a CPU, or for input and output.
	// Throttled is the time in which the control group of this process, or one above it, was throttled. Negative
	// values mean unknown.
	CPUPressure, IOPressure, Throttled time.Duration
}

// ReadCPUTimes reads /proc/stat, /proc/pressure and the control group's cpu.stat.
func ReadCPUTimes() (CPUTimes, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTimes{}, err
	}
	times := CPUTimes{
		At: time.Now(), Throttled: throttled(),
		CPUPressure: pressure("/proc/pressure/cpu"), IOPressure: pressure("/proc/pressure/io"),
	}
	line, rest, _ := strings.Cut(string(text), "\n")
	words := strings.Fields(line)
	if len(words) < 9 || words[0] != "cpu" {
		return CPUTimes{}, fmt.Errorf("/proc/stat begins with %q", line)
	}
	for i, n := range ticks(words[1:]) {
		seconds := float64(n) / ticksPerSecond
		switch {
		case busyColumn(i):
			times.Busy += seconds
		case i == 7:
			times.Steal = seconds
		}
	}
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "cpu") {
			times.CPUs++
		}
	}
	return times, nil
}

// ticksPerSecond is USER_HZ, 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// busyColumn reports whether a column of a CPU's line in /proc/stat is work: user, nice, system, interrupts. Guest
// time is part of user.
func busyColumn(i int) bool { return i <= 2 || i == 5 || i == 6 }

// ticks reads the columns of a CPU's line. A column that is not a number is 0.
func ticks(words []string) []uint64 {
	all := make([]uint64, len(words))
	for i, word := range words {
		if n, err := strconv.ParseUint(word, 10, 63); err == nil {
			all[i] = n
		}
	}
	return all
}

// busyTime is the sum of the columns that are work.
func busyTime(columns string) time.Duration {
	busy := time.Duration(0)
	for i, n := range ticks(strings.Fields(columns)) {
		if busyColumn(i) {
			busy += time.Duration(n) * (time.Second / ticksPerSecond)
		}
	}
	return busy
}

// Noise returns what else the machine did between two readings. own is the CPU time of the experiment's own processes
// in that time.
func Noise(before, after CPUTimes, own time.Duration) result.Noise {
	cpus := after.CPUs
	if cpus == 0 {
		cpus = runtime.NumCPU()
	}
	wall := after.At.Sub(before.At).Seconds()
	capacity := wall * float64(cpus)
	if capacity <= 0 {
		return result.Noise{CPUPressure: -1, IOPressure: -1, Throttled: -1}
	}
	share := func(before, after time.Duration) float64 {
		if before < 0 || after < before {
			return -1
		}
		return min(1, (after-before).Seconds()/wall)
	}
	noise := result.Noise{
		Steal:       max(0, min(1, (after.Steal-before.Steal)/capacity)),
		Others:      max(0, min(1, (after.Busy-before.Busy-own.Seconds())/capacity)),
		CPUPressure: share(before.CPUPressure, after.CPUPressure),
		IOPressure:  share(before.IOPressure, after.IOPressure),
		Throttled:   -1,
	}
	if before.Throttled >= 0 && after.Throttled >= before.Throttled {
		noise.Throttled = plan.Duration(after.Throttled - before.Throttled)
	}
	return noise
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(name), ":"))
		}
	}
	return "unknown"
}

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}
