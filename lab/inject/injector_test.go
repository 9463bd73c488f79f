package inject

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// started parses and starts a behaviour, and closes it with the test.
func started(t *testing.T, text string) *Injector {
	t.Helper()
	b, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	i, err := b.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

// The times of calls follow the distribution, to within about 1/n.
func TestDelaysFollowTheLaw(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"constant 20ms", "bimodal 20ms 50ms 0.8", "bimodal 1ms 2ms 0.01", "exponential 20ms",
		"frozen 1ms 45ms 450ms", "frozen 20ms 50ms 500ms", "frozen 1ms 1ms 2ms",
	} {
		i := started(t, text)
		truth, ok := i.b.Truth()
		if !ok {
			t.Fatal(text)
		}
		const n = 10_000
		delays, sum := make([]time.Duration, n), 0.0
		for k := range delays {
			// Arrivals at a constant rate over whole periods of a frozen server.
			delays[k] = i.delay(time.Duration((float64(k) + 0.5) / n * 7 * float64(i.b.every)))
			sum += delays[k].Seconds()
		}
		slices.Sort(delays)
		worst := 0.0
		for k, d := range delays {
			worst = max(worst, float64(k+1)/n-truth.AtMost(d), truth.AtMost(d-1)-float64(k)/n)
		}
		if worst > 5.0/n {
			t.Errorf("%s: the shares of %d calls are up to %.5f from the law", text, n, worst)
		}
		if mean := truth.Mean().Seconds(); math.Abs(sum/n-mean) > 0.002*mean {
			t.Errorf("%s: the mean is %.6f s, want %.6f", text, sum/n, mean)
		}
	}
}

// Every quantile is the shortest time that this share of calls does not exceed.
func TestQuantileInvertsAtMost(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"constant 20ms", "bimodal 20ms 50ms 0.8", "exponential 20ms", "frozen 1ms 45ms 450ms", "frozen 20ms 50ms 500ms",
	} {
		b, _ := Parse(text)
		truth, _ := b.Truth()
		for k := range 1000 {
			q := (float64(k) + 0.5) / 1000
			at := truth.Quantile(q)
			if truth.AtMost(at+1) < q-1e-6 || truth.AtMost(at-2) >= q+1e-6 {
				t.Errorf("%s: quantile %v is %v, where shares are %v to %v", text, q, at, truth.AtMost(at-2),
					truth.AtMost(at+1))
			}
		}
		if truth.AtMost(-1) != 0 || truth.AtMost(time.Hour) < 1-1e-9 {
			t.Errorf("%s: shares from %v to %v", text, truth.AtMost(-1), truth.AtMost(time.Hour))
		}
	}
}

// A call of a frozen server makes no progress while the server is stopped.
func TestFrozenStandsStill(t *testing.T) {
	t.Parallel()
	i := started(t, "frozen 10ms 50ms 500ms")
	for at, want := range map[time.Duration]time.Duration{
		0:                                  10 * time.Millisecond,
		440 * time.Millisecond:             10 * time.Millisecond, // done just before the stop
		445 * time.Millisecond:             60 * time.Millisecond, // half done
		450 * time.Millisecond:             60 * time.Millisecond,
		475 * time.Millisecond:             35 * time.Millisecond,
		499 * time.Millisecond:             11 * time.Millisecond,
		500 * time.Millisecond:             10 * time.Millisecond,
		3*500*time.Millisecond + 475*1e6:   35 * time.Millisecond,
		1000*500*time.Millisecond + 30*1e6: 10 * time.Millisecond,
	} {
		if got := i.delay(at); got != want {
			t.Errorf("a call at %v takes %v, want %v", at, got, want)
		}
	}
}

