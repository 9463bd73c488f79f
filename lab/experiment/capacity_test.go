package experiment_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/kind/capacity"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
)

// simulated is a bench whose servers are M/M/1 queues that take no time: a driver replies with the result of such a
// queue over the slice. The name of an arm determines its service rate: see rates.
type simulated struct {
	rates map[string]float64 // served per second, by arm
	// spoilt tells in which probes the generator is late.
	spoilt func(arm string, rate float64) bool
	// stolen tells in which probes the hypervisor takes half of the CPU time.
	stolen func(arm string, rate float64) bool
	// fails tells which slice orders cannot be carried out.
	fails func(arm string, n int) error

	mu      sync.Mutex // guards all below
	started int
	stopped int
	probes  []string // the arms, in the order in which they were tried
	now     time.Duration
	steal   time.Duration // of two CPUs
}

// cpuTimes are those of an idle machine: the load of the real one must not spoil a probe that takes no time.
func (b *simulated) cpuTimes() (probe.CPUTimes, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return probe.CPUTimes{
		At: time.Unix(0, 0).Add(b.now), CPUs: 2, Steal: b.steal.Seconds(),
		CPUPressure: -1, IOPressure: -1, Throttled: -1,
	}, nil
}

// passed advances the clock and the machine by a slice.
func (b *simulated) passed(slice time.Duration, stolen bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now += slice
	if stolen {
		b.steal += slice // half of the time of two CPUs
	}
}

func (b *simulated) child(arm string) *simulatedChild {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started++
	return &simulatedChild{bench: b, arm: arm}
}

func (b *simulated) Server(_ context.Context, arm plan.Arm) (experiment.Child, error) {
	return b.child(arm.Name), nil
}

func (b *simulated) Null(_ context.Context, arm plan.Arm) (experiment.Child, error) {
	return b.child(arm.Name), nil
}

func (b *simulated) Driver(_ context.Context, arm plan.Arm) (experiment.Child, error) {
	return b.child(arm.Name), nil
}

func (*simulated) Placement() result.Placement { return result.Placement{} }

func (b *simulated) checkAllStopped(t *testing.T) {
	t.Helper()
	if b.started != b.stopped {
		t.Errorf("%d children were started, %d stopped", b.started, b.stopped)
	}
}

type simulatedChild struct {
	bench *simulated
	arm   string
	n     int
}

func (*simulatedChild) Ready() control.Ready { return control.Ready{} }
func (*simulatedChild) Kill()                {}

func (*simulatedChild) CPU() (time.Duration, error) { return 0, nil }

func (c *simulatedChild) Stop() error {
	c.bench.mu.Lock()
	defer c.bench.mu.Unlock()
	c.bench.stopped++
	return nil
}

func (c *simulatedChild) Ask(_ context.Context, order control.Order) (control.Reply, error) {
	switch {
	case order.Usage != nil:
		return control.Reply{Usage: &result.Usage{}}, nil
	case order.Warm != nil:
		return control.Reply{Warm: &load.Warmth{Steady: true}}, nil
	case order.Slice == nil:
		return control.Reply{}, nil
	}
	c.n++
	if c.bench.fails != nil {
		if err := c.bench.fails(c.arm, c.n); err != nil {
			return control.Reply{}, err
		}
	}
	rate := c.bench.rates[c.arm]
	if order.Slice.Schedule == nil {
		c.bench.passed(time.Duration(order.Slice.For), false)
		return control.Reply{Slice: &control.Measured{
			Recording: busy(rate, time.Duration(order.Slice.For)),
			WireSent:  1 << 40, WireReceived: 1 << 40,
		}}, nil
	}
	c.bench.mu.Lock()
	c.bench.probes = append(c.bench.probes, c.arm)
	c.bench.mu.Unlock()
	offered := order.Slice.Schedule.Stages[0].From
	c.bench.passed(time.Duration(order.Slice.For), c.bench.stolen != nil && c.bench.stolen(c.arm, offered))
	rec := queued(offered, rate, order.Slice, rand.New(rand.NewPCG(order.Slice.Seed, uint64(c.n))))
	if c.bench.spoilt != nil && c.bench.spoilt(c.arm, offered) {
		rec.Lag.RecordN(int64(time.Second), rec.Sent) // as many again, all of them late
	}
	return control.Reply{Slice: &control.Measured{
		Recording: rec, WireSent: 1 << 40, WireReceived: 1 << 40,
		Calls: rec.Sent,
	}}, nil
}

// busy is a closed loop against a server that is never idle.
func busy(rate float64, window time.Duration) *load.Recording {
	r := load.NewRecording()
	n := uint64(rate * window.Seconds())
	r.Response.RecordN(int64(1e9/rate), n)
	r.Service.RecordN(int64(1e9/rate), n)
	r.Sent, r.OK, r.CompletedInWindow, r.Window = n, n, n, window
	return r
}

