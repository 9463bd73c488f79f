package calibration_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/calibration"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/resulttest"
)

// burst is an artificial A/A test. own is the standard deviation of each arm's server CPU from round to round, and
// each is the time of a round.
func burst(rounds int, own float64, each time.Duration, seed uint64) *result.Result {
	arm := resulttest.Arms()[0]
	r := resulttest.Make(resulttest.Setting{
		Name: "doctor", Arms: []resulttest.Arm{arm, arm}, Loads: []plan.Load{{InFlight: 1}}, Rounds: rounds, Seed: seed,
		Noise: own,
	})
	r.Arms[1].Name, r.Plan.Arms[1].Name = "http1-proto #2", "http1-proto #2"
	r.Ended = r.Began.Add(time.Duration(rounds) * each)
	return r
}

func certify(t *testing.T, r *result.Result) *result.Certificate {
	t.Helper()
	c, err := calibration.Certify(r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// For pairs with a known spread, the half-width is that of a table of Student's t.
func TestCertificateOfAKnownSpread(t *testing.T) {
	t.Parallel()
	c := certify(t, burst(100, 0.02, 600*time.Millisecond, 5))
	cpu, ok := c.Of(plan.ServerCPU)
	// Two arms with 2 % each; 100 rounds determine it to within 15 % (2 sd).
	if want := 0.02 * math.Sqrt2; !ok || math.Abs(cpu.Deviation/want-1) > 0.15 {
		t.Errorf("deviation %v, want %v", cpu.Deviation, want)
	}
	if c.Rounds != 100 || c.Round != plan.Duration(600*time.Millisecond) ||
		c.What != "http1-proto, client driver, 1 in flight" || !strings.HasPrefix(c.Environment.Host, "lab") {
		t.Errorf("%d rounds of %v, %q, host %q", c.Rounds, c.Round, c.What, c.Environment.Host)
	}
	// 16, 100 and 500 rounds fit; t.975 and t.80 with 15, 99 and 499 degrees of freedom are from a table.
	for i, want := range []struct {
		rounds, t975, t80 float64
		time              time.Duration
	}{
		{16, 2.1314, 0.8662, 10 * time.Second},
		{100, 1.9842, 0.8453, time.Minute},
		{500, 1.9647, 0.8422, 5 * time.Minute},
	} {
		w := cpu.Within[i]
		half := math.Expm1(want.t975 * cpu.Deviation / math.Sqrt(want.rounds))
		found := math.Expm1((want.t975 + want.t80) * cpu.Deviation / math.Sqrt(want.rounds))
		if time.Duration(w.Time) != want.time || math.Abs(w.HalfWidth/half-1) > 1e-3 ||
			math.Abs(w.Detectable/found-1) > 1e-3 {
			t.Errorf("%v: %+v, want ±%v, %v", want.time, w, half, found)
		}
		if again, ok := c.In(plan.ServerCPU, want.time); !ok || again != w {
			t.Errorf("In gives %+v", again)
		}
	}
	if bytes, ok := c.Of(plan.WireSent); !ok || bytes.Deviation != 0 || bytes.Within[0].HalfWidth != 0 {
		t.Errorf("bytes are always the same: %+v", bytes)
	}
	for _, id := range []string{plan.Throughput, plan.ResponseP50, plan.ResponseP99, plan.ClientCPU} {
		if m, ok := c.Of(id); !ok || !(m.Deviation > 0) {
			t.Errorf("%s is not in it: %+v", id, m)
		}
	}
	if _, ok := c.Of(metric.Connections); ok {
		t.Error("what is counted is compared")
	}
}

// The promise for a time is what an experiment of that time gets on average: the half-width of its interval in the
// printed analysis.
func TestCertificateKeepsItsPromise(t *testing.T) {
	t.Parallel()
	promised, got := map[string]float64{}, map[string]float64{}
	for seed := range uint64(6) {
		c := certify(t, burst(20, 0.03, 500*time.Millisecond, 100+seed))
		a := analyse.Result(burst(20, 0.03, 500*time.Millisecond, 200+seed))
		for _, metric := range []string{plan.ServerCPU, plan.Throughput, plan.ResponseP50} {
			w, ok := c.In(metric, 10*time.Second)
			if !ok {
				t.Fatal("nothing for 10 s")
			}
			promised[metric] += w.HalfWidth
			d := a.Loads[0].Row(metric).Cells[1].Difference
			got[metric] += (d.High - d.Low) / 2
		}
	}
	for metric, p := range promised {
		// 6 spreads of 20 rounds each are known to 7 %, their ratio to 10 %.
		if ratio := p / got[metric]; !(ratio > 0.75 && ratio < 1.33) {
			t.Errorf("%s: ±%.4f promised, ±%.4f got", metric, p/6, got[metric]/6)
		}
	}
}

func TestNoCertificate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*result.Result)
		says   string
	}{
		"of different arms": {func(r *result.Result) { r.Plan.Arms[1].Protocol = "grpc" }, "two equal arms"},
		"of two drivers":    {func(r *result.Result) { r.Plan.Arms[1].Driver = plan.DriverRaw }, "two equal arms"},
		"of two loads": {
			func(r *result.Result) { r.Plan.Loads = append(r.Plan.Loads, plan.Load{InFlight: 2}) },
			"two equal arms",
		},
		"of one arm": {func(r *result.Result) { r.Plan.Arms = r.Plan.Arms[:1] }, "two equal arms"},
		"of nothing": {func(r *result.Result) { *r = result.Result{} }, "two equal arms"},
		"of too few rounds": {
			func(r *result.Result) { r.Rounds = r.Rounds[:9] },
			"9 rounds have both arms, it needs 10",
		},
		"of no time": {func(r *result.Result) { r.Ended = r.Began }, "no certificate"},
		"of wrong replies": {func(r *result.Result) {
			r.Rounds[3].Trials[0].Errors = map[string]uint64{"wrong_reply": 1}
			r.Rounds[3].Trials[0].Sent++
		}, "wrong_reply"},
		"of an arm that fell": {func(r *result.Result) { r.Arms[1].Out = "it fell" }, "it fell"},
	} {
		r := burst(20, 0.02, time.Second, 1)
		c.change(r)
		if got, err := calibration.Certify(r); err == nil || got != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	// Too short for a p99, long enough for the rest; and rounds so long that ten of them do not fit into 10 s.
	r := burst(12, 0.02, 2*time.Second, 1)
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			t.OK, t.Sent, t.Completed = 500, 500, 500
			t.Response = resulttest.Times(500, 60*time.Microsecond)
			t.Service = t.Response
		}
	}
	c := certify(t, r)
	if _, ok := c.Of(plan.ResponseP99); ok {
		t.Error("a p99 from 5 calls a round")
	}
	if cpu, ok := c.Of(plan.ServerCPU); !ok || len(cpu.Within) != 2 ||
		time.Duration(cpu.Within[0].Time) != time.Minute {
		t.Errorf("%+v", cpu)
	}
	if _, ok := c.In(plan.ServerCPU, 10*time.Second); ok {
		t.Error("5 rounds are taken for enough")
	}
}

