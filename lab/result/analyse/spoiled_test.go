package analyse_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
)

// healthy makes a result of two arms that passes every gate.
func healthy(load plan.Load) *result.Result {
	return resulttest.Make(resulttest.Setting{
		Arms: resulttest.Arms()[:2], Rounds: 10, Seed: 9,
		Loads: []plan.Load{load},
	})
}

// checks returns an arm's checks by gate, and the gates that failed or limit.
func checks(r *result.Result, arm int) (claim.ArmState, map[result.Gate]claim.Check, []result.Gate, []result.Gate) {
	return read(analyse.Result(r), arm)
}

func read(a claim.Analysis, arm int) (state claim.ArmState, by map[result.Gate]claim.Check,
	failed, limited []result.Gate,
) {
	state = a.Loads[0].Arms[arm]
	by = map[result.Gate]claim.Check{}
	for _, c := range state.Checks {
		by[c.Gate] = c
		switch {
		case !c.OK:
			failed = append(failed, c.Gate)
		case c.Limited:
			limited = append(limited, c.Gate)
		}
	}
	return state, by, failed, limited
}

// Each gate fails for its fault, and for no other. It says why, what to change, and its reading in every round. It
// invalidates times, or everything, as it should.
func TestEachGateRefuses(t *testing.T) {
	t.Parallel()
	closed, several, poisson, constant := plan.Load{InFlight: 1}, plan.Load{InFlight: 2},
		plan.Load{Rate: 2000, Arrivals: plan.Poisson, InFlight: 256},
		plan.Load{Rate: 2000, Arrivals: plan.Constant, InFlight: 256}
	// of makes a change of every trial of the second arm in rounds from the first to before the last.
	of := func(rounds int, change func(t *result.Trial)) func(*result.Result) {
		return func(r *result.Result) {
			each(r, func(n int, t *result.Trial) {
				if n < rounds {
					change(t)
				}
			})
		}
	}
	noise := func(rounds int, change func(n *result.Noise)) func(*result.Result) {
		return func(r *result.Result) {
			for i := range rounds {
				change(&r.Rounds[i].Noise)
			}
		}
	}
	busy := func(share float64) func(*result.Trial) {
		return func(t *result.Trial) { t.Driver.CPU = plan.Duration(share * float64(t.Driver.Wall)) }
	}
	crowded := func(waited, others float64) func(*result.Trial) {
		return func(t *result.Trial) {
			t.Driver.Waited, t.Driver.Others = plan.Duration(waited*float64(t.Driver.Wall)),
				plan.Duration(others*float64(t.Driver.Wall))
		}
	}
	paused := func(pause time.Duration, cycles uint64) func(*result.Trial) {
		return func(t *result.Trial) { t.Driver.PauseP99, t.Driver.GarbageCycles = plan.Duration(pause), new(cycles) }
	}
	for _, c := range []struct {
		name    string
		load    plan.Load
		change  func(*result.Result)
		fails   result.Gate // "": none
		limits  result.Gate
		says    string
		spares  bool // CPU per request stays valid
		readBad int  // rounds with a bad reading
	}{
		{name: "all is well, closed", load: closed, change: func(*result.Result) {}},
		{name: "all is well, Poisson", load: poisson, change: func(*result.Result) {}},
		{name: "all is well, constant", load: constant, change: func(*result.Result) {}},

		{
			name: "a generator at nine tenths of its core", load: several, change: of(10, busy(0.9)),
			fails: result.GeneratorCPU, says: "90.0 %", spares: true, readBad: 10,
		},
		{name: "in one round of ten only", load: several, change: of(1, busy(0.9)), readBad: 0},
		{name: "one caller, whose own work is part of its call", load: closed, change: of(10, busy(0.9))},
		{
			name: "in two", load: several, change: of(2, busy(0.9)), fails: result.GeneratorCPU, says: "in 2 of 10",
			spares: true, readBad: 2,
		},
		{
			name: "what its clock spun is no work", load: closed,
			change: of(10, func(t *result.Trial) { t.Driver.Spun = t.Driver.Wall / 2 }),
		},
		{
			name: "a generator that waits for another's process", load: closed, change: of(10, crowded(0.4, 0.6)),
			fails: result.GeneratorWaits, says: "40.0 %", spares: true, readBad: 10,
		},
		{
			name: "threads that wait for each other, with nobody else there", load: closed,
			change: of(10, crowded(0.5, 0.01)),
		},
		{name: "others on the core while it had nothing to do", load: closed, change: of(10, crowded(0.02, 0.5))},
		{
			name: "a generator that waits for another's process, shortly", load: closed,
			change: of(10, crowded(0.4, 0.12)), fails: result.GeneratorWaits, says: "which moved the mean by 1",
			spares: true, readBad: 10,
		},
		{
			name: "garbage collection in the way of most calls", load: closed,
			change: of(10, paused(time.Millisecond, 4000)), fails: result.GeneratorPauses, says: "1ms", spares: true,
			readBad: 10,
		},
		{name: "long pauses that hardly a call meets", load: closed, change: of(10, paused(time.Millisecond, 3))},
		{
			name: "pauses in two rounds that one call in fifty meets, and that move no quantile", load: closed,
			change: of(2, func(t *result.Trial) {
				paused(time.Millisecond, t.OK/150)(t)
			}), readBad: 2,
		},
		{name: "short pauses that all meet", load: closed, change: of(10, paused(40*time.Microsecond, 4000))},

		{
			name: "a reply without bytes", load: closed,
			change: of(1, func(t *result.Trial) { t.WireReceived = t.OK / 2 }), fails: result.WireBytes,
			says: "0.5 bytes", readBad: 1,
		},
		{
			name: "fewer bytes than the requests have", load: closed,
			change: of(1, func(t *result.Trial) { t.Payload = t.WireSent + 2*t.OK }), fails: result.WireBytes,
			says: "-2 bytes", readBad: 1,
		},
		{
			name: "bytes beside the requests' own", load: closed,
			change: of(10, func(t *result.Trial) { t.Payload = t.WireSent / 2 }),
		},
		{
			name: "more CPU than there is, server", load: closed,
			change: of(1, func(t *result.Trial) { t.Server.CPU = t.Server.Wall * 11 / 10 }), fails: result.CPUTime,
			says: "110.0 %", readBad: 1,
		},
		{
			name: "faster than doing nothing", load: closed,
			change: of(10, func(t *result.Trial) { t.Floor.Completed /= 4 }), fails: result.Ceiling, says: "is impossible",
			readBad: 10,
		},
		{name: "as fast as doing nothing, but for noise", load: closed, change: func(r *result.Result) {
			each(r, func(n int, t *result.Trial) {
				rate := float64(t.Completed) / float64(t.Window) * (1 + 0.05*float64(n%2*2-1))
				t.Floor.Completed = uint64(rate * float64(t.Floor.Window))
			})
		}},

		{
			name: "near the floor", load: closed,
			change: of(10, func(t *result.Trial) { t.Floor.Service = resulttest.Times(1000, 60*time.Microsecond) }),
			limits: result.AboveFloor, says: "floor-limited", spares: true, readBad: 10,
		},

		{
			name: "bursts where independent arrivals were planned", load: poisson,
			change: of(10, func(t *result.Trial) { t.Gaps = bursts(t.OK) }), fails: result.Law, says: "not exponential",
			readBad: 10,
		},
		{
			name: "equal gaps where independent arrivals were planned", load: poisson,
			change: of(10, func(t *result.Trial) { t.Gaps.Reset(); t.Gaps.RecordN(1e6, t.OK) }), fails: result.Law,
			says: "not exponential", readBad: 10,
		},
		{
			name: "independent arrivals where equal gaps were planned", load: constant,
			change: of(10, func(t *result.Trial) { t.Gaps = lateArrivals(t.OK, 0) }), fails: result.Law,
			says: "not equal", readBad: 10,
		},

		{
			name: "a hypervisor that takes a tenth", load: closed,
			change: noise(5, func(n *result.Noise) { n.Steal = 0.1 }), fails: result.Steal, says: "in 5 of 10",
			spares: true, readBad: 5,
		},
		{name: "in one round", load: closed, change: noise(1, func(n *result.Noise) { n.Steal = 0.1 })},
		{
			name: "a busy machine", load: closed, change: noise(10, func(n *result.Noise) { n.Others = 0.3 }),
			limits: result.Neighbours, says: "busy machine", spares: true, readBad: 10,
		},
		{
			name: "a machine with no room left", load: closed,
			change: noise(10, func(n *result.Noise) { n.Others = 0.7 }),
			fails:  result.Neighbours, says: "too busy", spares: true, readBad: 10,
		},
		{
			name: "a quota of CPU", load: closed,
			change: noise(1, func(n *result.Noise) { n.Throttled = plan.Duration(time.Millisecond) }),
			fails:  result.Throttling, says: "throttled in 1 of 10", readBad: 1,
		},
		{
			name: "a kernel that does not tell", load: closed,
			change: noise(10, func(n *result.Noise) { n.Throttled, n.CPUPressure, n.IOPressure = -1, -1, -1 }),
		},
		{
			name: "a clock that is slow to read", load: closed,
			change: func(r *result.Result) { r.Environment.ClockSource = "hpet" }, fails: result.Clock, says: "hpet",
			spares: true,
		},
		{
			name: "a clock of a virtual machine", load: closed,
			change: func(r *result.Result) { r.Environment.ClockSource = "kvm-clock" },
		},
	} {
		r := healthy(c.load)
		c.change(r)
		a := analyse.Result(r)
		state, by, failed, limited := read(a, 1)
		gate := c.fails
		want := []result.Gate{c.fails}
		if c.fails == "" {
			want = nil
		}
		if !slices.Equal(failed, want) {
			t.Errorf("%s: failed %q, want %q: %s", c.name, failed, want, details(by, failed))
			continue
		}
		if c.limits != "" {
			gate = c.limits
		}
		if c.limits != "" != (len(limited) > 0) {
			t.Errorf("%s: limited by %q", c.name, limited)
		}
		if gate == "" {
			continue
		}
		check := by[gate]
		bad := 0
		for _, reading := range check.Rounds {
			if !reading.OK {
				bad++
			}
		}
		if bad != c.readBad || !strings.Contains(check.Detail, c.says) || check.Fix == "" {
			t.Errorf("%s: %d bad rounds of %d, want %d; %q, fix %q", c.name, bad, len(check.Rounds), c.readBad,
				check.Detail, check.Fix)
		}
		if (len(state.Invalid()) > 0) != (c.fails != "" && !c.spares) {
			t.Errorf("%s: all invalid: %q", c.name, state.Invalid())
		}
		shown(t, c.name, a, c.fails != "", c.spares)
	}
}

