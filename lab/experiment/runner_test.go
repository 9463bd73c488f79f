package experiment_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// A complete run has every arm under every load in every round, each slice in a different place, and costs on both
// sides.
func TestRunMeasuresEveryArm(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := runner(t, newBench(), 3, "a", "b")
	c.Plan.Floor = plan.FloorAuto
	var places []string
	c.Observe = func(e experiment.Event) {
		if e.Phase == experiment.Measuring {
			places = append(places, e.Arm)
		}
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Ending != result.RoundsDone || len(r.Rounds) != 3 {
		t.Fatalf("ended %q after %d rounds, want %q after 3", r.Ending, len(r.Rounds), result.RoundsDone)
	}
	floors, right := uint64(0), map[string]uint64{}
	for i, round := range r.Rounds {
		if len(round.Failures) > 0 {
			t.Errorf("round %d: failures %v", i, round.Failures)
		}
		if len(round.Trials) != 2*len(c.Plan.Loads) {
			t.Fatalf("round %d has %d trials, want %d", i, len(round.Trials), 2*len(c.Plan.Loads))
		}
		var order []int
		for _, trial := range round.Trials {
			order = append(order, trial.Order...)
			checkTrial(t, c.Plan, trial)
			floors += trial.Floor.Completed
			right[r.Arms[trial.Arm].Name] += trial.OK
		}
		slices.Sort(order)
		for place, at := range order {
			if place != at {
				t.Fatalf("round %d: slices ran at places %v, want each place once", i, order)
			}
		}
	}
	// A stalled machine may complete no call in one window.
	if floors == 0 || right["a"] == 0 || right["b"] == 0 {
		t.Errorf("%d calls at floors, and right ones %v: want some at each arm", floors, right)
	}
	if alternating(places) {
		t.Errorf("the arms took turns %v: the order is to be random", places)
	}
}

func checkTrial(t *testing.T, p plan.Plan, trial result.Trial) {
	t.Helper()
	if want := p.Slice * plan.Duration(p.Slices); trial.Window != want && !p.Loads[trial.Load].Open() {
		t.Errorf("window of %v, want %v", trial.Window, want)
	}
	if trial.Sent != trial.OK || trial.Response.Count() != trial.OK {
		t.Errorf("sent %d, right %d, recorded %d: want all equal", trial.Sent, trial.OK, trial.Response.Count())
	}
	if trial.Server == nil || trial.Server.CPU <= 0 || trial.Driver.CPU <= 0 {
		t.Errorf("CPU of server %v and driver %v: want both", trial.Server, trial.Driver)
	}
	if trial.WireSent < trial.OK*2 || trial.WireReceived < trial.OK*2 {
		t.Errorf("%d and %d bytes for %d calls", trial.WireSent, trial.WireReceived, trial.OK)
	}
	if f := trial.Floor; f == nil || f.Service == nil || f.Window != p.Slice || f.Calls < f.Completed ||
		f.DriverCPU <= 0 {
		t.Fatalf("floor %+v: want one", f)
	}
	if trial.Connections != 0 || trial.Open == 0 {
		t.Errorf("%d connections opened in the window, %d open: want none and some", trial.Connections, trial.Open)
	}
}

// TestFloors: there are none if they are not wanted or impossible, and a null responder that does not start is the
// arm's failure.
func TestFloors(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, test := range map[string]struct {
		set   func(*experiment.Runner)
		nulls int
	}{
		"wanted":     {func(c *experiment.Runner) { c.Plan.Floor = plan.FloorAuto }, 2},
		"not wanted": {func(*experiment.Runner) {}, 0},
		"no null responder for one": {func(c *experiment.Runner) {
			c.Plan.Floor = plan.FloorAuto
			c.Arms[1].Floorless = experiment.Floorless(c.Plan.Arms[1], false)
		}, 1},
	} {
		b := newBench()
		c := runner(t, b, 1, "a", "b")
		test.set(c)
		r, err := c.Run(t.Context())
		if err != nil || len(r.Rounds) != 1 || len(r.Rounds[0].Failures) > 0 {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		if b.nulls != test.nulls {
			t.Errorf("%s: %d null responders, want %d", name, b.nulls, test.nulls)
		}
		for _, trial := range r.Rounds[0].Trials {
			if want := c.Plan.Floor == plan.FloorAuto &&
				r.Arms[trial.Arm].Floorless == ""; (trial.Floor != nil) != want {
				t.Errorf("%s: arm %d has the floor %v", name, trial.Arm, trial.Floor)
			}
		}
		b.checkAllStopped(t)
	}
}

func alternating(arms []string) bool {
	for i := 2; i < len(arms); i++ {
		if arms[i] != arms[i-2] {
			return false
		}
	}
	return true
}

// The same seed gives the same requests in the same order.
func TestSeedFixesTheOrder(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	run := func() (orders [][]int) {
		c := runner(t, newBench(), 2, "a", "b", "c")
		c.Bench = &simulated{rates: map[string]float64{"a": 1000, "b": 1000, "c": 1000}} // takes no time
		r, err := c.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, round := range r.Rounds {
			slices.SortFunc(round.Trials, func(a, b result.Trial) int { return a.Arm*10 + a.Load - b.Arm*10 - b.Load })
			for _, trial := range round.Trials {
				orders = append(orders, trial.Order)
			}
		}
		return orders
	}
	first, second := run(), run()
	if len(first) != 2*3*2 || !slices.EqualFunc(first, second, slices.Equal) {
		t.Errorf("two runs of one seed went\n%v\n%v", first, second)
	}
}

// Ctrl-C in the third round keeps the two that were complete.
func TestInterruptKeepsCompleteRounds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx, cancel := context.WithCancel(t.Context())
	bench := newBench()
	c := runner(t, bench, 5, "a", "b")
	c.Observe = func(e experiment.Event) {
		if e.Round == 3 && e.Phase == experiment.Measuring {
			cancel()
		}
	}
	r, err := c.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r.Ending != result.Interrupted || len(r.Rounds) != 2 {
		t.Errorf("ended %q with %d rounds, want %q with 2", r.Ending, len(r.Rounds), result.Interrupted)
	}
	bench.checkAllStopped(t)
}

// A server that dies in the middle of a round costs its arm that round: the other arm keeps its figures, and the next
// round starts a new server.
func TestServerDiesInMidRound(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	bench := newBench()
	c := runner(t, bench, 4, "a", "b")
	c.Observe = func(e experiment.Event) {
		if e.Round == 2 && e.Phase == experiment.Measuring && e.Arm == "b" {
			bench.killServer("b")
		}
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rounds) != 4 || r.Ending != result.RoundsDone {
		t.Fatalf("ended %q after %d rounds", r.Ending, len(r.Rounds))
	}
	broken := r.Rounds[1]
	if len(broken.Failures) != 1 || broken.Failures[0].Arm != 1 || !strings.Contains(broken.Failures[0].Why, "killed") {
		t.Errorf("failures %+v, want one of arm 1 that says how its server ended", broken.Failures)
	}
	for _, trial := range broken.Trials {
		if trial.Arm != 0 {
			t.Errorf("arm %d has figures from the round in which it died", trial.Arm)
		}
	}
	if len(r.Rounds[2].Trials) != len(r.Rounds[0].Trials) {
		t.Errorf("the round after has %d trials, want %d", len(r.Rounds[2].Trials), len(r.Rounds[0].Trials))
	}
	bench.checkAllStopped(t)
}

// An arm that dies in two rounds in a row is taken out, and nothing is left to compare.
func TestArmThatKeepsDyingIsOut(t *testing.T) {
	t.Parallel()
	bench := newBench()
	c := runner(t, bench, 6, "a", "b")
	c.Observe = func(e experiment.Event) {
		if e.Phase == experiment.Measuring && e.Arm == "b" {
			bench.killServer("b")
		}
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Ending != result.Failed || len(r.Rounds) != 2 || r.Arms[1].Out == "" || r.Arms[0].Out != "" {
		t.Errorf("ended %q after %d rounds; out: %q and %q", r.Ending, len(r.Rounds), r.Arms[0].Out, r.Arms[1].Out)
	}
	bench.checkAllStopped(t)
}

// An arm that cannot start at all is an error at once, before anything runs.
func TestArmThatCannotStart(t *testing.T) {
	t.Parallel()
	bench := newBench()
	bench.refuse = "b"
	_, err := runner(t, bench, 3, "a", "b").Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v, want the bench's", err)
	}
	bench.checkAllStopped(t)
}

// A wrong reply is found before the warm-up, and nothing is measured.
func TestWrongReplyIsNotMeasured(t *testing.T) {
	t.Parallel()
	_, err := runner(t, newBench(), 3, "a", "liar").Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "want") {
		t.Errorf("error %v, want the mismatch", err)
	}
}

func runner(t *testing.T, b *bench, rounds int, arms ...string) *experiment.Runner {
	t.Helper()
	p := plan.Plan{
		Workload: "toy", Operation: "Double", Seed: 7,
		Loads:  []plan.Load{{InFlight: 1}, {InFlight: 3}},
		Slices: 2, Slice: plan.Duration(30 * time.Millisecond), WarmUp: plan.Duration(time.Millisecond),
		Rounds: plan.Rounds{Min: rounds, Max: rounds}, Floor: plan.FloorNone,
	}
	for _, a := range arms {
		p.Arms = append(p.Arms, plan.Arm{Name: a, Protocol: a})
	}
	p, err := p.Complete()
	if err != nil {
		t.Fatal(err)
	}
	// The load of the real machine must not cause a round to be run again.
	c := &experiment.Runner{Plan: p, Bench: b, ID: "r-test", CPUTimes: func() (probe.CPUTimes, error) {
		return probe.CPUTimes{At: time.Now(), CPUs: 2, CPUPressure: -1, IOPressure: -1, Throttled: -1}, nil
	}}
	for _, a := range p.Arms {
		c.Arms = append(c.Arms, result.Arm{Name: a.Name, Protocol: a.Protocol})
	}
	return c
}
