package audit_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"wirelab/lab/audit"
	"wirelab/lab/inject"
)

const (
	ms   = time.Millisecond
	turn = "frozen 1ms 500ms 5s"
)

func truthOf(t *testing.T, text string) audit.Truth {
	t.Helper()
	b, err := inject.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	truth, ok := b.Truth()
	if !ok {
		t.Fatalf("%s has no truth", text)
	}
	return truth
}

// said is a report of n requests with the times in milliseconds at p50, p90, p95 and p99, and the mean. A negative time
// is not reported.
func said(n, errors uint64, p50, p90, p95, p99, mean float64) audit.Report {
	r := audit.Report{Count: &n, Errors: &errors, Quantiles: map[audit.Level]time.Duration{}}
	for l, v := range map[audit.Level]float64{audit.P50: p50, audit.P90: p90, audit.P95: p95, audit.P99: p99} {
		if v >= 0 {
			r.Quantiles[l] = time.Duration(v * float64(ms))
		}
	}
	if mean >= 0 {
		d := time.Duration(mean * float64(ms))
		r.Mean = &d
	}
	return r
}

func TestCompare(t *testing.T) {
	t.Parallel()
	open := audit.Asked{Rate: 200, For: 20 * time.Second}
	for name, c := range map[string]struct {
		truth    string
		report   audit.Report
		asked    audit.Asked
		verdict  audit.Verdict
		standing string // of the rows in order: . agrees, < low, > high, - unsaid
		sentence string
		notes    string
	}{
		// These rows were measured before this test was written.
		"vegeta": {
			turn, said(4000, 0, 1.2, 15.6, 255, 455, 26.6), open, audit.Truthful, ".-...-.",
			"x tells the truth here: p50, p90, p95, p99 and mean agree with it.", "",
		},
		"wrk2": {
			turn, said(4000, 0, 1.9, 17.9, 262, 452, 27.7), open, audit.Truthful, ".-...-.", "tells the truth",
			"",
		},
		"k6 that dropped some": {
			turn, said(3914, 0, 1.2, 1.3, 232, 456, -1), open, audit.Truthful, ".-...--", "tells the truth",
			"It sent 3914 of the 4000 requests that it was asked for.",
		},
		"k6 that dropped many": {
			turn, said(3167, 0, 1.5, 11.8, 197, 457, 23), open, audit.Unjudged, ".-...-.",
			"x could not be judged: its figures are near the truth, but they cover only 3167 of the 4000 requests",
			"It sent 3167 of the 4000 requests that it was asked for.",
		},
		"oha that catches up": {
			turn, said(3998, 0, 1.2, 1.3, 1.3, 454, 5.9), open, audit.Untruthful, ".-.<.-<",
			"x reports a p95 of 1.30 ms where the truth is 252 ms: it sent every request, but measures each from " +
				"when it was sent, and not from when it was due.", "",
		},
		"hey that does not": {
			turn, said(3680, 0, 1.4, 1.7, 1.8, 496, 6.8), open, audit.Untruthful, ".-.<.-<",
			"x reports a p95 of 1.80 ms where the truth is 252 ms: it leaves out the requests that it did not send " +
				"while the service was stopped.",
			"It sent 3680 of the 4000 requests that it was asked for.",
		},
		"a closed loop": {
			turn, said(50000, 0, 1.5, 1.7, 1.78, 2.56, 1.7),
			audit.Asked{For: 20 * time.Second},
			audit.Untruthful, ".-.<<-<",
			"x reports a p99 of 2.56 ms where the truth is 452 ms: it sends the next request only after a " +
				"reply, so that few are sent while the service is stopped.", "",
		},
		"only the mean": {
			turn, said(4000, 0, -1, -1, -1, -1, 9), open, audit.Untruthful, "------<",
			"x reports a mean of 9.00 ms where the truth is 26.1 ms", "",
		},
		"slow itself": {
			turn, said(4000, 0, 30, 50, 280, 480, 55), open, audit.Untruthful, ">-...->",
			"x reports a p50 of 30.0 ms where the truth is 1.00 ms: its own delays, or those of this machine, are in " +
				"the number.", "",
		},
		"a time of nothing": {
			turn, said(4000, 0, 1, 1, 0, 454, -1), open, audit.Untruthful, ".-.<.--",
			"x reports a p95 of 0.00 µs", "",
		},

		"nothing sent": {
			turn, said(0, 0, 1, 1, 1, 1, 1), open, audit.Unjudged, "",
			"x could not be judged: it reports no requests.", "",
		},
		"no times": {
			turn, said(4000, 0, -1, -1, -1, -1, -1), open, audit.Unjudged, "",
			"it reports no answer times", "",
		},
		"errors": {
			turn, said(4000, 41, 1, 1, 1, 1, 1), open, audit.Unjudged, "",
			"41 of its 4000 requests got no correct reply", "",
		},
		"few errors": {
			turn, said(4000, 40, 1.2, 15.6, 255, 455, 26.6), open, audit.Truthful, ".-...-.",
			"tells the truth", "",
		},
		"few requests": {
			turn, said(199, 0, 1, 1, 250, 450, 26),
			audit.Asked{},
			audit.Unjudged, "",
			"it sent 199 requests and 200 are needed", "",
		},
		"less than a turn": {
			turn, said(800, 0, 1, 1, 1, 1, 1),
			audit.Asked{Rate: 200, For: 4 * time.Second},
			audit.Unjudged, "", "it ran for 4 s, and one period of the service is 5 s", "",
		},

		// A run of 7 s contains 0.5 to 1 s of the stop: 7 to 14 %.
		"part of a turn": {
			turn, said(1400, 0, 1, 200, 400, 480, 50),
			audit.Asked{Rate: 200, For: 7 * time.Second},
			audit.Truthful, ".-...-.", "tells the truth",
			"The run did not last a whole number of periods of 5 s, so that a level may be off by 4.3 percentage " +
				"points; run it for a multiple of the period.",
		},

		"no standstill": {
			"constant 20ms", said(4000, 0, 20.5, 21, 21, 22, 20.7), open, audit.Truthful, ".-...-.",
			"tells the truth", "",
		},
		"wrong without it": {
			"constant 20ms", said(4000, 0, 10, 10, 21, 22, 20.7), open, audit.Untruthful, "<-<..-.",
			"x reports a p50 of 10.0 ms where the truth is 20.0 ms: it does not report how long callers wait.", "",
		},
		"an endless law": {
			"exponential 20ms", said(4000, 0, 13.9, 46, 60, 92, 20), open, audit.Truthful, ".-...-.",
			"tells the truth", "",
		},
		"two kinds of calls": {
			"bimodal 10ms 50ms 0.8", said(4000, 0, 10.2, 50, 50, 51, 18), open, audit.Truthful,
			".-...-.", "tells the truth", "",
		},
	} {
		f := audit.Compare(audit.Run{Tool: "x", Report: c.report, Asked: c.asked, Took: 20 * time.Second},
			truthOf(t, c.truth))
		var standing strings.Builder
		for _, r := range f.Rows {
			standing.WriteString(map[audit.Standing]string{
				audit.Agrees: ".", audit.TooLow: "<", audit.TooHigh: ">",
				audit.Unsaid: "-",
			}[r.Standing])
		}
		if f.Verdict != c.verdict || standing.String() != c.standing || !strings.Contains(f.Sentence, c.sentence) ||
			strings.Join(f.Notes, " ") != c.notes {
			t.Errorf("%s: %s %s\n%q\n%q", name, f.Verdict, standing.String(), f.Sentence, f.Notes)
		}
	}
}

