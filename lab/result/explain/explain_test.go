package explain_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
)

// costs are effects as in the published argument: framing costs, encoding saves, TLS costs, and Protocol Buffers save
// more over gRPC than elsewhere.
var costs = resulttest.Effects{ // read only
	"HTTP/2": 0.15, "gRPC": 0.25, "Protocol Buffers": -0.3, "Avro": -0.25, "TLS": 0.1,
	"gRPC × Protocol Buffers": -0.12,
}

func explained(t *testing.T, r *result.Result) *explain.Explanation {
	t.Helper()
	e, err := explain.Of(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(e); err != nil {
		t.Fatal(err)
	}
	return e
}

func of(t *testing.T, e *explain.Explanation, metric string) *explain.MetricExplanation {
	t.Helper()
	for i := range e.Loads[0].Metrics {
		if m := &e.Loads[0].Metrics[i]; m.Metric == metric {
			return m
		}
	}
	t.Fatalf("no %s", metric)
	return nil
}

// Paired finds an effect by its levels: "gRPC", or "gRPC", "Protocol Buffers".
func Paired(t *testing.T, e *explain.Explanation, m *explain.MetricExplanation,
	levels ...string,
) *explain.FactorEffect {
	t.Helper()
	for _, all := range [][]explain.FactorEffect{m.Effects, m.Interactions} {
		for i := range all {
			var is []string
			for k, f := range all[i].Factors {
				is = append(is, e.Factors[f].Levels[all[i].Levels[k]])
			}
			if slices.Equal(is, levels) {
				return &all[i]
			}
		}
	}
	t.Fatalf("no effect of %v", levels)
	return nil
}

func near(d *claim.Difference, log, within float64) bool {
	return d != nil && d.Known && math.Abs(math.Log(d.Ratio)-log) < within && d.Low <= d.Ratio && d.Ratio <= d.High
}

func TestExplainFindsWhatWasPlanted(t *testing.T) {
	t.Parallel()
	e := explained(t, resulttest.Factorial(7, costs))
	var factors []string
	for _, f := range e.Factors {
		factors = append(factors, f.Name+": "+strings.Join(f.Levels, ", "))
	}
	want := []string{"transport: HTTP/1.1, HTTP/2, gRPC", "encoding: JSON, Protocol Buffers, Avro", "TLS: off, on"}
	if !slices.Equal(factors, want) {
		t.Errorf("factors %q", factors)
	}
	for _, metric := range []string{plan.ServerCPU, plan.ClientCPU, plan.ResponseP50} {
		m := of(t, e, metric)
		if m.Primary != (metric == plan.ServerCPU) || m.Rounds != 14 || len(m.Arms) != 18 || m.Why != "" {
			t.Errorf("%s: %+v", metric, m)
		}
		for _, c := range []struct {
			levels  []string
			log     float64
			verdict claim.Verdict
		}{
			{[]string{"HTTP/2"}, 0.15, claim.Worse},
			{[]string{"gRPC"}, 0.25 - 0.12/3, claim.Worse},
			{[]string{"Protocol Buffers"}, -0.3 - 0.12/3, claim.Better},
			{[]string{"Avro"}, -0.25, claim.Better},
			{[]string{"on"}, 0.1, claim.Worse},
			{[]string{"gRPC", "Protocol Buffers"}, -0.12, claim.Better},
		} {
			x := Paired(t, e, m, c.levels...)
			if !near(x.Difference, c.log, 0.03) || x.Difference.Verdict != c.verdict || len(x.Assumes) > 0 {
				t.Errorf("%s of %v: %+v, want ln %v, %s", metric, c.levels, x.Difference, c.log, c.verdict)
			}
		}
		for _, none := range [][]string{
			{"HTTP/2", "Protocol Buffers"},
			{"HTTP/2", "on"},
			{"gRPC", "Avro"},
			{"Avro", "on"},
		} {
			if x := Paired(t, e, m, none...); x.Difference.Verdict == claim.Better ||
				x.Difference.Verdict == claim.Worse {
				t.Errorf("%s: an interaction of %v that is none: %+v", metric, none, x.Difference)
			}
		}
		if m.Primary {
			var p, adjusted []float64
			for _, x := range slices.Concat(m.Effects, m.Interactions) {
				p, adjusted = append(p, x.Difference.P), append(adjusted, x.Difference.Adjusted)
			}
			if holm := stat.Holm(p); !slices.Equal(adjusted, holm) {
				t.Errorf("adjusted %v, want %v", adjusted, holm)
			}
		}
		if m.Explained < 0.98 || m.Explained > 1 {
			t.Errorf("%s: %v explained", metric, m.Explained)
		}
	}
}

// From plain HTTP/1.1 with JSON to plain gRPC with Protocol Buffers, each share is what was put in, with half of an
// interaction for each of its factors. Shares add up to the whole in points, in amounts and as products.
func TestSharesAreWhatWasPlantedAndAddUp(t *testing.T) {
	t.Parallel()
	r := resulttest.Factorial(7, costs)
	e := explained(t, r)
	for i := range e.Loads[0].Metrics {
		m := &e.Loads[0].Metrics[i]
		if len(m.Attributions) != 1 {
			t.Fatalf("%s: %d attributions", m.Metric, len(m.Attributions))
		}
		at := m.Attributions[0]
		if at.Why != "" || r.ArmName(at.From) != "http1-json" || r.ArmName(at.To) != "grpc-proto" {
			t.Fatalf("%s: %+v", m.Metric, at)
		}
		points, amounts, product := 0.0, 0.0, 1.0
		for _, s := range at.Shares {
			points, amounts, product = points+s.Difference.Ratio-1, amounts+s.Amount.Value, product*s.Times.Value
		}
		if !(math.Abs(points-(at.Total.Difference.Ratio-1)) < 1e-12 &&
			math.Abs(amounts-at.Total.Amount.Value) < 1e-9*math.Abs(at.Base.Value) &&
			math.Abs(product-at.Total.Difference.Ratio) < 1e-12) {
			t.Errorf("%s: shares add up to %v, %v, %v of %+v", m.Metric, points, amounts, product, at.Total)
		}
	}
	at := of(t, e, plan.ServerCPU).Attributions[0]
	for i, want := range []struct {
		factor, from, to string
		log              float64
	}{
		{"transport", "HTTP/1.1", "HTTP/2", 0.15},
		// gRPC's framing comes after HTTP/2 in every order; of three orders Protocol Buffers come last in one, so:
		{"framing", "HTTP", "gRPC", 0.10 - 0.12*2/3},
		{"encoding", "JSON", "Protocol Buffers", -0.3 - 0.12/3},
	} {
		s := at.Shares[i]
		if s.Factor != want.factor || s.LevelFrom != want.from || s.LevelTo != want.to ||
			math.Abs(math.Log(s.Times.Value)-want.log) > 0.03 {
			t.Errorf("share %d: %s from %s to %s: %+v, want %+v", i, s.Factor, s.LevelFrom, s.LevelTo, s.Times, want)
		}
		if d := s.Difference; !d.Known || !s.Amount.Known || d.Low > d.Ratio || d.High < d.Ratio ||
			s.Amount.Low > s.Amount.Value || s.Amount.High < s.Amount.Value {
			t.Errorf("share %d: %+v", i, s)
		}
	}
	if got := at.Total.Amount.Value; math.Abs(got-24000*(math.Exp(-0.17)-1)) > 900 {
		t.Errorf("%v ns in all", got)
	}
	if len(at.Notes) != 1 || !strings.Contains(at.Notes[0],
		"share of framing is also that of another library: net/http serves http1-json, grpc-go serves grpc-proto") {
		t.Errorf("%q", at.Notes)
	}
}

// If nothing is planted, hardly anything is found: Holm allows a false claim in the primary metric in one of twenty
// experiments, here of 18 arms.
func TestNothingIsFoundWhereNothingIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	r := resulttest.Factorial(100, nil)
	a := analyse.Result(r) // of gates only, which ignore such small CPU times
	random := rand.New(rand.NewPCG(1, 2))
	const experiments = 150
	wrong := 0
	for range experiments {
		for n := range r.Rounds {
			drift := 0.05 * random.NormFloat64()
			for i := range r.Rounds[n].Trials {
				tr := &r.Rounds[n].Trials[i]
				tr.Server.CPU = plan.Duration(24000 * float64(tr.OK) * math.Exp(drift+0.02*random.NormFloat64()))
			}
		}
		e, err := explain.Between(r, &a, "", "")
		if err != nil {
			t.Fatal(err)
		}
		m := of(t, e, plan.ServerCPU)
		if slices.ContainsFunc(slices.Concat(m.Effects, m.Interactions), func(x explain.FactorEffect) bool {
			return x.Difference.Verdict == claim.Better || x.Difference.Verdict == claim.Worse
		}) {
			wrong++
		}
	}
	if wrong > 18 { // at 5 % 7.5 are expected, and more than 18 in one of 5,000 trials
		t.Errorf("a false claim in %d of %d experiments", wrong, experiments)
	}
	t.Logf("a false claim in %d of %d experiments", wrong, experiments)
}