func details(by map[result.Gate]claim.Check, of []result.Gate) string {
	text := ""
	for _, g := range of {
		text += by[g].Detail + "; "
	}
	return text
}

// shown checks what remains of the arm's figures.
func shown(t *testing.T, name string, a claim.Analysis, failed, spares bool) {
	t.Helper()
	p50, cpu := cell(t, a, 0, plan.ResponseP50, 1), cell(t, a, 0, plan.ServerCPU, 1)
	if p50.Estimate.Known == failed || failed && p50.Difference.Verdict != claim.Invalid {
		t.Errorf("%s: p50 %+v", name, p50)
	}
	if cpu.Estimate.Known != (!failed || spares) {
		t.Errorf("%s: CPU per request %+v", name, cpu.Estimate)
	}
	m, err := kinds.MetricByID(plan.ResponseP50)
	if err != nil {
		t.Fatal(err)
	}
	if arm := &a.Loads[0].Arms[1]; !failed && len(arm.Marks(m)) == 0 {
		t.Errorf("%s: p50 stands without a mark", name)
	}
}

// bursts are the gaps of arrivals that come in pairs.
func bursts(n uint64) *stat.Histogram {
	h := stat.NewHistogram()
	r := rand.New(rand.NewPCG(5, 5))
	for range n / 2 {
		h.Record(1000)
		h.Record(int64(2e6 * r.ExpFloat64()))
	}
	return h
}