// The truth of the table above, computed from the closed form.
func TestTruthInTheRows(t *testing.T) {
	t.Parallel()
	f := audit.Compare(audit.Run{Tool: "x", Report: said(4000, 0, 1, 1, 1, 1, 1), Took: 20 * time.Second},
		truthOf(t, turn))
	want := map[string]float64{"p50": 1, "p75": 1, "p90": 2, "p95": 252, "p99": 452, "p99.9": 497, "mean": 26.1}
	for _, r := range f.Rows {
		if got := float64(r.Truth) / float64(ms); math.Abs(got-want[r.Name]) > 0.01 {
			t.Errorf("%s is %v ms, want %v", r.Name, got, want[r.Name])
		}
		if r.Low > r.Truth || r.High < r.Truth {
			t.Errorf("%s: %v is not within %v to %v", r.Name, r.Truth, r.Low, r.High)
		}
	}
}

func TestPlanned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		tool    string
		want    audit.Asked
		planned uint64
	}{
		{"hey -z 20s -q 20 -c 10 URL", "hey", audit.Asked{Rate: 200, For: 20 * time.Second}, 4000},
		{"hey -n 1000 -q 2 URL", "hey", audit.Asked{Rate: 100, Requests: 1000}, 1000},
		{"hey URL", "hey", audit.Asked{Requests: 200}, 0},
		{"/opt/bin/oha -z 20s -q 200 -c10 URL", "oha", audit.Asked{Rate: 200, For: 20 * time.Second}, 4000},
		{"oha -n 300 -q 10 URL", "oha", audit.Asked{Rate: 10, Requests: 300}, 300},
		{"ghz --rps 200 -c 10 -z 20s ADDR", "ghz", audit.Asked{Rate: 200, For: 20 * time.Second}, 4000},
		{"ghz --rps=200 --total=4000 ADDR", "ghz", audit.Asked{Rate: 200, Requests: 4000}, 4000},
		{"ghz ADDR", "ghz", audit.Asked{Requests: 200}, 0},
		{"nice -n 5 h2load -n4000 -c10 --rps=20 URL", "h2load", audit.Asked{Rate: 200, Requests: 4000}, 4000},
		{"h2load -D 20 -c 10 --rps 20 URL", "h2load", audit.Asked{Rate: 200, For: 20 * time.Second}, 4000},
		{
			"echo GET URL | vegeta attack -rate=200/s -duration=20s | vegeta report", "vegeta",
			audit.Asked{Rate: 200, For: 20 * time.Second},
			4000,
		},
		{"vegeta attack -rate 12000/1m -duration 20s", "vegeta", audit.Asked{Rate: 200, For: 20 * time.Second}, 4000},
		{"vegeta attack -duration 20s", "vegeta", audit.Asked{Rate: 50, For: 20 * time.Second}, 1000},
		{"fortio load -qps 200 -t 20s URL", "fortio", audit.Asked{Rate: 200, For: 20 * time.Second}, 4000},
		{"fortio load URL", "fortio", audit.Asked{Rate: 8, For: 5 * time.Second}, 40},
		{"fortio load -qps 0 -n 400 URL", "fortio", audit.Asked{Requests: 400}, 0},
		{"k6 run -e RATE=200 -e DURATION=20s s.js", "k6", audit.Asked{Rate: 200, For: 20 * time.Second}, 4000},
		{"wrk -t2 -c10 -d20s URL", "wrk", audit.Asked{For: 20 * time.Second}, 0},
		{"wrk -t2 -c10 -d20s -R200 URL", "wrk2", audit.Asked{Rate: 200, For: 20 * time.Second}, 4000},
		{"wrk2 --rate 200 --duration 20 URL", "wrk2", audit.Asked{Rate: 200, For: 20 * time.Second}, 4000},
		{"'my tools/hey' -z \"20s\" -q 20 -c 10", "hey", audit.Asked{Rate: 200, For: 20 * time.Second}, 4000},
	} {
		words := audit.Words(c.command)
		p, ok := audit.ParserOf(words)
		if got := p.Asked(words); !ok || p.Name != c.tool || got != c.want || got.Planned() != c.planned {
			t.Errorf("%s: %s %+v %d", c.command, p.Name, got, got.Planned())
		}
	}
	for _, none := range []string{"", "siege -c 10 URL", "./heyo URL", "cat hey.txt"} {
		if p, ok := audit.ParserOf(audit.Words(none)); ok {
			t.Errorf("%q is of %s", none, p.Name)
		}
	}
}