func TestUnbalancedDesignsSayWhatTheyCannotTell(t *testing.T) {
	t.Parallel()
	// No arm has gRPC with JSON, as if that binding did not exist.
	r := resulttest.Factorial(9, costs, "grpc-json", "grpc-tls-json")
	e := explained(t, r)
	m := of(t, e, plan.ServerCPU)
	pair := Paired(t, e, m, "gRPC", "Protocol Buffers")
	if pair.Difference != nil || pair.Why != "no arm has transport gRPC, encoding JSON" {
		t.Errorf("%+v", pair)
	}
	if http2 := Paired(t, e, m, "HTTP/2", "Protocol Buffers"); http2.Difference == nil ||
		!near(http2.Difference, 0, 0.03) {
		t.Errorf("%+v", http2)
	}
	grpc := Paired(t, e, m, "gRPC")
	if grpc.Difference == nil || len(grpc.Assumes) != 1 || grpc.Assumes[0] != [2]int{0, 1} {
		t.Errorf("%+v", grpc)
	}
	if http2 := Paired(t, e, m, "HTTP/2"); http2.Difference == nil || len(http2.Assumes) != 0 ||
		!near(http2.Difference, 0.15, 0.03) {
		t.Errorf("%+v", http2)
	}
	at := m.Attributions[0]
	if at.Shares != nil || at.Why != "there is no arm with transport gRPC, encoding JSON, TLS off" {
		t.Errorf("%+v", at)
	}
}

