package report_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value  float64
		digits int
		want   string
	}{
		{24.12, 3, "24.1"},
		{9.996, 3, "10.0"},
		{0.12345, 3, "0.123"},
		{1234.5, 3, "1,230"},
		{12345, 3, "12,300"},
		{1234567, 2, "1,200,000"},
		{0, 3, "0"},
		{-3.456, 2, "−3.5"},
		{999.6, 3, "1,000"},
		{1, 2, "1.0"},
		{math.NaN(), 3, "–"},
		{math.Inf(1), 3, "–"},
	} {
		if got := report.Significant(c.value, c.digits); got != c.want {
			t.Errorf("%v with %d digits: %q, want %q", c.value, c.digits, got, c.want)
		}
	}
	if got := report.Margin(0.03) + " " + report.Margin(0.005) + " " +
		report.Percent(0.0214); got != "±3 % ±0.5 % 2.1 %" {
		t.Errorf("%q", got)
	}
	if got := report.Duration(49005*time.Nanosecond) + " " +
		report.Duration(18470*time.Microsecond); got != "49.0 µs 18.5 ms" {
		t.Errorf("%q", got)
	}
}

func TestOneUnitForAColumn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dimension metric.Dimension
		values    []float64
		want      string
	}{
		{metric.Time, []float64{24_100, 1_210_000}, "µs"}, // the smallest decides
		{metric.Time, []float64{1_100_000, 9e6}, "ms"},
		{metric.Time, []float64{800, 9e6}, "ns"},
		{metric.Time, []float64{0, 5e9}, "s"}, // 0 is 0 in any unit
		{metric.Time, nil, "ns"},
		{metric.Size, []float64{512, 90_000}, "B"},
		{metric.Size, []float64{120_000}, "kB"},
		{metric.Frequency, []float64{5}, "/s"},
		{metric.Number, []float64{5}, ""},
	} {
		if got := report.UnitFor(c.dimension, c.values...).Name; got != c.want {
			t.Errorf("%s %v: %q, want %q", c.dimension, c.values, got, c.want)
		}
	}
}

func TestDigitsAreEarned(t *testing.T) {
	t.Parallel()
	us := report.Unit{Name: "µs", Size: 1000}
	for _, c := range []struct {
		name string
		e    claim.Estimate
		want string
	}{
		{"a narrow interval", claim.Estimate{Known: true, Value: 24123, Low: 24000, High: 24300}, "24.1"},
		{"a wide one", claim.Estimate{Known: true, Value: 24123, Low: 22000, High: 26500}, "24"},
		{"none", claim.Estimate{Known: true, Value: 24123}, "24"},
		{"exact", claim.Estimate{Known: true, Value: 1234000, Low: 1234000, High: 1234000}, "1,234"},
		{"unknown", claim.Estimate{Value: 5, Why: "invalid"}, "–"},
	} {
		if got := report.Value(c.e, us); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		for _, u := range []report.Unit{us, {Size: 1}, report.UnitFor(metric.Time), report.UnitFor(metric.Frequency)} {
			if got := report.With(c.e, u); !c.e.Known && got != report.Absent {
				t.Errorf("%s with a unit: %q, want no unit where there is no figure", c.name, got)
			}
		}
	}
	for _, c := range []struct {
		d              claim.Difference
		change, within string
	}{
		{claim.Difference{Known: true, Ratio: 1.3241, Low: 1.316, High: 1.332}, "+32.4 %", "[+31.6, +33.2]"},
		{claim.Difference{Known: true, Ratio: 1.32, Low: 1.2, High: 1.45}, "+32 %", "[+20, +45]"},
		{claim.Difference{Known: true, Ratio: 0.9999, Low: 0.99, High: 1.01}, "0.0 %", "[−1.0, +1.0]"},
		{claim.Difference{Known: true, Ratio: 0.367, Low: 0.367, High: 0.367, Exact: true}, "−63.3 %", "exact"},
		{claim.Difference{Known: true, Ratio: 12.5, Low: 12.4, High: 12.6}, "+1,150 %", "[+1,140, +1,160]"},
		{claim.Difference{Why: "invalid"}, "–", ""},
	} {
		if got, within := report.Change(&c.d), report.Interval(&c.d); got != c.change || within != c.within {
			t.Errorf("%+v: %q %q, want %q %q", c.d, got, within, c.change, c.within)
		}
	}
}

// said is the sentence about a result's first load.
func said(r *result.Result) string {
	a := analyse.Result(r)
	return report.Sentence(r.Plan, &a.Loads[0])
}

