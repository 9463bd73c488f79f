package terminal_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/history"
	"wirelab/lab/result/resulttest"
	bounds "wirelab/lab/result/threshold"
	"wirelab/lab/stat"
	"wirelab/results/report"
	"wirelab/results/report/terminal"
)

// kind is a made-up result with its short answer: to analyse one takes long.
type kind struct {
	*result.Result
	summary report.Summary
}

// kinds is one of each kind of load.
var kinds = sync.OnceValue(func() map[string]kind {
	all := examples()
	all["six"], all["busy"] = six(), busy()
	all["alone"], all["alone-loads"], all["alone-failed"], all["alone-busy"] = alone(1), alone(1, 10, 50), failed(),
		held()
	all["two"], all["operations"], all["pipeline"] = resulttest.Two(), resulttest.Operations(), resulttest.Pipeline()
	all["curve"], all["capacity"] = resulttest.Curves(), resulttest.Capacity()
	found := map[string]kind{}
	for name, r := range all {
		a := analyse.Result(r)
		found[name] = kind{r, report.Summarise(r, &a, nil)}
	}
	return found
})

// six returns six arms under two loads, as many as one screen must hold.
func six() *result.Result {
	arms := append(resulttest.Arms(),
		resulttest.Arm{
			Name: "http1-json", Protocol: "http1-json", ServerCPU: 31000, ClientCPU: 29000,
			Response: 80 * time.Microsecond, Sent: 260, Received: 240, ServerAllocs: 60, ClientAllocs: 61,
		},
		resulttest.Arm{
			Name: "h2c-proto", Protocol: "h2c-proto", Multiplexed: true, ServerCPU: 29000, ClientCPU: 25000,
			Response: 70 * time.Microsecond, Sent: 130, Received: 110, ServerAllocs: 33, ClientAllocs: 37,
		},
		resulttest.Arm{
			Name: "http3-proto", Protocol: "http3-proto", Server: "quic-go", Client: "quic-go",
			Multiplexed: true, ServerCPU: 72000, ClientCPU: 58000, Response: 150 * time.Microsecond, Sent: 180,
			Received: 160, ServerAllocs: 71, ClientAllocs: 80,
		})
	return resulttest.Make(resulttest.Setting{
		Name: "quick", About: "What does one small request cost over six wires?", Arms: arms,
		Loads: []plan.Load{{InFlight: 1}, {InFlight: 50}}, Rounds: 12, Seed: 0x51c5,
	})
}

// busy returns [six] where the driver of four arms had no CPU to spare with 50
// calls in flight.
func busy() *result.Result {
	r := six()
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if t := &r.Rounds[n].Trials[i]; t.Load == 1 && t.Arm >= 2 {
				t.Driver.CPU = plan.Duration(0.95 * float64(t.Driver.Wall))
			}
		}
	}
	return r
}

// alone returns one arm whose server is not ours, under loads of so many calls in flight.
func alone(inFlight ...int) *result.Result {
	arm := resulttest.Arm{
		Name: "http://localhost:8080/items", Protocol: "http1-json", ClientCPU: 12000, Response: 310 * time.Microsecond,
		Sent: 81, Received: 283, ClientAllocs: 1,
	}
	s := resulttest.Setting{
		Name: "load", About: "How fast does it answer?", Arms: []resulttest.Arm{arm}, Rounds: 12,
		Seed: 0x10ad,
	}
	for _, n := range inFlight {
		s.Loads = append(s.Loads, plan.Load{InFlight: n})
	}
	r := resulttest.Make(s)
	r.Plan.Arms[0].Target = "localhost:8080"
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			r.Rounds[n].Trials[i].Server = nil
		}
	}
	return r
}

// failed returns [alone] where some calls got no answer that counts.
func failed() *result.Result {
	r := alone(10)
	for n := range r.Rounds {
		t := &r.Rounds[n].Trials[0]
		t.Errors = map[string]uint64{"unavailable": 7}
		t.Causes = stat.Causes{{
			Kind: "unavailable", Cause: "status 503", Count: 7,
			First: "status 503 Service Unavailable",
		}}
		t.Sent += 7
	}
	return r
}

// held returns [alone] where the driver had to wait for others.
func held() *result.Result {
	r := alone(10)
	for n := range r.Rounds {
		t := &r.Rounds[n].Trials[0]
		t.Driver.CPU = plan.Duration(0.95 * float64(t.Driver.Wall))
	}
	return r
}