// A busy machine does not count against a tool, but it cannot make a caller wait less.
func TestControlClient(t *testing.T) {
	t.Parallel()
	busy, calm := said(400, 0, 3, 6, 260, 460, 29), said(400, 0, 1.2, 2.2, 252, 452, 26)
	for name, c := range map[string]struct {
		report        audit.Report
		controlClient *audit.Report
		verdict       audit.Verdict
		say           string
	}{
		"both slow": {
			said(4000, 0, 2.6, 16, 258, 458, 28), &busy, audit.Unjudged,
			"x could not be judged: it reports a p50 of 2.60 ms where the truth is 1.00 ms, but the control client " +
				"measured a p50 of 3.00 ms at the same time: this machine is too busy.",
		},
		"only the tool slow": {
			said(4000, 0, 2.6, 16, 258, 458, 28), &calm, audit.Untruthful,
			"x reports a p50 of 2.60 ms",
		},
		"slow without witness": {
			said(4000, 0, 2.6, 16, 258, 458, 28), nil, audit.Untruthful,
			"x reports a p50 of 2.60 ms",
		},
		"too low on a busy machine": {
			said(4000, 0, 2.6, 3.3, 8.5, 504, 8.9), &busy, audit.Untruthful,
			"x reports a p95 of 8.50 ms where the truth is 252 ms: it sent every request",
		},
		"right on a busy machine": {said(4000, 0, 1.8, 16, 258, 458, 28), &busy, audit.Truthful, "tells the truth"},
		"slow elsewhere": {
			said(4000, 0, 1.2, 90, 258, 458, 28), &busy, audit.Unjudged,
			"it reports a p90 of 90.0 ms where the truth is 2.00 ms, but the control client measured a p50 of " +
				"3.00 ms",
		},
		"too low and too high": {
			said(4000, 0, 50, 55, 60, 458, 28), &calm, audit.Untruthful,
			"x reports a p50 of 50.0 ms",
		},
		"both, and busy": {
			said(4000, 0, 50, 55, 60, 458, 28), &busy, audit.Untruthful,
			"x reports a p95 of 60.0 ms",
		},
	} {
		run := audit.Run{
			Tool: "x", Report: c.report, ControlClient: c.controlClient,
			Asked: audit.Asked{Rate: 200, For: 20 * time.Second},
		}
		if f := audit.Compare(run, truthOf(t, turn)); f.Verdict != c.verdict || !strings.Contains(f.Sentence, c.say) {
			t.Errorf("%s: %s: %s", name, f.Verdict, f.Sentence)
		}
	}
}
