package analyse_test

import (
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
)

// failing makes rounds of one arm next to another. n of its calls failed in the first round, each after a given time.
func failing(n uint64, after time.Duration, causes ...stat.Cause) *result.Result {
	r := noisy(1, 10, 0.02, 20, 21)
	for i := range r.Rounds[0].Trials {
		t := &r.Rounds[0].Trials[i]
		if t.Arm != 1 {
			continue
		}
		t.Errors, t.Sent, t.Causes = map[string]uint64{"deadline_exceeded": n}, t.Sent+n, causes
		t.Failed = stat.NewHistogram()
		for range n {
			t.Failed.Record(int64(after))
		}
		t.Drained = plan.Duration(after)
	}
	return r
}

func checkOf(t *testing.T, state claim.ArmState, gate result.Gate) claim.Check {
	t.Helper()
	for _, c := range state.Checks {
		if c.Gate == gate {
			return c
		}
	}
	t.Fatalf("no check %q", gate)
	return claim.Check{}
}

// A call that the server never answers was in flight all the same, so the generator must not be blamed for losing it.
func TestHangingCallsAreTheServers(t *testing.T) {
	t.Parallel()
	// In half of the time of each round, its only caller waits for a call that is never answered.
	hanging := func() *result.Result {
		r := noisy(1, 10, 0.02, 20, 21)
		each(r, func(_ int, t *result.Trial) {
			t.Window, t.Drained = 2*t.Window, plan.Duration(10*time.Second)
			t.Errors, t.Sent, t.Failed = map[string]uint64{"deadline_exceeded": 1}, t.Sent+1, stat.NewHistogram()
			t.Failed.Record(int64(10 * time.Second))
			t.Causes = stat.Causes{{
				Kind: "deadline_exceeded", Cause: "timed out", Count: 1,
				First: "no answer in time",
			}}
		})
		return r
	}
	state := analyse.Result(hanging()).Loads[0].Arms[1]
	for _, c := range state.Failed() {
		if strings.Contains(c.Fix, "fault of the generator") {
			t.Errorf("%s failed: %s; %s", c.Gate, c.Detail, c.Fix)
		}
	}
	if c := checkOf(t, state, result.Answers); c.OK || !strings.Contains(c.Detail, "10 timed out") ||
		!strings.Contains(c.Fix, "--deadline") {
		t.Errorf("answers: %+v", c)
	}
	// A file of an earlier wirelab does not record how long they took, so nothing is said about it.
	old := hanging()
	each(old, func(_ int, t *result.Trial) { t.Failed = nil })
	for _, c := range analyse.Result(old).Loads[0].Arms[1].Failed() {
		if c.Gate == result.Physics {
			t.Errorf("of calls whose time is not known: %s", c.Detail)
		}
	}
	// Calls that the generator does lose are still found.
	lost := failing(1, time.Millisecond)
	for n := range lost.Rounds {
		for i := range lost.Rounds[n].Trials {
			lost.Rounds[n].Trials[i].Window *= 2
		}
	}
	if c := checkOf(t, analyse.Result(lost).Loads[0].Arms[1], result.Physics); c.OK ||
		!strings.Contains(c.Fix, "fault of the generator") {
		t.Errorf("half of the time nothing was in flight: %+v", c)
	}
}

// Time in which the machine did not let the generator run is not the generator's fault.
func TestWaitingGeneratorIsNotAtFault(t *testing.T) {
	t.Parallel()
	r := noisy(1, 10, 0.02, 20, 21)
	each(r, func(_ int, t *result.Trial) {
		gap := t.Window / 20
		t.Window += gap
		if t.Driver.Wall < t.Window {
			t.Driver.Wall = t.Window
		}
		t.Driver.Waited = gap
	})
	if c := checkOf(t, analyse.Result(r).Loads[0].Arms[1], result.Physics); !c.OK {
		t.Errorf("%s; %s", c.Detail, c.Fix)
	}
}

// A server that answers nothing moves no bytes, and that is not the client's fault.
func TestNoBytesOfCallsThatFailed(t *testing.T) {
	t.Parallel()
	r := noisy(1, 10, 0.02, 20, 21)
	each(r, func(_ int, t *result.Trial) {
		t.Errors, t.Watched, t.OK, t.Completed, t.WireReceived = map[string]uint64{"unavailable": t.Sent}, t.Sent, 0,
			0, 0
		t.Response, t.Service, t.Failed = nil, nil, resulttest.Times(t.Sent, time.Millisecond)
	})
	for _, c := range analyse.Result(r).Loads[0].Arms[1].Failed() {
		if strings.Contains(c.Fix, "report it") {
			t.Errorf("%s: %s; %s", c.Gate, c.Detail, c.Fix)
		}
	}
}

// The reasons of failed calls are shown by cause, with the count and the first message, in a safe form.
func TestCausesAreTold(t *testing.T) {
	t.Parallel()
	r := failing(20, time.Millisecond,
		stat.Cause{
			Kind: "deadline_exceeded", Cause: "reset", Count: 12,
			First: "10.0.0.1:80 closed\x1b[31m the\nconnection\u202e",
		},
		stat.Cause{Kind: "deadline_exceeded", Cause: "status 503", Count: 8, First: "busy"})
	state := analyse.Result(r).Loads[0].Arms[1]
	if c := checkOf(t, state, result.Answers); !strings.Contains(c.Detail, "12 reset") ||
		!strings.Contains(c.Detail, "8 status 503") {
		t.Errorf("detail: %s", c.Detail)
	}
	notes := strings.Join(state.Notes, "\n")
	if !strings.Contains(notes,
		"12 calls failed: reset (deadline_exceeded); the first said: 10.0.0.1:80 closed [31m the connection") ||
		strings.ContainsAny(notes, "\x1b\u202e") {
		t.Errorf("notes: %q", notes)
	}
	if len(state.Causes) != 2 || state.Causes[0].Count != 12 {
		t.Errorf("causes: %+v", state.Causes)
	}
	whole := len(consistency.Flaws(r)) // it has some others, since it is artificial
	for i := range r.Rounds[0].Trials {
		if tr := &r.Rounds[0].Trials[i]; len(tr.Causes) > 0 {
			tr.Causes[0].Count++
		}
	}
	if flaws := consistency.Flaws(r); len(flaws) != whole+1 || !strings.HasSuffix(flaws[len(flaws)-1].Path, ".causes") {
		t.Errorf("causes that do not add up: %+v", flaws)
	}
}

// An arm that already has the raw driver is not advised to use it.
func TestAdviceFitsTheDriver(t *testing.T) {
	t.Parallel()
	advised := func(driver string) (n int) {
		r := noisy(1, 10, 0.02, 20, 21)
		r.Placement.DriverCPUs, r.Plan.Loads[0].InFlight = []int{0}, 8
		for i := range r.Plan.Arms {
			r.Plan.Arms[i].Driver = driver
		}
		each(r, func(_ int, t *result.Trial) {
			t.Driver = &result.Usage{Wall: t.Window, CPU: t.Window * 95 / 100, PauseP99: plan.Duration(time.Second)}
		})
		for _, state := range analyse.Result(r).Loads[0].Arms {
			for _, c := range state.Failed() {
				if strings.Contains(c.Fix, "--driver raw") {
					n++
				}
			}
		}
		return n
	}
	if client, raw := advised(""), advised(plan.DriverRaw); client < 1 || raw != 0 {
		t.Errorf("--driver raw is advised %d times to the library's client, and %d times to itself", client, raw)
	}
}