// queued is an open loop against an M/M/1 queue, by Lindley's recursion.
func queued(offered, served float64, order *control.Slice, random *rand.Rand) *load.Recording {
	r := load.NewRecording()
	head, end := float64(order.Head), float64(order.For)
	for range order.Parts {
		r.Parts = append(r.Parts, &stat.Histogram{})
	}
	wait := 0.0
	for at := random.ExpFloat64() / offered * 1e9; at < end; {
		response := wait + random.ExpFloat64()/served*1e9
		if at >= head {
			r.Response.Record(int64(response))
			r.Service.Record(int64(response))
			r.Lag.Record(0)
			r.Parts[int((at-head)*float64(order.Parts)/(end-head))].Record(int64(response))
			r.Planned++
		}
		if done := at + response; done >= head && done < end {
			r.CompletedInWindow++
		}
		gap := random.ExpFloat64() / offered * 1e9
		at += gap
		wait = max(0, response-gap)
	}
	r.Law, r.Sent, r.OK = load.Poisson, r.Planned, r.Planned
	r.Window = time.Duration(end - head)
	return r
}

// searcher is the runner of a search over queues with these service rates.
func searcher(t *testing.T, b *simulated, rounds int, arms ...string) *experiment.Runner {
	t.Helper()
	p := plan.Plan{
		Workload: "toy", Operation: "Double", Seed: 11, Loads: []plan.Load{{InFlight: 256}},
		Slices: 2, Rounds: plan.Rounds{Min: rounds, Max: rounds}, Floor: plan.FloorNone,
	}
	for _, a := range arms {
		p.Arms = append(p.Arms, plan.Arm{Name: a, Protocol: a})
	}
	p, err := p.Complete()
	if err != nil {
		t.Fatal(err)
	}
	c := &experiment.Runner{Plan: p, Bench: b, CPUTimes: b.cpuTimes, ID: "r-20261121-140512-00ca"}
	for _, a := range p.Arms {
		c.Arms = append(c.Arms, result.Arm{Name: a.Name, Protocol: a.Protocol})
	}
	return c
}

// settings has long probes, which cost no time here.
func settings(objective string) result.Capacity {
	return result.Capacity{
		Objective: objective, InFlight: 256, Probe: plan.Duration(5 * time.Minute),
		Parts: capacity.ProbeParts,
	}
}

// TestSearchFindsTheClosedForm: the response time of M/M/1 is exponential with
// rate μ−λ, so its p99 is L at λ = μ − ln(100)/L.
func TestSearchFindsTheClosedForm(t *testing.T) {
	t.Parallel()
	b := &simulated{rates: map[string]float64{"slow": 1000, "fast": 1600}}
	r, err := searcher(t, b, 6, "slow", "fast").SearchCapacity(t.Context(), settings("p99<50ms"))
	if err != nil {
		t.Fatal(err)
	}
	b.checkAllStopped(t)
	if r.Ending != result.RoundsDone || len(r.Capacity.Rounds) != 6 || len(r.Rounds) != 0 {
		t.Fatalf("ended %q after %d rounds", r.Ending, len(r.Capacity.Rounds))
	}
	found := capacity.Analyse(r)
	truth := make([]float64, 2)
	for a, arm := range found.Arms {
		truth[a] = b.rates[arm.Name] - math.Log(100)/0.05
		if arm.Kind != claim.CapacityFound || math.Abs(arm.Rate.Value/truth[a]-1) > 0.03 {
			t.Errorf("%s: %s %v, the closed form is %.0f: %s", arm.Name, arm.Kind, arm.Rate, truth[a], arm.Why)
		}
		if arm.Rate.Low >= arm.Rate.Value || arm.Rate.High <= arm.Rate.Value {
			t.Errorf("%s: no interval: %+v", arm.Name, arm.Rate)
		}
		for _, round := range arm.Rounds {
			if round.Found.High > round.Found.Low*(1+capacity.SearchStep) || round.Probes > 12 {
				t.Errorf("%s: %+v", arm.Name, round)
			}
		}
	}
	d := found.Arms[1].Difference
	if d == nil || d.Verdict != claim.Better || math.Abs(d.Ratio/(truth[1]/truth[0])-1) > 0.03 ||
		d.Low > truth[1]/truth[0] || d.High < truth[1]/truth[0] {
		t.Errorf("difference %+v, the true ratio is %.3f", d, truth[1]/truth[0])
	}
	turns := strings.Join(b.probes, " ")
	if !strings.Contains(turns, "slow fast slow") || !strings.Contains(turns, "fast slow fast") ||
		strings.Contains(turns, "slow slow slow slow") {
		t.Errorf("the arms are to take turns in random order: %s", turns)
	}
	for _, round := range r.Capacity.Rounds {
		places := map[int]bool{}
		for _, s := range round.Searches {
			for _, place := range s.Closed.Order {
				places[place] = true
			}
			for _, p := range s.Probes {
				places[p.Place] = true
			}
		}
		for place := range len(places) {
			if !places[place] {
				t.Errorf("nothing ran at place %d of %d", place, len(places))
			}
		}
	}
}

