package report_test

import (
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
	"wirelab/results/report"
)

// change makes a change of each trial of the second of two arms, with as many
// calls in flight as the check of the generator's CPU is for.
func change(of func(t *result.Trial)) claim.LoadAnalysis {
	r := resulttest.Make(resulttest.Setting{
		Arms: resulttest.Arms()[:2], Loads: []plan.Load{{InFlight: 2}}, Rounds: 10, Seed: 4, Noise: 0.01,
	})
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if t := &r.Rounds[n].Trials[i]; t.Arm == 1 {
				of(t)
			}
		}
	}
	return analyse.Result(r).Loads[0]
}

// What failed is said with its value, its limit, why, and what to change; the
// figures that it spoils are not there, the others are.
func TestFailedChecksAreExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(t *result.Trial)
		strip  string
		note   []string
		p50    bool // is still there
	}{
		{
			"all is well", func(*result.Trial) {},
			"http1-proto and grpc: all 16 checks passed", nil, true,
		},
		{
			"a generator at nine tenths", func(t *result.Trial) { t.Driver.CPU = t.Driver.Wall * 9 / 10 },
			"grpc: 15 of 16 checks passed; failed: generator CPU (90 %, limit 70 %)",
			[]string{
				"grpc: times and throughput are invalid: generator too busy: it used up to 90.0 %",
				"; to change: --driver raw, fewer calls in flight",
			},
			false,
		},
		{
			"long pauses", func(t *result.Trial) {
				t.Driver.PauseP99, t.Driver.GarbageCycles = plan.Duration(time.Millisecond), new(t.OK)
			},
			"failed: generator pauses (",
			[]string{"in every round, which moved the mean by 100.0 %, p50 by"},
			false,
		},
		{
			"no steady state", func(t *result.Trial) { t.Steady = false },
			"grpc: 15 of 16 checks passed; failed: steady (100 %, limit 10 %)",
			[]string{"grpc: no steady state after warm-up in 10 of 10 rounds; to change: warm up longer"},
			false,
		},
		{
			"near the floor", func(t *result.Trial) { t.Floor.Service = resulttest.Times(1000, 120*time.Microsecond) },
			"grpc: all 16 checks passed; floor-limited (1.", nil, true,
		},
	} {
		l := change(c.change)
		strip, notes := report.Validity(&l), report.Notes(&l)
		if !slices.ContainsFunc(strip, func(s string) bool { return strings.Contains(s, c.strip) }) {
			t.Errorf("%s: %q lacks %q", c.name, strip, c.strip)
		}
		for _, want := range c.note {
			if !slices.ContainsFunc(notes, func(s string) bool { return strings.Contains(s, want) }) {
				t.Errorf("%s: %q lacks %q", c.name, notes, want)
			}
		}
		if known := l.Row(plan.ResponseP50).Cells[1].Estimate.Known; known != c.p50 {
			t.Errorf("%s: p50 known: %v", c.name, known)
		}
	}
}

// A mark stands behind every figure that it limits, and behind no other; the
// legend says what it means.
func TestMarksStandBesideFigures(t *testing.T) {
	t.Parallel()
	l := change(func(t *result.Trial) { t.Floor.Service = resulttest.Times(1000, 120*time.Microsecond) })
	for id, want := range map[string]string{
		plan.ResponseP50: "†", plan.Throughput: "†", plan.ServerCPU: "",
		plan.WireSent: "",
	} {
		m, err := kinds.MetricByID(id)
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Marks(&l.Arms[1], m); got != want {
			t.Errorf("%s of the arm near the floor is marked %q, want %q", id, got, want)
		}
		if got := report.Marks(&l.Arms[0], m); got != "" {
			t.Errorf("%s of the other arm is marked %q", id, got)
		}
	}
	if legend := report.Legend(&l); len(legend) != 1 || !strings.HasPrefix(legend[0], "† floor-limited: ") {
		t.Errorf("legend %q", legend)
	}
	r := pick(10, 24, 32)
	for n := range r.Rounds {
		r.Rounds[n].Noise.Others = 0.3
	}
	busy := analyse.Result(r).Loads[0]
	m, _ := kinds.MetricByID(plan.ResponseP99)
	if legend := report.Legend(&busy); len(legend) != 1 || !strings.HasPrefix(legend[0], "‡ of a busy machine") ||
		report.Marks(&busy.Arms[0], m) != "‡" {
		t.Errorf("legend %q, mark %q", legend, report.Marks(&busy.Arms[0], m))
	}
}

// The head tells the worst round of each kind of noise, and of what the kernel
// does not tell nothing.
func TestNoiseOfTheWorstRound(t *testing.T) {
	t.Parallel()
	noise := func(r *result.Result) string {
		a := analyse.Result(r)
		for _, f := range report.Facts(r, &a) {
			if f.Name == "noise" {
				return f.Text
			}
		}
		return ""
	}
	r := pick(10, 24, 32)
	r.Rounds[2].Noise = result.Noise{
		Steal: 0.031, Others: 0.02, CPUPressure: 0.4, IOPressure: 0.11,
		Throttled: plan.Duration(12 * time.Millisecond),
	}
	for _, want := range []string{
		"took 3.1 %", "processes 2.0 %", "for a CPU 40 %", "for I/O 11 %",
		"held back for 12.0 ms", "times a second",
	} {
		if !strings.Contains(noise(r), want) {
			t.Errorf("%q lacks %q", noise(r), want)
		}
	}
	for n := range r.Rounds {
		r.Rounds[n].Noise.CPUPressure, r.Rounds[n].Noise.IOPressure, r.Rounds[n].Noise.Throttled = -1, -1, -1
	}
	if text := noise(r); strings.Contains(text, "waited") || strings.Contains(text, "held back") {
		t.Errorf("%q", text)
	}
}
