package main

import (
	"encoding/json"
	"strings"
	"testing"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/kind/capacity"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// rated is what the commands that try rates print as JSON.
type rated struct {
	Result   result.Result
	Analysis claim.Analysis
}

// printed reads what a program printed.
func (p *program) printed() rated {
	p.t.Helper()
	var r rated
	if err := json.Unmarshal(p.stdout.Bytes(), &r); err != nil {
		p.t.Fatalf("%v\n%s\n%s", err, p.stdout.String(), p.said.String())
	}
	return r
}

// ended is end where the machine may have been too busy for an answer: what is
// asked of the tests here is that it is given, or refused, rightly.
func (p *program) ended(codes ...int) {
	p.t.Helper()
	got := p.end()
	for _, code := range codes {
		if got == code {
			return
		}
	}
	p.t.Fatalf("exit code %d, want one of %v:\n%s", got, codes, p.said.String())
}

// TestCurveIsHonestInOverload offers a server that bears 200 calls/s, over its
// four connections, up to twice as many: no more than it bears is called
// answered, nothing that was due is left out, and it is no failure.
func TestCurveIsHonestInOverload(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := begin(t, t.TempDir(), "curve", "http1-proto,inject=constant 20ms", "-w", "routeguide.GetFeature",
		"--rates", "40,100,400", "--in-flight", "4", "--rounds", "1", "--slice", "500ms", "--json", "-q")
	p.ended(desk.ExitOK, desk.ExitNoWord)
	said := p.printed()
	if len(said.Analysis.Curves) != 1 || len(said.Analysis.Curves[0].Levels) != 3 || said.Result.Plan.Name != "curve" {
		t.Fatalf("curves %+v", said.Analysis.Curves)
	}
	if a := said.Result.Arms[0]; a.Driver != plan.DriverRaw || a.Name != "http1-proto,inject=constant 20ms" {
		t.Errorf("the arm is %q, called by %q; want the raw driver without a word of it in the name", a.Name, a.Driver)
	}
	for n, round := range said.Result.Rounds {
		for _, trial := range round.Trials {
			if trial.Planned != trial.Sent+trial.Unsent || trial.Planned == 0 {
				t.Errorf("round %d: %d calls due, %d sent, %d never", n, trial.Planned, trial.Sent, trial.Unsent)
			}
			if trial.Open > 4 {
				t.Errorf("round %d: %d connections for 4 calls in flight", n, trial.Open)
			}
			rate := float64(trial.Completed) / (float64(trial.Window) / 1e9)
			if trial.Load == 2 && (rate > 210 || trial.Late == 0 || trial.Response.Quantile(0.5) < 2*20e6) {
				t.Errorf("round %d: at twice what it bears %.0f/s are answered, %d calls waited, median %d ns", n, rate,
					trial.Late, trial.Response.Quantile(0.5))
			}
		}
	}
	s := &shell{t, map[string]string{"WIRELAB_STORE": p.mark}}
	s.run("verify", "latest").wants(t, desk.ExitOK, []string{"holds"}, nil)
	s.run("results", "show", "--full").wants(t, desk.ExitOK,
		[]string{"response time over offered rate: GetFeature", "400/s"}, nil)
}

// TestCurveFindsItsRates: without rates each arm is looked at first, and the
// look is stored.
func TestCurveFindsItsRates(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := begin(t, t.TempDir(), "curve", "http1-proto,inject=constant 5ms", "-w", "routeguide.GetFeature",
		"--in-flight", "2", "--rounds", "1", "--slice", "100ms", "--steps", "3", "--driver", "client", "--json")
	p.ended(desk.ExitOK, desk.ExitNoWord)
	r := p.printed().Result
	if len(r.Calibration) != 1 || r.Calibration[0].InFlight != 2 || r.Calibration[0].Rate > 410 ||
		r.Calibration[0].Rate < 10 {
		t.Fatalf("calibration %+v, of a server that bears 400/s", r.Calibration)
	}
	if n := len(r.Plan.Loads); n != 3 || r.Plan.Loads[2].Rate < r.Calibration[0].Rate ||
		r.Plan.Loads[0].Rate > r.Calibration[0].Rate/5 {
		t.Errorf("rates %+v", r.Plan.Loads)
	}
	if r.Arms[0].Driver != plan.DriverClient || strings.Contains(p.said.String(), "driver:") {
		t.Errorf("called by %q; nothing was to be chosen: %s", r.Arms[0].Driver, p.said.String())
	}
}

// TestCapacityRuns: a search over real wires and processes is stored whole, can be
// verified and shown, and is not replayed. Ctrl-C keeps the rounds that are complete.
func TestCapacityRuns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := begin(t, t.TempDir(), "capacity", "http1-proto,inject=constant 20ms", "-w", "routeguide.GetFeature",
		"--slo", "p50<200ms,errors<50%", "--in-flight", "2", "--probe", "300ms", "--rounds", "50", "--json")
	p.untilRound(1)
	p.interrupt()
	p.want(desk.ExitNoWord, "interrupted; stored as r-", "complete round", "left")
	said := p.printed()
	c := said.Result.Capacity
	if c == nil || c.Objective != "p50<200ms,errors<50%" || !c.Short || len(c.Rounds) == 0 || len(c.Rounds) >= 50 ||
		len(c.Rounds[0].Searches) != 1 {
		t.Fatalf("capacity %+v", c)
	}
	if search := c.Rounds[0].Searches[0]; len(search.Probes) == 0 ||
		len(search.Probes[0].Parts) != capacity.ProbeParts || search.Closed.Completed == 0 {
		t.Errorf("search %+v", search)
	}
	if found := said.Analysis.Capacity; found == nil || len(found.Arms) != 1 ||
		found.Arms[0].Kind == claim.CapacityFound && found.Arms[0].Rate.Value > 200 {
		t.Errorf("found %+v, of a server that bears 100/s", found)
	}
	s := &shell{t, map[string]string{"WIRELAB_STORE": p.mark}}
	s.run("verify", "latest").wants(t, desk.ExitOK, []string{"holds"}, nil)
	s.run("results", "show", "--full").wants(t, desk.ExitOK, []string{"── capacity", "a trial, and no measurement"},
		nil)
	s.run("results", "export", "--format", "csv").wants(t, desk.ExitOK, []string{",probe,"}, nil)
	s.run("replay", "latest").wants(t, desk.ExitUsage, nil, []string{"search for capacities", "--slo"})
}