// A calibration is valid for one machine, one build and one hour.
func TestStaleCertificates(t *testing.T) {
	t.Parallel()
	c := certify(t, burst(20, 0.02, time.Second, 1))
	env := c.Environment
	for name, s := range map[string]struct {
		change func(*result.Environment)
		after  time.Duration
		says   string
	}{
		"fresh":          {nil, 30 * time.Minute, ""},
		"at once":        {nil, 0, ""},
		"old":            {nil, 61 * time.Minute, "made 1h1m0s ago"},
		"of tomorrow":    {nil, -time.Second, "future"},
		"another host":   {func(e *result.Environment) { e.Host = "elsewhere" }, 0, "another host: lab, now elsewhere"},
		"another CPU":    {func(e *result.Environment) { e.CPU = "other" }, 0, "another CPU"},
		"fewer CPUs":     {func(e *result.Environment) { e.CPUs = 1 }, 0, "number of CPUs"},
		"another kernel": {func(e *result.Environment) { e.Kernel = "6.2" }, 0, "another kernel"},
		"a governor":     {func(e *result.Environment) { e.Governor = "powersave" }, 0, "governor"},
		"a clock":        {func(e *result.Environment) { e.ClockSource = "hpet" }, 0, "clock source"},
		"another Go":     {func(e *result.Environment) { e.Go = "go1.27" }, 0, "another Go"},
		"another commit": {func(e *result.Environment) { e.Commit = "abc" }, 0, "another commit"},
	} {
		now := env
		if s.change != nil {
			s.change(&now)
		}
		got := c.Stale(now, c.Made.Add(s.after))
		if (got == "") != (s.says == "") || !strings.Contains(got, s.says) {
			t.Errorf("%s: %q, want %q", name, got, s.says)
		}
	}
}