// An arm that a gate refuses is not used, and a note says so. Terms that need it are not determined.
func TestRefusedArmsAreNotUsed(t *testing.T) {
	t.Parallel()
	r := resulttest.Factorial(5, costs)
	bad := slices.IndexFunc(r.Arms, func(a result.Arm) bool { return a.Name == "http2-json" })
	tls := slices.IndexFunc(r.Arms, func(a result.Arm) bool { return a.Name == "http2-tls-json" })
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			switch tr := &r.Rounds[n].Trials[i]; tr.Arm {
			case bad, tls:
				tr.Errors = map[string]uint64{result.WrongReply: 3}
				tr.Sent += 3
			}
		}
	}
	e := explained(t, r)
	m := of(t, e, plan.ServerCPU)
	if len(m.Left) != 2 || m.Left[0].Arm != bad || !strings.Contains(m.Left[0].Why, "wrong") || len(m.Arms) != 16 {
		t.Errorf("left %+v, used %v", m.Left, m.Arms)
	}
	if pair := Paired(t, e, m, "HTTP/2", "Protocol Buffers"); pair.Why != "no arm has transport HTTP/2, encoding JSON" {
		t.Errorf("%+v", pair)
	}
	at := m.Attributions[0]
	if !strings.Contains(at.Why, "http2-json may not be used: ") {
		t.Errorf("%+v", at)
	}
	// All arms of one encoding are refused; the rest is still determined.
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if tr := &r.Rounds[n].Trials[i]; r.Arms[tr.Arm].Encoding != "JSON" {
				tr.Errors = map[string]uint64{result.WrongReply: 1}
			}
		}
	}
	m = of(t, explained(t, r), plan.ServerCPU)
	if x := Paired(t, e, m, "Avro"); x.Why != "only encoding JSON is left among the arms that may be used" {
		t.Errorf("%+v", x)
	}
}

// An arm that fails sometimes is left out if there are too few rounds with it.
func TestArmsOfFewRoundsAreLeftOut(t *testing.T) {
	t.Parallel()
	r := resulttest.Factorial(6, costs)
	for n := range r.Rounds[:6] {
		r.Rounds[n].Trials = slices.DeleteFunc(r.Rounds[n].Trials, func(tr result.Trial) bool { return tr.Arm == 17 })
	}
	m := of(t, explained(t, r), plan.ServerCPU)
	if m.Rounds != 14 || len(m.Left) != 1 || m.Left[0].Why != "it has 8 of 14 rounds" {
		t.Errorf("%d rounds, left %+v", m.Rounds, m.Left)
	}
}

