package probe

import (
	"context"
	"errors"
	"os"
	"reflect"
	"testing"
	"testing/fstest"
	"time"

	"wirelab/lab/plan"
)

func filesOf(contents map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range contents {
		root[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return root
}

func TestMachineReadsWhatTheKernelTells(t *testing.T) {
	t.Parallel()
	m := ReadMachine(filesOf(map[string]string{
		"sys/devices/system/cpu/intel_pstate/no_turbo":                      "0",
		"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
		"proc/self/cgroup":          "0::/a/b",
		"sys/fs/cgroup/a/b/cpu.max": "max 100000",
		"sys/fs/cgroup/a/cpu.max":   "150000 100000",
		"proc/meminfo": "MemTotal: 1000 kB\nMemAvailable:  500 kB\nSwapTotal: 100 " +
			"kB\nSwapFree: 40 kB",
		"proc/loadavg":                          "1.25 0.5 0.1 2/300 4242",
		"sys/class/power_supply/AC/type":        "Mains",
		"sys/class/power_supply/BAT0/type":      "Battery",
		"sys/class/power_supply/BAT0/status":    "Discharging",
		"sys/class/power_supply/mouse/type":     "Battery",
		"sys/class/power_supply/mouse/scope":    "Device",
		"sys/class/net/lo/mtu":                  "65536",
		"proc/sys/net/ipv4/ip_local_port_range": "32768\t60999",
	}))
	if m.Turbo != "on" || m.TurboFile != "/sys/devices/system/cpu/intel_pstate/no_turbo" || len(m.ClockSources) != 3 ||
		m.Quota != 1.5 || m.Available != 500<<10 || m.Swap != 100<<10 || m.Swapped != 60<<10 || m.Load != 1.25 ||
		m.Battery != "discharging" || m.MTU != 65536 || m.Ports != 28232 {
		t.Errorf("%+v", m)
	}
	if len(m.Allowed) == 0 || m.Files == 0 || m.Clock.Cost <= 0 || m.Clock.Step <= 0 || m.Environment.CPUs == 0 {
		t.Errorf("of this machine itself: %+v", m)
	}
	empty := ReadMachine(fstest.MapFS{})
	if empty.Turbo != "" || empty.Quota != 0 || empty.Load >= 0 || empty.Battery != "" || empty.MTU != 0 ||
		empty.Ports != 0 || len(empty.Shared) != 0 {
		t.Errorf("of nothing: %+v", empty)
	}
}

func TestQuotaOfTheFirstVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"alone": {map[string]string{
			"proc/self/cgroup": "3:cpu:/x", "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "50000",
			"sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000",
		}, 0.5},
		"mounted together": {map[string]string{
			"proc/self/cgroup": "3:cpu,cpuacct:/", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
		}, 2},
		"without a limit": {map[string]string{
			"proc/self/cgroup": "3:cpu:/", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
		}, 0},
		"of another kind": {map[string]string{
			"proc/self/cgroup":                      "3:cpuset:/",
			"sys/fs/cgroup/cpuset/cpu.cfs_quota_us": "1", "sys/fs/cgroup/cpuset/cpu.cfs_period_us": "1",
		}, 0},
	} {
		if got := quota(filesOf(c.files)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestCoresAreSharedByThreads(t *testing.T) {
	t.Parallel()
	root := filesOf(map[string]string{
		"sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0,4",
		"sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "1,5",
		"sys/devices/system/cpu/cpu2/topology/thread_siblings_list": "2-3",
		"sys/devices/system/cpu/cpu3/topology/thread_siblings_list": "2-3",
		"sys/devices/system/cpu/cpu4/topology/thread_siblings_list": "0,4",
	})
	if got := cores(root, []int{0, 1, 2, 3, 4}); !reflect.DeepEqual(got, [][]int{{0, 4}, {1}, {2, 3}}) {
		t.Errorf("%v", got)
	}
	if got := cores(fstest.MapFS{}, []int{0, 3}); !reflect.DeepEqual(got, [][]int{{0}, {3}}) {
		t.Errorf("of nothing: %v", got)
	}
	for text, want := range map[string][]int{
		"0-2,7": {0, 1, 2, 7}, "": nil, "x": nil, "3-1": nil, "0-99999999": nil,
		"-1": nil,
	} {
		if got := cpuList(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestTaskLines(t *testing.T) {
	t.Parallel()
	task, ok := taskOf("77 (a) b (c)) S 1 1 1 0 -1 4194560 1 0 0 0 12 30 0 0 20 0 1 0 5")
	if !ok || task.name != "a) b (c)" || task.used != 420*time.Millisecond {
		t.Errorf("%+v %v", task, ok)
	}
	for _, text := range []string{"", "77 (x", "77 (x) S 1", "77 )x( S"} {
		if _, ok := taskOf(text); ok {
			t.Errorf("%q is taken for a task", text)
		}
	}
}

func TestBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	began := time.Now()
	before := look{
		times: CPUTimes{At: began}, tasks: map[int]taskTime{1: {"old", time.Second}, 2: {"another's id", time.Hour}},
		waited: time.Second, swapped: 5, throttles: 7,
	}
	after := look{
		times: CPUTimes{At: began.Add(time.Second), Busy: 0.5, Steal: 0.1, CPUs: 2},
		tasks: map[int]taskTime{
			1: {"old", 1100 * time.Millisecond}, 2: {"new", 200 * time.Millisecond}, 3: {"idle", 0},
			os.Getpid(): {"self", time.Minute}, 4: {"d", 1e7}, 5: {"e", 1e7}, 6: {"f", 1e7}, 7: {"g", 1e7},
		},
		waited: 1250 * time.Millisecond, swapped: 6, throttles: 7,
	}
	w := between(before, after)
	if w.MemoryPressure != 0.25 || w.Noise.Steal <= 0 || w.Swapped != 1 || w.Throttles != 0 {
		t.Errorf("%+v", w)
	}
	if len(w.Tasks) != tasks || w.Tasks[0] != (Task{PID: 2, Name: "new", Share: 0.1}) || w.Tasks[1].Name != "old" {
		t.Errorf("tasks %+v", w.Tasks)
	}
	before.waited = unknown
	if w := between(before, after); w.MemoryPressure != -1 {
		t.Errorf("pressure %v of what was not told", w.MemoryPressure)
	}
}

// script is a clock that wakes late by given times, in turn.
type script struct {
	now  int64
	late []time.Duration
	end  context.CancelFunc
}

func (s *script) Now() int64 { return s.now }

func (s *script) SleepUntil(_ context.Context, due int64) time.Duration {
	const margin = 50 * time.Microsecond
	if len(s.late) == 0 {
		s.end()
		return 0
	}
	woke := due - int64(margin) + int64(s.late[0])
	s.late = s.late[1:]
	s.now = max(due, woke)
	return time.Duration(s.now - woke)
}

func TestLatenessIsOfTheWakeUpAndNotOfTheSpin(t *testing.T) {
	t.Parallel()
	clock := &script{}
	for i := range wakes {
		clock.late = append(clock.late, time.Duration(i)*time.Microsecond)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	clock.end = end
	w, err := Watch(ctx, os.DirFS("/"), clock, 50*time.Microsecond, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	us := plan.Duration(time.Microsecond)
	if w.Wakes != (Wakes{Count: wakes, P50: wakes / 2 * us, P99: wakes * 99 / 100 * us, Worst: (wakes - 1) * us}) {
		t.Errorf("%+v", w.Wakes)
	}
	if _, err := Watch(ctx, os.DirFS("/"), clock, 0, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}