// A plan that requires more precision than the machine gives in its time gets a warning.
func TestWanting(t *testing.T) {
	t.Parallel()
	// ±0.56 % in a minute, and 0.8 % found.
	c := &result.Certificate{
		Round:   plan.Duration(600 * time.Millisecond),
		Metrics: []result.Resolution{{Metric: plan.ServerCPU, Deviation: 0.0283}},
	}
	ask := func(p plan.Plan) string {
		p.Workload, p.Operation, p.Seed = "routeguide", "GetFeature", 1
		for len(p.Arms) < 2 {
			p.Arms = append(p.Arms, plan.Arm{Protocol: "grpc"})
		}
		p, err := p.Complete()
		if err != nil {
			t.Fatal(err)
		}
		return calibration.Wanting(c, p)
	}
	minute := plan.Duration(time.Minute)
	for name, s := range map[string]struct {
		p    plan.Plan
		says []string
	}{
		"width that comes": {plan.Plan{Until: 0.01, For: minute}, nil},
		"width that does not": {
			plan.Plan{Until: 0.002, For: minute},
			[]string{"server CPU/req to ±0.2 %", "±0.56 % in 1m0s", "might do"},
		},
		"by number of rounds":  {plan.Plan{Until: 0.001}, []string{"±0.1 %"}},
		"practical that comes": {plan.Plan{Practical: 0.05, For: minute}, nil},
		"practical does not": {
			plan.Plan{Practical: 0.005, For: minute},
			[]string{"differences of less than 0.8 %", "where 0.5 % matters"},
		},
		"by number of rounds 2": {plan.Plan{Practical: 0.01}, []string{"in 17s"}},
		"four arms share time": {plan.Plan{
			Until: 0.006, For: minute,
			Arms: []plan.Arm{{Protocol: "a"}, {Protocol: "b"}, {Protocol: "c"}, {Protocol: "d"}},
		}, []string{"±0.6 %"}},
		"two have it":          {plan.Plan{Until: 0.006, For: minute}, nil},
		"open loop":            {plan.Plan{Until: 0.001, For: minute, Loads: []plan.Load{{Rate: 1000}}}, nil},
		"less than ten rounds": {plan.Plan{Until: 0.001, For: plan.Duration(time.Second)}, nil},
	} {
		got := ask(s.p)
		if (got == "") != (s.says == nil) {
			t.Errorf("%s: %q", name, got)
		}
		for _, text := range s.says {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %q lacks %q", name, got, text)
			}
		}
	}
	if calibration.Wanting(c, plan.Plan{}) != "" {
		t.Error("an empty plan wants something")
	}
}

func TestLoudness(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]result.Noise{
		"quiet": {{}, {Throttled: -1, CPUPressure: -1}, {Others: 0.02, Steal: 0.004}},
		"some":  {{Others: 0.4}, {Steal: 0.01}, {Throttled: 1}},
		"loud":  {{Others: 0.6}, {Steal: 0.06}},
	} {
		for _, n := range all {
			if got := calibration.Loudness(n); got != want {
				t.Errorf("%+v is %s, want %s", n, got, want)
			}
		}
	}
	worst := result.Worst([]result.Round{
		{Noise: result.Noise{Steal: 0.1, CPUPressure: -1}},
		{Noise: result.Noise{Others: 0.2, CPUPressure: -1}},
	})
	if worst != (result.Noise{Steal: 0.1, Others: 0.2, CPUPressure: -1}) {
		t.Errorf("%+v", worst)
	}
}