func TestTooFewRoundsClaimNothing(t *testing.T) {
	t.Parallel()
	r := resulttest.Factorial(6, costs)
	r.Rounds = r.Rounds[:9]
	m := of(t, explained(t, r), plan.ServerCPU)
	for _, x := range slices.Concat(m.Effects, m.Interactions) {
		if x.Difference.Verdict != claim.TooFew || x.Difference.Why != "9 rounds have all the arms, a claim needs 10" {
			t.Fatalf("%+v", x.Difference)
		}
	}
	r.Rounds = r.Rounds[:1]
	if m := of(t, explained(t, r), plan.ServerCPU); m.Why != "1 rounds have all the arms, a claim needs 10" ||
		m.Effects != nil {
		t.Errorf("%+v", m)
	}
}

func TestWhatCannotBeExplainedSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	two := func(names ...string) *result.Result {
		all := resulttest.FactorialArms(costs)
		var arms []resulttest.Arm
		for _, name := range names {
			arms = append(arms, all[slices.IndexFunc(all, func(a resulttest.Arm) bool { return a.Name == name })])
		}
		return resulttest.Make(resulttest.Setting{
			Name: "two", Arms: arms, Loads: []plan.Load{{InFlight: 1}},
			Rounds: 12, Seed: 2,
		})
	}
	for _, c := range []struct {
		why  string
		r    *result.Result
		says string
	}{
		{
			"two factors go together", two("http1-json", "grpc-proto"),
			"differ in transport and encoding only together, so that nothing tells which of them makes a difference; " +
				"an arm is missing that differs " +
				"from http1-json in one of them: transport gRPC, encoding JSON; or transport HTTP/1.1, encoding " +
				"Protocol Buffers",
		},
		{"one arm", two("http1-json"), "the arms do not differ"},
		{"the same arm twice", two("http1-json", "http1-json"), "the arms do not differ"},
	} {
		e, err := explain.Of(c.r)
		if e != nil || err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.why, err)
		}
	}
	// Two arms determine one factor of two levels.
	e := explained(t, two("http1-json", "http1-proto"))
	m := of(t, e, plan.ServerCPU)
	if len(m.Effects) != 1 || !near(m.Effects[0].Difference, -0.3, 0.03) || len(m.Attributions[0].Shares) != 1 {
		t.Errorf("%+v", m)
	}
}

