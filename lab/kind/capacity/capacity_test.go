package capacity_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
)

// copied is a value after it was written and read.
func copied[T any](t *testing.T, v *T) *T {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	again := new(T)
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	return again
}

// The analysis of a stored search agrees with the true capacities of the queues, survives JSON, and contains no
// contradiction.
func TestCapacityOfMadeUpQueues(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	made := resulttest.Capacity()
	r := copied(t, made)
	if flaws := consistency.Flaws(r); len(flaws) > 0 {
		t.Errorf("it contradicts itself: %v", flaws)
	}
	a := analyse.Result(r)
	if a.Capacity == nil || a.Rounds != 6 || len(a.Loads) != 0 || a.Requests == 0 {
		t.Fatalf("%+v", a)
	}
	for i, served := range []float64{2000, 1200} {
		arm, truth := a.Capacity.Arms[i], served-math.Log(100)/0.05
		// The upper end of the interval is to be within the limit, so the
		// result is below the true value by the uncertainty of a probe of 30 s.
		if arm.Kind != claim.CapacityFound || arm.Rate.Value > 1.01*truth || arm.Rate.Value < 0.93*truth {
			t.Errorf("%s: %s %+v, the closed form is %.0f", arm.Name, arm.Kind, arm.Rate, truth)
		}
	}
	if d := a.Capacity.Arms[1].Difference; d == nil || d.Verdict != claim.Worse || d.P <= 0 || d.Rounds != 6 {
		t.Errorf("difference %+v", d)
	}
}

// Any change to a stored search is detected, or changes its analysis.
func TestEditedSearchIsFound(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	made := resulttest.Search([]resulttest.Server{{Name: "one", Protocol: "grpc", Rate: 500}}, "p99<50ms", 2)
	if flaws := consistency.Flaws(made); len(flaws) > 0 {
		t.Fatalf("unedited: %v", flaws)
	}
	for name, test := range map[string]struct {
		edit func(*result.Capacity)
		says string
	}{
		"an outcome": {func(c *result.Capacity) {
			c.Rounds[0].Searches[0].Probes[2].Outcome = result.ProbeSpoiled
		}, "computed again"},
		"a reason": {func(c *result.Capacity) {
			c.Rounds[0].Searches[0].Probes[0].Why = "it was fine"
		}, "computed again"},
		"a rate": {
			func(c *result.Capacity) { c.Rounds[1].Searches[0].Probes[3].Rate *= 1.02 },
			"another way",
		},
		"a probe left out": {func(c *result.Capacity) {
			s := &c.Rounds[0].Searches[0]
			s.Probes = s.Probes[:3]
		}, "not over"},
		"the closed loop": {
			func(c *result.Capacity) { c.Rounds[0].Searches[0].Closed.Completed /= 2 },
			"another way",
		},
		"response times": {func(c *result.Capacity) {
			c.Rounds[0].Searches[0].Probes[1].Parts[2].Record(int64(time.Second))
		}, "not the response times"},
		"a count": {
			func(c *result.Capacity) { c.Rounds[0].Searches[0].Probes[1].Trial.OK-- },
			"calls begun",
		},
		"a place": {
			func(c *result.Capacity) { c.Rounds[0].Searches[0].Probes[1].Place = 0 },
			"same place",
		},
		"an arm that is not there": {
			func(c *result.Capacity) { c.Rounds[0].Searches[0].Arm = 3 },
			"the plan has 1 arms",
		},
		"the objective": {func(c *result.Capacity) { c.Objective = "p99<5s" }, "computed again"},
		"no objective":  {func(c *result.Capacity) { c.Objective = "fast" }, "is no bound"},
		"a round out of order": {func(c *result.Capacity) {
			c.Rounds[1].Began = c.Rounds[0].Began.Add(-time.Hour)
		}, "out of order"},
		"fewer rounds than planned": {func(c *result.Capacity) { c.Rounds = c.Rounds[:1] }, "the plan asks for 2"},
	} {
		r := copied(t, made)
		test.edit(r.Capacity)
		said := ""
		for _, f := range consistency.Flaws(r) {
			said += f.Path + " " + f.Says + "\n"
		}
		if !strings.Contains(said, test.says) {
			t.Errorf("%s: found %q, want %q", name, said, test.says)
		}
		analyse.Result(r) // of whatever there is, and it does not panic
	}
}