func TestRatesAndObjectivesAreChecked(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	work := []string{"-w", "routeguide.GetFeature"}
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"no objective": {[]string{"capacity", "grpc"}, `wirelab capacity needs --slo`},
		"a bad objective": {
			[]string{"capacity", "grpc", "--slo", "p100<10ms"},
			"is no percentile such as p50, p95 or p99.9",
		},
		"a probe too short":   {[]string{"capacity", "grpc", "--slo", "p99<10ms", "--probe", "1ms"}, "--probe 1ms"},
		"an unknown arm":      {[]string{"capacity", "smtp", "--slo", "p99<10ms"}, "smtp"},
		"two rates":           {[]string{"curve", "grpc", "--rates", "1k,2k"}, "a curve needs 3"},
		"a rate that is none": {[]string{"curve", "grpc", "--rates", "1k,fast,2k"}, "fast"},
		"too few steps":       {[]string{"curve", "grpc", "--to", "1k", "--steps", "2"}, "--steps 2"},
		"an unknown driver":   {[]string{"curve", "grpc", "--to", "1k", "--driver", "curl"}, "client or raw"},
		"rates and to": {
			[]string{"curve", "grpc", "--to", "1k", "--rates", "1,2,3"},
			"give --rates or --to, not both",
		},
		"no calls in flight":   {[]string{"curve", "grpc", "--to", "1k", "--in-flight", "0"}, "--in-flight 0"},
		"a plan without rates": {[]string{"curve", "grpc", "--print-plan"}, "give them"},
		"no such operation":    {[]string{"curve", "grpc", "-w", "routeguide.Fly"}, "Fly"},
	} {
		args := test.args
		if name != "no such operation" {
			args = append(args, work...)
		}
		got := s.run(args...)
		if got.code != desk.ExitUsage || !strings.Contains(got.stderr, test.says) {
			t.Errorf("%s: exit code %d, %s; want %q", name, got.code, got.stderr, test.says)
		}
	}
	plain := s.run(append([]string{
		"curve", "grpc", "grpc,client=connect-go", "--to", "10k", "--steps", "4",
		"--print-plan",
	}, work...)...)
	var p plan.Plan
	if err := json.Unmarshal([]byte(plain.stdout), &p); err != nil || plain.code != desk.ExitOK {
		t.Fatalf("%v: %s", err, plain.stderr)
	}
	if len(p.Loads) != 4 || p.Loads[0].Rate != 2500 || p.Arms[0].Driver != plan.DriverRaw || p.Arms[1].Driver != "" ||
		p.Floor != plan.FloorNone {
		t.Errorf("the plan is %+v", p)
	}
}