func written(t *testing.T, summary report.Summary, columns int) string {
	t.Helper()
	var out strings.Builder
	if err := terminal.WriteSummary(&out, summary, terminal.Style{Width: columns}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSummaryGolden(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, r := range kinds() {
		golden(t, filepath.Join("summary", name+"-80"), written(t, r.summary, 80))
		if slices.Contains([]string{"messages", "pipeline", "long-names"}, name) { // of which more columns have room
			golden(t, filepath.Join("summary", name+"-100"), written(t, r.summary, 100))
		}
	}
}

// numeral finds the marks of reasons.
var numeral = regexp.MustCompile("[¹²³⁴⁵⁶⁷⁸⁹]")

// unmarked finds a dash in place of a figure without one.
var unmarked = regexp.MustCompile(`(?m)–( |$)`)

// No line is wider than the terminal. Six arms under two loads fit on one screen.
// A refused figure is a mark, and its reason is there once.
func TestSummaryFitsAnyTerminal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, r := range kinds() {
		for columns := 60; columns <= 120; columns++ {
			var plain, color strings.Builder
			if err := errors.Join(
				terminal.WriteSummary(&plain, r.summary, terminal.Style{Width: columns}),
				terminal.WriteSummary(&color, r.summary, terminal.Style{Width: columns, Color: true}),
			); err != nil {
				t.Fatal(err)
			}
			text := plain.String()
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if n := utf8.RuneCountInString(line); n > columns || strings.TrimRight(line, " ") != line {
					t.Errorf("%s: %d columns in %d: %q", name, n, columns, line)
				}
			}
			small := len(r.Plan.Arms) <= 6 && len(r.Plan.Loads) <= 2
			if n := strings.Count(text, "\n"); small && columns >= 80 && n > 40 {
				t.Errorf("%s: %d lines at %d columns:\n%s", name, n, columns, text)
			}
			if strings.Contains(text, "invalid") {
				t.Errorf("%s: says invalid:\n%s", name, text)
			}
			checkMarks(t, name, text)
			bare := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(color.String(), "")
			if bare = regexp.MustCompile(`(?m) +$`).ReplaceAllString(bare, ""); bare != text || bare == color.String() {
				t.Errorf("%s at %d: colour changes more than colours", name, columns)
			}
		}
	}
}

// checkMarks checks that each mark in a text has one line that begins with it.
func checkMarks(t *testing.T, name, text string) {
	t.Helper()
	begins := map[string]int{}
	for line := range strings.Lines(text) {
		if at := numeral.FindStringIndex(line); at != nil && at[0] == 0 {
			begins[line[:at[1]]]++
		}
	}
	if dash := unmarked.FindString(text); dash != "" && name != "curve" { // whose reasons are not one for a figure
		t.Errorf("%s: a figure is missing without a mark:\n%s", name, text)
	}
	for _, mark := range numeral.FindAllString(text, -1) {
		if begins[mark] != 1 {
			t.Errorf("%s: %d reasons for %s:\n%s", name, begins[mark], mark, text)
			return
		}
	}
}

// No figure of an arm that failed a gate reaches the summary, and the reason that
// several arms share is said once.
func TestSummaryRefuses(t *testing.T) {
	t.Parallel()
	text := written(t, kinds()["troubled"].summary, 120)
	lines := 0
	for line := range strings.Lines(text) {
		for _, arm := range []string{"grpc ", "h2c-proto ", "http3-proto "} {
			if rest, ok := strings.CutPrefix(line, arm); ok && strings.Contains(rest, "–") {
				lines++
				if strings.ContainsAny(rest, "0123456789") {
					t.Errorf("%s is refused and has figures: %q", arm, line)
				}
			}
		}
	}
	if lines != 3 {
		t.Errorf("%d lines looked at:\n%s", lines, text)
	}
	text = written(t, kinds()["busy"].summary, 100)
	if n := strings.Count(text, "generator"); n != 1 {
		t.Errorf("the generator is mentioned %d times:\n%s", n, text)
	}
	text = strings.Join(strings.Fields(text), " ")
	for _, want := range []string{"¹ refused: requests/s, p50 and p99 of 4 arms (50 calls in flight): the load " +
		"generator was too busy (95 %, limit 70 %); try: --driver raw"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}

// Where nothing may be claimed the first sentence says so, and where nothing was
// refused no word of it is there.
func TestSummaryBegins(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"short": "Nothing can be claimed yet: 3 rounds have both arms",
		"none":  "Nothing can be claimed: nothing was measured.",
		"two": "With 1 call in flight, grpc costs the server 32 % more CPU per request than http1-proto (95 % CI 30 " +
			"to 34 %).",
	} {
		text := strings.Join(strings.Fields(written(t, kinds()[name].summary, 80)), " ")
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s begins %.200q, want %q", name, text, want)
		}
	}
	if text := written(t, kinds()["six"].summary, 80); strings.Contains(text, "refused") ||
		strings.Contains(text, "–") {
		t.Errorf("nothing was refused:\n%s", text)
	}
}