// above selects the probes at a higher rate than this.
func above(bound float64) func(arm string, rate float64) bool {
	return func(_ string, rate float64) bool { return rate > bound }
}

// TestSearchSaysBounds: if a capacity cannot be bracketed, the result says that it is a bound.
func TestSearchSaysBounds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		objective string
		spoilt    func(arm string, rate float64) bool
		stolen    func(arm string, rate float64) bool
		kind      claim.FoundKind
		limited   bool
		why       string
	}{
		"fails at the lowest": {"p50<50us", nil, nil, claim.CapacityBelow, false, "lowest"},
		"the generator is late above 600": {
			"p99<50ms", above(600), nil, claim.CapacityAtLeast, true,
			"generator-limited",
		},
		"the generator is always late": {
			"p99<50ms", above(0), nil, claim.CapacityUnknown, true,
			"generator-limited",
		},
		"the hypervisor takes above 600": {
			"p99<50ms", nil, above(600), claim.CapacityAtLeast, true,
			"machine not fit",
		},
		"the hypervisor always takes": {"p99<50ms", nil, above(0), claim.CapacityUnknown, true, "machine not fit"},
	} {
		b := &simulated{rates: map[string]float64{"one": 1000}, spoilt: test.spoilt, stolen: test.stolen}
		s := settings(test.objective)
		s.Probe = plan.Duration(20 * time.Second)
		r, err := searcher(t, b, 1, "one").SearchCapacity(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		arm := capacity.Analyse(r).Arms[0]
		if arm.Kind != test.kind || arm.Limited != test.limited || arm.Rate.Known ||
			!strings.Contains(arm.Why, test.why) {
			t.Errorf("%s: %+v", name, arm)
		}
		if test.kind == claim.CapacityAtLeast && (arm.Bound > 600 || arm.Bound < 600/(1+capacity.SearchStep)-1) {
			t.Errorf("%s: at least %v, want just below 600", name, arm.Bound)
		}
		b.checkAllStopped(t)
	}
}

// TestSearchKeepsCompleteRounds: Ctrl-C in the third round keeps two.
func TestSearchKeepsCompleteRounds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := &simulated{rates: map[string]float64{"a": 1000, "b": 1000}}
	c := searcher(t, b, 5, "a", "b")
	var left []time.Duration
	c.Observe = func(e experiment.Event) {
		if e.Phase == experiment.Probing && e.Step > 0 {
			left = append(left, e.Left)
		}
		if e.Round == 3 && e.Phase == experiment.Probing {
			cancel()
		}
	}
	s := settings("p99<50ms")
	s.Probe = plan.Duration(10 * time.Second)
	r, err := c.SearchCapacity(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Ending != result.Interrupted || len(r.Capacity.Rounds) != 2 {
		t.Errorf("ended %q with %d rounds, want %q with 2", r.Ending, len(r.Capacity.Rounds), result.Interrupted)
	}
	if len(left) == 0 || slices.Contains(left, 0) {
		t.Errorf("how long it takes was told as %v", left)
	}
	b.checkAllStopped(t)
}

// TestSearchGoesOnWithoutAnArm: an arm that dies loses its round, and one that dies in two rounds in a row is out. The
// other arm keeps its figures.
func TestSearchGoesOnWithoutAnArm(t *testing.T) {
	t.Parallel()
	b := &simulated{rates: map[string]float64{"a": 1000, "b": 1000}, fails: func(arm string, n int) error {
		if arm == "b" && n > 4 {
			return errors.New("the server is gone")
		}
		return nil
	}}
	s := settings("p99<50ms")
	s.Probe = plan.Duration(10 * time.Second)
	r, err := searcher(t, b, 3, "a", "b").SearchCapacity(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	found := capacity.Analyse(r)
	if r.Ending != result.RoundsDone || len(found.Arms[0].Rounds) != 3 || found.Arms[0].Kind != claim.CapacityFound {
		t.Errorf("ended %q: %+v", r.Ending, found.Arms[0])
	}
	if r.Arms[1].Out == "" || len(found.Arms[1].Rounds) != 0 || found.Arms[1].Kind != claim.CapacityUnknown {
		t.Errorf("out %q: %+v", r.Arms[1].Out, found.Arms[1])
	}
	b.checkAllStopped(t)
}