// pick makes a result of two arms with the costs given, in µs of server CPU.
func pick(rounds int, cost ...float64) *result.Result {
	arms := resulttest.Arms()[:len(cost)]
	for i := range arms {
		arms[i].ServerCPU = time.Duration(1000 * cost[i])
	}
	return resulttest.Make(resulttest.Setting{
		Arms: arms, Loads: []plan.Load{{InFlight: 1}}, Rounds: rounds, Seed: 4,
		Noise: 0.01,
	})
}

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		r    *result.Result
		want []string // parts, in order
	}{
		{
			"the first is best", pick(20, 24, 32),
			[]string{
				"With 1 call in flight, http1-proto is cheapest on the server: ",
				" µs of CPU per request; grpc costs ", " % more (95 % CI ", ").",
			},
		},
		{
			"another is best", pick(20, 24, 18),
			[]string{"grpc is cheapest on the server; against http1-proto (", "grpc costs ", " % less (95 % CI "},
		},
		{
			"none is", pick(20, 24, 24),
			[]string{"With 1 call in flight, against http1-proto (", "grpc is equivalent within ±3 %."},
		},
		{
			"too few rounds", pick(4, 24, 32),
			[]string{"nothing is claimed yet: 4 rounds have both arms, a claim needs 10."},
		},
		{"one arm", resulttest.OneArm(), []string{"http1-proto's server CPU per request: ", " (95 % CI "}},
		{"nothing", resulttest.Short(0), []string{"With 1 call in flight, nothing was measured."}},
		{"an open loop", resulttest.Open(), []string{"At 2,000/s Poisson, ", " p99 response time"}},
	} {
		rest := said(c.r)
		for _, part := range c.want {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				t.Errorf("%s: no %q in %q", c.name, part, said(c.r))
				break
			}
			rest = after
		}
	}
	less := said(pick(20, 24, 18))
	if strings.Contains(less, "−") {
		t.Errorf("a minus together with %q says it twice: %q", "less", less)
	}
	_, interval, _ := strings.Cut(less, "% less (95 % CI ")
	var low, high float64
	if n, err := fmt.Sscanf(interval, "%f to %f", &low, &high); n != 2 || low >= 25 || high <= 25 {
		t.Errorf("the interval of 25 %% less is %v to %v (%v): %q", low, high, err, less)
	}
}

// Of an invalid first arm no sentence may say that another is best.
func TestAnInvalidFirstArmIsSaid(t *testing.T) {
	t.Parallel()
	r := pick(12, 24, 32)
	r.Rounds[0].Trials[0].Errors = map[string]uint64{result.WrongReply: 1}
	r.Rounds[0].Trials[0].Sent++
	if got := said(r); !strings.Contains(got, "nothing can be compared") || !strings.Contains(got, "1 wrong_reply") {
		t.Errorf("%q", got)
	}
}

// A metric of which nothing is valid has no table, though the primary one does.
func TestTablesOfNothingAreNotShown(t *testing.T) {
	t.Parallel()
	a := analyse.Result(resulttest.Two())
	l := &a.Loads[0]
	whole := len(report.Shown(l))
	if whole != len(report.Main(l)) {
		t.Errorf("%d of %d are shown where all are known", whole, len(report.Main(l)))
	}
	for _, id := range []string{plan.ResponseP99, l.Primary} {
		for i := range l.Row(id).Cells {
			l.Row(id).Cells[i].Estimate.Known = false
		}
		if shown := report.Shown(l); len(shown) != whole-1 || shown[0].ID != l.Primary {
			t.Errorf("without any %s: %d of %d are shown", id, len(shown), whole)
		}
	}
}

// The addresses that a target's name led to are in the description of its arm, with their number bounded.
func TestAddressesOfTargets(t *testing.T) {
	t.Parallel()
	r := resulttest.Two()
	r.Plan.Arms[0].Target = "service.example:80"
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("10.0.0.%d:80", 10+i))
	}
	for _, c := range []struct {
		addresses []string
		ends      string
	}{
		{nil, "server unknown, at service.example:80"},
		{[]string{"service.example:80"}, "server unknown, at service.example:80"},
		{many[:1], "server unknown, at service.example:80 (connected to 10.0.0.10:80)"},
		{many[:2], "server unknown, at service.example:80 (connected to 10.0.0.10:80 and 10.0.0.11:80)"},
		{many, "10.0.0.17:80 and 4 more)"},
	} {
		r.Arms[0].Addresses = c.addresses
		if got := report.Arm(r, 0); !strings.HasSuffix(got, c.ends) {
			t.Errorf("%d addresses: %q, want %q at its end", len(c.addresses), got, c.ends)
		}
	}
}