// TestProbeIsJudged holds probes against what each outcome is for.
func TestProbeIsJudged(t *testing.T) {
	t.Parallel()
	r := resulttest.Search([]resulttest.Server{{Name: "one", Protocol: "grpc", Rate: 500}}, "p99<50ms", 1)
	first := func() *result.Probe { // at a quarter of the closed loop
		return copied(t, &r.Capacity.Rounds[0].Searches[0].Probes[0])
	}
	for name, test := range map[string]struct {
		objective string
		edit      func(*result.Probe)
		outcome   result.ProbeOutcome
		why       string
	}{
		"as it is": {"p99<50ms", func(*result.Probe) {}, result.ProbePassed, "p99 "},
		"several times": {
			"p50<5ms,p99<50ms,mean<10ms", func(*result.Probe) {}, result.ProbePassed,
			"mean ",
		},
		"a limit too low": {"p99<5ms", func(*result.Probe) {}, result.ProbeFailed, "limit 5ms"},
		"a mean too high": {"p99<50ms,mean<1ms", func(*result.Probe) {}, result.ProbeFailed, "mean "},
		"a quantile it has no calls of": {
			"p99.9<50ms", func(p *result.Probe) { p.Parts = p.Parts[:1] },
			result.ProbeSpoiled, "too few calls",
		},
		"a wrong reply": {
			"p99<50ms",
			func(p *result.Probe) { p.Trial.Errors = map[string]uint64{result.WrongReply: 1} }, result.ProbeFailed,
			"wrong",
		},
		"calls failed": {"p99<50ms", func(p *result.Probe) {
			p.Trial.OK -= 100
			p.Trial.Errors = map[string]uint64{"unavailable": 100}
		}, result.ProbeFailed, "errors"},
		"calls failed, and so many may; but they are slower than any": {"p99<50ms,errors<5%", func(p *result.Probe) {
			p.Trial.OK -= p.Trial.OK / 50
		}, result.ProbeFailed, "p99"},
		"calls were never made": {
			"p99<50ms",
			func(p *result.Probe) { p.Trial.Sent -= 100; p.Trial.Unsent = 100; p.Trial.OK -= 100 }, result.ProbeFailed,
			"errors",
		},
		"the generator was late": {"p99<50ms", func(p *result.Probe) {
			p.Trial.Lag = &stat.Histogram{}
			p.Trial.Lag.RecordN(int64(20*time.Millisecond), p.Trial.Sent)
			p.Trial.Wake = nil
		}, result.ProbeSpoiled, "generator late"},
		"late by less than matters": {"p99<50ms", func(p *result.Probe) {
			p.Trial.Lag = &stat.Histogram{}
			p.Trial.Lag.RecordN(int64(2*time.Millisecond), p.Trial.Sent)
			p.Trial.Wake = nil
		}, result.ProbePassed, "p99"},
		"calls waited for others in flight": {"p99<50ms", func(p *result.Probe) {
			p.Trial.Lag = &stat.Histogram{}
			p.Trial.Lag.RecordN(int64(20*time.Millisecond), p.Trial.Sent)
			p.Trial.Late, p.Trial.Wake = p.Trial.Sent, nil
		}, result.ProbePassed, "p99"},
		"the generator was busy": {
			"p99<50ms",
			func(p *result.Probe) { p.Trial.Driver.CPU = p.Trial.Driver.Wall * 9 / 10 }, result.ProbeSpoiled,
			"generator too busy",
		},
		"others used the machine, and the server waited": {"p99<50ms", func(p *result.Probe) {
			p.Noise.Others = 0.8
			p.Trial.Server.Waited, p.Trial.Server.Others, p.Trial.Server.Runs = p.Trial.Server.Wall/2,
				p.Trial.Server.Wall, 100
		}, result.ProbeSpoiled, "machine too busy"},
		"others used the machine, and the server is not ours": {"p99<50ms", func(p *result.Probe) {
			p.Noise.Others, p.Trial.Server = 0.8, nil
		}, result.ProbeSpoiled, "machine too busy"},
		"others used the machine, and nobody waited": {
			"p99<50ms",
			func(p *result.Probe) { p.Noise.Others, p.Trial.Server.Runs = 0.8, 100 }, result.ProbePassed, "p99",
		},
		"the hypervisor took it": {
			"p99<50ms", func(p *result.Probe) { p.Noise.Steal = 0.2 },
			result.ProbeSpoiled, "hypervisor",
		},
		"fewer calls were due": {
			"p99<50ms", func(p *result.Probe) { p.Rate *= 2 },
			result.ProbeSpoiled, "calls were due",
		},
		"nothing was answered": {
			"p99<50ms", func(p *result.Probe) { p.Trial.OK = 0 },
			result.ProbeFailed, "no call was answered",
		},
	} {
		p := first()
		test.edit(p)
		o, err := capacity.ParseObjective(test.objective)
		if err != nil {
			t.Fatal(err)
		}
		if outcome, why := capacity.Judge(r.Capacity, r, o, p); outcome != test.outcome ||
			!strings.Contains(why, test.why) {
			t.Errorf("%s: %s, %q; want %s, %q", name, outcome, why, test.outcome, test.why)
		}
	}
}

// TestProbesAreLongEnough: 5 s, or as long as 100 calls beyond the quantile take.
func TestProbesAreLongEnough(t *testing.T) {
	t.Parallel()
	c := &result.Capacity{Probe: 5e9}
	for objective, want := range map[string]time.Duration{
		"p50<1ms":          5 * time.Second,
		"p99<1ms":          10 * time.Second,
		"p50<1ms,p99.9<1s": 100 * time.Second,
	} {
		o, err := capacity.ParseObjective(objective)
		if err != nil {
			t.Fatal(err)
		}
		if got := capacity.Length(c, o, 1000); got < want-time.Millisecond || got > want+time.Millisecond {
			t.Errorf("%s at 1,000/s: %v, want %v", objective, got, want)
		}
		s := capacity.SearchFrom(c, o, 1000)
		if longest := capacity.Length(c, o, s.Least); longest > capacity.ProbeMost || s.Start < s.Least ||
			s.Most < s.Start {
			t.Errorf("%s: probes of %v at %v/s; %+v", objective, longest, s.Least, s)
		}
	}
	short := &result.Capacity{Probe: 1e9, Short: true}
	if o, _ := capacity.ParseObjective("p99.9<1s"); capacity.Length(short, o, 10) != time.Second {
		t.Error("a short probe is as long as it is told")
	}
}