// Calls that wait at the same time are all woken, and none before its time. How late depends on the load of the
// machine, so it is logged. The only check is that the least delay is shorter than the wait itself.
func TestHeldCallsEndOnTime(t *testing.T) {
	t.Parallel()
	hooks := started(t, "exponential 20ms").Hooks()
	const callers, each = 20, 20
	late := make([]time.Duration, 0, callers*each)
	var mu sync.Mutex // guards late
	var all sync.WaitGroup
	constant := started(t, "constant 20ms").Hooks()
	for range callers {
		all.Go(func() {
			for range each {
				if err := hooks.Before(t.Context(), ""); err != nil {
					t.Error(err)
				}
				began := time.Now()
				if err := constant.Before(t.Context(), ""); err != nil {
					t.Error(err)
				}
				mu.Lock()
				late = append(late, time.Since(began)-20*time.Millisecond)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(late)
	t.Logf("late by: least %v, median %v, p90 %v, most %v", late[0], late[len(late)/2], late[len(late)*9/10],
		late[len(late)-1])
	if late[0] < 0 || late[0] > 20*time.Millisecond {
		t.Errorf("the first of %d calls is %v late", len(late), late[0])
	}
}

// A call stops waiting when its caller leaves or the server stops.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	b, _ := Parse("constant 1m")
	i, err := b.Start()
	if err != nil {
		t.Fatal(err)
	}
	hooks := i.Hooks()
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := hooks.Before(gone, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	if n := len(i.alarm.sleepers); n != 0 {
		t.Errorf("%d calls wait whose caller left", n)
	}
	ended := make(chan error, 1)
	go func() { ended <- hooks.Before(context.Background(), "") }()
	for waits := false; !waits; {
		i.alarm.mu.Lock()
		waits = len(i.alarm.sleepers) == 1
		i.alarm.mu.Unlock()
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, errClosed) {
		t.Errorf("a server that stopped: %v", err)
	}
	if err := hooks.Before(t.Context(), ""); !errors.Is(err, errClosed) {
		t.Errorf("a call after the stop: %v", err)
	}
}

// A spin uses the CPU time that it says, by the clock of the process, which others read too. The bounds are wide
// because of the race detector; the self-test is exact.
func TestSpinBurns(t *testing.T) {
	for _, text := range []string{"spin 20us", "spin 2us"} {
		i := started(t, text)
		const calls = 20_000
		hooks, each := i.Hooks(), i.b.Spin()
		share := math.Inf(1)
		for range 3 { // the least disturbed run counts
			began, err := process.CPU(os.Getpid())
			if err != nil {
				t.Fatal(err)
			}
			for range calls {
				if err := hooks.Before(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			ended, err := process.CPU(os.Getpid())
			if err != nil {
				t.Fatal(err)
			}
			share = min(share, float64(ended-began)/float64(calls*each))
		}
		t.Logf("%s burns %.3f of that", text, share)
		if share < 0.5 || share > 1.5 {
			t.Errorf("%s: %d calls burnt %.3f of what they should", text, calls, share)
		}
	}
}

func TestNothingHasNoHooks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "none"} {
		i := started(t, text)
		if h := i.Hooks(); !i.b.None() || h.Before != nil || h.After != nil || h.Item != nil {
			t.Errorf("%q has hooks", text)
		}
		if _, ok := i.b.Truth(); ok {
			t.Errorf("%q has a law", text)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "none",
		"none":                   "none",
		" constant  20ms ":       "constant 20ms",
		"constant 0.25ms":        "constant 250us",
		"bimodal 10ms 50ms 0.90": "bimodal 10ms 50ms 0.9",
		"exponential 20ms":       "exponential 20ms",
		"frozen 1ms 500ms 5s":    "frozen 1ms 500ms 5s",
		"spin 2us":               "spin 2us",
	} {
		b, err := Parse(text)
		if err != nil || b.String() != want {
			t.Errorf("%q reads as %q, %v; want %q", text, b, err, want)
		}
		if again, err := Parse(b.String()); err != nil || again != b {
			t.Errorf("%q reads as %v, %v; want %v", b, again, err, b)
		}
	}
	for text, want := range map[string]string{
		"constnat 20ms":         `"constnat 20ms"; did you mean "constant 20ms"?`,
		"constant":              `want constant DELAY; write for example "constant 20ms"`,
		"constant 20":           `DELAY is "20", want a time of 10us to 1m0s`,
		"constant 2m":           `DELAY is "2m"`,
		"constant -2ms":         `DELAY is "-2ms"`,
		"bimodal 10ms 50ms":     "want bimodal DELAY DELAY SHARE",
		"bimodal 10ms 50ms 1":   `SHARE is "1", want a number of 0.001 to 0.999`,
		"bimodal 10ms 50ms NaN": `SHARE is "NaN"`,
		"bimodal 50ms 10ms 0.5": "the first DELAY, 50ms, must be shorter",
		"frozen 1ms 500ms":      "want frozen SERVICE STILL EVERY",
		"frozen 1ms 5s 500ms":   "no call of 1ms fits between two stretches of 5s in every 500ms",
		"spin 1s":               `TIME is "1s", want a time of 500ns to 100ms`,
		"none 1":                `want none; write for example "none"`,
	} {
		_, err := Parse(text)
		if err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, f := range forms() {
		if _, err := Parse(f.example); err != nil || !strings.Contains(Help(), string(f.kind)) {
			t.Errorf("%s: %v", f.example, err)
		}
	}
}