// lateArrivals are the gaps of Poisson arrivals that are each late by an exponential time, given in mean gaps.
func lateArrivals(n uint64, late float64) *stat.Histogram {
	h := stat.NewHistogram()
	r := rand.New(rand.NewPCG(6, n))
	at, last := 0.0, 0.0
	for range n {
		at += r.ExpFloat64()
		sent := max(last, at+late*r.ExpFloat64())
		h.Record(int64((sent - last) * 1e6))
		last = sent
	}
	return h
}

// Gate 3 must not refuse what gate 1 accepts: harmless lateness is visible in the gaps, more clearly the more of them
// there are.
func TestLatenessIsNoWrongLaw(t *testing.T) {
	t.Parallel()
	for _, late := range []float64{0, 0.01, 0.05, 0.2, 0.6} {
		r := healthy(plan.Load{Rate: 2000, Arrivals: plan.Poisson, InFlight: 256})
		each(r, func(n int, t *result.Trial) {
			gap := float64(t.Window) / float64(t.Planned)
			t.Gaps = lateArrivals(t.OK+uint64(n), late)
			t.Lag.Reset()
			for i := range t.OK {
				t.Lag.Record(int64(-late * gap * math.Log1p(-(float64(i)+0.5)/float64(t.OK))))
			}
		})
		_, by, _, _ := checks(r, 1)
		law, applied := by[result.Law]
		if late > 0.26 { // the 99th percentile is beyond 1.2 gaps
			if applied {
				t.Errorf("lateness of %v gaps on average hides any law, and one is judged: %s", late, law.Detail)
			}
			continue
		}
		if !law.OK || len(law.Rounds) != 10 {
			t.Errorf("lateness of %v gaps on average is taken for another law: %s", late, law.Detail)
		}
		for _, reading := range law.Rounds {
			if !reading.OK {
				t.Errorf("lateness of %v: round %d: %v", late, reading.Round, reading.Value)
			}
		}
	}
}