func TestCorners(t *testing.T) {
	t.Parallel()
	r := resulttest.Factorial(7, costs)
	a := analyse.Result(r)
	e, err := explain.Between(r, &a, "grpc-tls-proto", "http1-json")
	if err != nil {
		t.Fatal(err)
	}
	at := of(t, e, plan.ServerCPU).Attributions[0]
	var names []string
	sum := 0.0
	for _, s := range at.Shares {
		names = append(names, s.Factor+" "+s.LevelFrom+" to "+s.LevelTo)
		sum += math.Log(s.Times.Value)
	}
	if want := []string{
		"transport HTTP/2 to HTTP/1.1", "framing gRPC to HTTP", "encoding Protocol Buffers to JSON",
		"TLS on to off",
	}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	if math.Abs(sum-0.07) > 0.03 {
		t.Errorf("ln %v in all", sum)
	}
	for _, c := range []struct{ from, to, says string }{
		{"soap", "grpc-proto", `unknown arm to start from "soap"; known: grpc-avro`},
		{"grpc-proto", "soap", `unknown arm to end at "soap"`},
		{"grpc-proto", "grpc-proto", "differ in nothing"},
	} {
		if _, err := explain.Between(r, &a, c.from, c.to); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
}

// With data sets, each has a separate difference to split, and data is a factor.
func TestDataIsAFactor(t *testing.T) {
	t.Parallel()
	with := resulttest.Effects{"data 100": 0.9, "Protocol Buffers × data 100": -0.4}
	for k, v := range costs {
		with[k] = v
	}
	r := resulttest.Make(resulttest.Setting{
		Name: "explain", Arms: resulttest.FactorialArms(with, "4", "100"),
		Loads: []plan.Load{{InFlight: 1}}, Rounds: 14, Seed: 1,
	})
	e := explained(t, r)
	m := of(t, e, plan.ServerCPU)
	if !near(Paired(t, e, m, "100").Difference, 0.9-0.4/3, 0.03) ||
		!near(Paired(t, e, m, "Protocol Buffers", "100").Difference, -0.4, 0.05) {
		t.Errorf("%+v", m.Effects)
	}
	if len(m.Attributions) != 2 || m.Attributions[0].Where != "data 4" || m.Attributions[1].Where != "data 100" {
		t.Fatalf("%+v", m.Attributions)
	}
	if math.Abs(math.Log(m.Attributions[1].Shares[2].Times.Value)-(-0.3-0.12/3-0.4)) > 0.03 {
		t.Errorf("%+v", m.Attributions[1].Shares[2])
	}
}

// Libraries that distinguish arms of one protocol are part of the transport's level. Connections are a factor if the
// plan sets them.
func TestLibrariesAndConnections(t *testing.T) {
	t.Parallel()
	all := resulttest.FactorialArms(costs)
	var arms []resulttest.Arm
	for _, library := range []string{"grpc-go", "connect-go"} {
		for _, n := range []int{1, 4} {
			arm := all[slices.IndexFunc(all, func(a resulttest.Arm) bool { return a.Name == "grpc-proto" })]
			arm.Server, arm.Connections, arm.Name = library, n, ""
			arms = append(arms, arm)
		}
	}
	for i := range arms {
		arms[i].Name = arms[i].Server + strings.Repeat("+", arms[i].Connections)
	}
	r := resulttest.Make(resulttest.Setting{
		Name: "explain", Arms: arms, Loads: []plan.Load{{InFlight: 4}}, Rounds: 12,
		Seed: 4,
	})
	e := explained(t, r)
	if len(e.Factors) != 2 || !slices.Equal(e.Factors[0].Levels,
		[]string{"gRPC (served by grpc-go)", "gRPC (served by connect-go)"}) ||
		e.Factors[1].Name != "connections" || !slices.Equal(e.Factors[1].Levels, []string{"1", "4"}) {
		t.Errorf("%+v", e.Factors)
	}
	// No arm is plain HTTP/1.1, so the start is an arm like the first, for each number of connections.
	if at := of(t, e, plan.ServerCPU).Attributions; len(at) != 2 || at[0].Where != "connections 1" ||
		at[1].Where != "connections 4" {
		t.Errorf("%+v", at)
	}
	a := analyse.Result(r)
	two, err := explain.Between(r, &a, "grpc-go+", "connect-go+")
	if err != nil {
		t.Fatal(err)
	}
	at := of(t, two, plan.ServerCPU).Attributions[0]
	if one := at.Shares[0]; len(at.Shares) != 1 || one.Factor != "library" ||
		one.Difference.Ratio != at.Total.Difference.Ratio || one.Difference.Low != at.Total.Difference.Low {
		t.Errorf("%+v of %+v", one, at.Total)
	}
}

// Connections that no setting determines differ with the transport; a note says so.
func TestConnectionsThatNobodySetAreSaid(t *testing.T) {
	t.Parallel()
	r := resulttest.Make(resulttest.Setting{
		Name: "explain", Arms: resulttest.FactorialArms(nil),
		Loads: []plan.Load{{InFlight: 8}}, Rounds: 10, Seed: 4,
	})
	e := explained(t, r)
	if notes := e.Loads[0].Notes; len(notes) != 1 ||
		!strings.HasPrefix(notes[0], "http1-json held 8 connections and http2-json 1") {
		t.Errorf("%q", notes)
	}
	arms := resulttest.FactorialArms(nil)
	slices.Reverse(arms)
	r = resulttest.Make(resulttest.Setting{
		Name: "explain", Arms: arms, Loads: []plan.Load{{InFlight: 8}}, Rounds: 10,
		Seed: 4,
	})
	if notes := explained(t, r).Loads[0].Notes; len(notes) != 1 ||
		!strings.HasPrefix(notes[0], "http1-tls-avro held 8 connections and grpc-tls-avro 1") {
		t.Errorf("the other way round: %q", notes)
	}
}

// Explaining a result never panics, whatever it holds.
func TestExplainTakesAnyResult(t *testing.T) {
	t.Parallel()
	for _, r := range []*result.Result{
		{},
		resulttest.Open(), resulttest.Troubled(), resulttest.OneArm(), resulttest.Short(3), resulttest.Many(),
		{Plan: plan.Plan{Arms: make([]plan.Arm, 3), Loads: []plan.Load{{}}}},
		{
			Plan:   plan.Plan{Arms: []plan.Arm{{Protocol: "a"}, {Protocol: "b", Data: "x"}}, Loads: []plan.Load{{}}},
			Rounds: make([]result.Round, 3),
		},
	} {
		if e, err := explain.Of(r); err == nil {
			if _, err := json.Marshal(e); err != nil {
				t.Error(err)
			}
		}
	}
}