// How a result stands against thresholds is the first thing that is said.
func TestSummaryBeginsWithThresholds(t *testing.T) {
	t.Parallel()
	r := kinds()["closed"].Result
	a := analyse.Result(r)
	threshold, err := bounds.ParseThreshold("cpu/req > +3%")
	if err != nil {
		t.Fatal(err)
	}
	j := bounds.Judge(r, &a, []bounds.Threshold{threshold})
	var out strings.Builder
	if err := terminal.WriteSummary(&out, report.Summarise(r, &a, &j), terminal.Style{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text,
		"Fail (2 of 4): server CPU per request of grpc, with 1 call in flight") ||
		!strings.Contains(text, "\n· server CPU per request of grpc, with 50 calls") {
		t.Errorf("%s", text)
	}
}

func TestSummaryOfMadeUpResults(t *testing.T) {
	t.Parallel()
	closed := resulttest.Closed().Plan
	for _, r := range []*result.Result{
		{},
		{Rounds: make([]result.Round, 3)},
		{Plan: closed},
		{Plan: closed, Rounds: []result.Round{{Trials: []result.Trial{{}, {Arm: 77}, {Load: -1}}}}},
	} {
		a := analyse.Result(r)
		written(t, report.Summarise(r, &a, nil), 0)
	}
}

// The short forms that are about no arm in particular fit any terminal too, and
// one screen.
func TestOtherSummaries(t *testing.T) {
	t.Parallel()
	factorial, ways := resulttest.Factorial(7, planted()), resulttest.FourWays(12)
	partial := resulttest.Factorial(7, planted(), "grpc-json", "grpc-tls-json")
	closed, short := kinds()["closed"].Result, kinds()["short"].Result
	explained := func(r *result.Result) report.Summary {
		a := analyse.Result(r)
		e, err := explain.Between(r, &a, "", "")
		if err != nil {
			t.Fatal(err)
		}
		return report.SummariseExplained(r, &a, e)
	}
	agreed := func(was, here *result.Result) report.Summary {
		a, b := analyse.Result(was), analyse.Result(here)
		agreement := history.Agree(&a, &b, was.Environment, here.Environment)
		return report.SummariseAgreement(was, here, &agreement)
	}
	decided := analyse.Result(ways)
	for name, c := range map[string]struct {
		summary report.Summary
		has     []string
	}{
		"explain": {
			explained(factorial),
			[]string{
				"grpc-proto costs the server 15 % less CPU per request than http1-json (95 % CI 14 to 17 %). Of " +
					"that: transport +14.3 points, framing +3.5 points and encoding −33.1 points.",
				"One pair of factors acts together",
			},
		},
		"explain-partial": {explained(partial), []string{"gRPC vs HTTP/1.1"}},
		"replay":          {agreed(closed, closed), []string{"All 4 primary conclusions hold here."}},
		"replay-short": {
			agreed(closed, short),
			[]string{
				"0 hold here, 0 contradicted, 4 not decided",
				"44 conclusions not decided here: 3 rounds have both arms",
			},
		},
		"decide": {
			report.SummariseDecisions(ways.ID, report.Decisions(ways, &decided, nil)),
			[]string{
				"most entries stored per second: log-nats°", "° answers before the entry is durable",
				"not measured: what happens in",
			},
		},
	} {
		for _, columns := range []int{60, 80, 100, 120} {
			text := written(t, c.summary, columns)
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
					t.Errorf("%s: %d columns in %d: %q", name, n, columns, line)
				}
			}
			if n := strings.Count(text, "\n"); columns >= 80 && n > 40 || strings.Contains(text, "invalid") {
				t.Errorf("%s: %d lines at %d columns:\n%s", name, n, columns, text)
			}
			for _, want := range c.has {
				if !strings.Contains(one(text), want) {
					t.Errorf("%s lacks %q:\n%s", name, want, text)
				}
			}
			if columns == 80 && testing.Verbose() {
				t.Logf("%s\n%s", name, text)
			}
		}
	}
}