func TestFloorStandsBesideTheArm(t *testing.T) {
	t.Parallel()
	r := healthy(plan.Load{InFlight: 1})
	state, by, _, _ := checks(r, 1)
	if f := state.Floor; !f.Known || f.Limited || f.Times < 3 || f.Times > 3.7 || f.P50 < 15e3 || f.Throughput < 30e3 ||
		f.ClientCPU <= 0 {
		t.Errorf("%+v", state.Floor)
	}
	if c := by[result.AboveFloor]; !c.AtLeast || c.Limit != 2 || len(c.Rounds) != 10 || c.Unit == "" {
		t.Errorf("%+v", c)
	}
	each(r, func(_ int, t *result.Trial) { t.Floor = nil })
	r.Arms[1].Floorless = "its server is somebody else's"
	state, by, failed, _ := checks(r, 1)
	if _, ok := by[result.AboveFloor]; ok || state.Floor.Known || state.Floor.Why != "its server is somebody else's" ||
		len(failed) > 0 {
		t.Errorf("without a floor: %+v, failed %q", state.Floor, failed)
	}
}

// A drift at the end of most warm-ups is noted, and invalidates nothing.
func TestDriftIsNoted(t *testing.T) {
	t.Parallel()
	r := healthy(plan.Load{InFlight: 1})
	each(r, func(n int, t *result.Trial) { t.Drifting = n < 5 })
	state, _, failed, _ := checks(r, 1)
	if len(failed) > 0 || !slices.ContainsFunc(state.Notes,
		func(s string) bool { return strings.Contains(s, "still drifting") && strings.Contains(s, "5 of 10") }) {
		t.Errorf("failed %q, notes %q", failed, state.Notes)
	}
}

// If arms share all cores, the server's use of them is intended.
func TestUnpinnedServerIsNoNeighbour(t *testing.T) {
	t.Parallel()
	r := healthy(plan.Load{InFlight: 1})
	r.Placement = result.Placement{}
	each(r, func(_ int, t *result.Trial) { t.Driver.Waited, t.Driver.Others = t.Driver.Wall/2, t.Server.CPU })
	if _, _, failed, _ := checks(r, 1); len(failed) > 0 {
		t.Errorf("failed %q", failed)
	}
}
