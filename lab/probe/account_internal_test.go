package probe

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// The runtime's histogram only grows. A pause belongs to the two readings between which it happened.
func TestPauses(t *testing.T) {
	t.Parallel()
	bounds := []float64{0, 10e-6, 20e-6, 100e-6, math.Inf(1)}
	for _, c := range []struct {
		name          string
		before, after []uint64
		want          time.Duration
	}{
		{"none at all", nil, []uint64{0, 0, 0, 0}, 0},
		{"none since", []uint64{5, 5, 0, 0}, []uint64{5, 5, 0, 0}, 0},
		{"the longest of a few", nil, []uint64{7, 1, 0, 0}, 20 * time.Microsecond},
		{"one among a hundred is beyond", nil, []uint64{99, 0, 1, 0}, 10 * time.Microsecond},
		{"two are not", nil, []uint64{98, 0, 2, 0}, 100 * time.Microsecond},
		{"the old ones do not count", []uint64{0, 0, 9, 0}, []uint64{4, 0, 9, 0}, 10 * time.Microsecond},
		{"the last bucket has no upper bound", nil, []uint64{0, 0, 0, 1}, 100 * time.Microsecond},
	} {
		if got := time.Duration(pauseP99(c.before, c.after, bounds)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The kernel drops the counters of a thread that ends. The account keeps them, and does not mix up two threads with
// the same id.
func TestEndedThreadsAreRemembered(t *testing.T) {
	a := NewAccount()
	a.threads.last = map[string]thread{
		"0": {waited: 700, preempted: 2, voluntary: 1, resident: 1 << 60}, // no thread has this id
	}
	var with, without result.Usage
	if err := a.kernel(&with); err != nil {
		t.Fatal(err)
	}
	if err := NewAccount().kernel(&without); err != nil {
		t.Fatal(err)
	}
	if a.threads.gone.waited != 700 || a.threads.gone.preempted != 2 || a.threads.gone.voluntary != 1 {
		t.Errorf("gone %+v, want what the thread had", a.threads.gone)
	}
	var again result.Usage
	if err := a.kernel(&again); err != nil {
		t.Fatal(err)
	}
	if again.Waited < with.Waited || again.Preemptions < with.Preemptions {
		t.Errorf("the count goes back from %+v to %+v", with, again)
	}
	if again.ResidentBytes >= 1<<60 {
		t.Error("the memory of an ended thread still counts")
	}
	for id, now := range a.threads.last {
		now.waited += 1 << 40 // as if the id had belonged to a thread that waited longer
		a.threads.last[id] = now
		break
	}
	if err := a.kernel(&again); err != nil {
		t.Fatal(err)
	}
	if a.threads.gone.waited <= 700 {
		t.Error("a thread whose id was used again is forgotten")
	}
}

// The use over a period has its wall time, and the work done in it.
func TestUsageOverAStretch(t *testing.T) {
	a := NewAccount()
	for range 2 { // the second period does not include the first
		used, err := a.Over(func() {
			runtime.GC()
			for began := time.Now(); time.Since(began) < 10*time.Millisecond; {
				runtime.Gosched()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if used.Wall < plan.Duration(10*time.Millisecond) || used.CPU <= 0 || *used.GarbageCycles == 0 ||
			used.PauseP99 <= 0 || used.Waited < 0 || used.ResidentBytes == 0 {
			t.Errorf("used %+v", used)
		}
	}
	first, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	if used := Since(first, second); used.Wall <= 0 || used.PauseP99 != second.PauseP99 {
		t.Errorf("used %+v", used)
	}
}

func TestPressureFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       time.Duration
	}{
		{"both lines", "some avg10=1.35 avg60=1.17 avg300=2.37 total=3883091257\nfull avg10=0.00 avg60=0.00 " +
			"avg300=0.00 total=7\n", 3883091257 * time.Microsecond},
		{"only the line of all", "full avg10=0.00 total=7\n", unknown},
		{"no number", "some total=many\n", unknown},
		{"nothing", "", unknown},
	} {
		if got := parsePressure(c.text); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := pressure(filepath.Join(t.TempDir(), "none")); got != unknown {
		t.Errorf("a kernel without: %v", got)
	}
}

func TestThrottlingIsFoundInBothVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{
			"version 2", "0::/user.slice/me.scope\n",
			[]string{"/sys/fs/cgroup/user.slice/me.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"},
		},
		{"version 1", "3:memory:/x\n2:cpu,cpuacct:/docker\n", []string{
			"/sys/fs/cgroup/cpu,cpuacct/docker", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu/docker",
			"/sys/fs/cgroup/cpu",
		}},
		{"a path that would climb out", "0::/../../etc\n", []string{"/sys/fs/cgroup/etc", "/sys/fs/cgroup"}},
		{"no lines that it knows", "x\n\n", nil},
	} {
		if got := groupFolders(c.text, "cpu"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for text, want := range map[string]time.Duration{
		"usage_usec 5\nnr_throttled 2\nthrottled_usec 1500\n": 1500 * time.Microsecond,
		"nr_periods 4\nthrottled_time 700\n":                  700,
		"usage_usec 5\n":                                      unknown, // the root group of version 2 has no quota
	} {
		if got := parseThrottled([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Unknown values are negative. 0 would mean that there was no noise.
func TestUnknownNoiseIsNotSilence(t *testing.T) {
	t.Parallel()
	began := time.Now()
	silent := CPUTimes{At: began, CPUPressure: unknown, IOPressure: unknown, Throttled: unknown}
	later := silent
	later.At = began.Add(time.Second)
	if n := Noise(silent, later, 0); n.CPUPressure >= 0 || n.IOPressure >= 0 || n.Throttled >= 0 {
		t.Errorf("%+v", n)
	}
	before := CPUTimes{At: began, CPUPressure: time.Second, IOPressure: 0, Throttled: 5}
	after := CPUTimes{
		At: began.Add(10 * time.Second), CPUPressure: 3 * time.Second, IOPressure: time.Second,
		Throttled: 8,
	}
	if n := Noise(before, after, 0); n.CPUPressure != 0.2 || n.IOPressure != 0.1 || n.Throttled != 3 {
		t.Errorf("%+v, want 20 %%, 10 %% and 3ns", n)
	}
	if _, err := os.Stat("/proc/pressure/cpu"); err == nil {
		if now, err := ReadCPUTimes(); err != nil || now.CPUPressure < 0 || now.CPUs < 1 {
			t.Errorf("%+v, %v", now, err)
		}
	}
}
