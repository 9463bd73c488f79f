package report_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

// ways are the results of two ways that were published, of which the first opened a
// connection for each call and the second kept its own, with calls of some median.
func ways(published ...plan.Published) *result.Result {
	r := resulttest.Make(resulttest.Setting{
		Name: "ways", Loads: []plan.Load{{InFlight: 50}}, Rounds: 12, Seed: 7,
		Arms: []resulttest.Arm{
			{
				Name: "http as published", Protocol: "log-http-published", Encoding: "JSON", ServerCPU: 60_000,
				ClientCPU: 20_000, Response: 300 * time.Microsecond,
			},
			{
				Name: "http", Protocol: "log-http", Encoding: "JSON", ServerCPU: 30_000, ClientCPU: 20_000,
				Response: 100 * time.Microsecond,
			},
		},
	})
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			t.Connections, t.Open = t.Sent, 50
			if t.Arm == 1 {
				t.Connections, t.Open = 3, 10
			}
		}
	}
	r.Plan.Deadline = plan.Duration(10 * time.Second)
	r.Plan.Published = published
	return r
}

// spaceless writes a page without its layout, so that a sentence can be looked for.
func spaceless(text string) string {
	text = regexp.MustCompile("<[^>]*>|\u00a0|\u2060").ReplaceAllString(text, " ")
	return strings.Join(strings.Fields(strings.NewReplacer("**", "", "\\", "").Replace(text)), " ")
}

// What a report says of a published flaw follows from the arm: of one that opened a
// connection for each call it does not say that this is there and not here.
func TestFlawsAreLookedForInTheArm(t *testing.T) {
	t.Parallel()
	flaws := []string{"ms-M02", "ms-M03", "ms-M08"}
	r := ways(
		plan.Published{Source: "a write-up", Machine: "m", Arm: "http as published", Rate: 4923.34, Flaws: flaws},
		plan.Published{Source: "a write-up", Machine: "m", Arm: "http", Rate: 7778.22, Flaws: flaws},
	)
	for form, text := range pages(t, r) {
		if form != "terminal" && form != "markdown" && form != "html" {
			continue
		}
		text = spaceless(text)
		if strings.Contains(text, "a flaw there and not here") {
			t.Errorf("%s says of all arms that the flaws are not here", form)
		}
		for _, want := range []string{
			"Flaws of the published measurement, here as well", "Flaws of the published measurement, not here",
			"the arm does as the published client did", "connections opened for",
			"50 calls in flight, since that was the question",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", form, want)
			}
		}
	}
	a := analyse.Result(r)
	for title, want := range map[string][]string{
		"Flaws of the published measurement, here as well": {
			"http as published: replies not read", "http as published: two channels",
			"a closed loop",
		},
		"Flaws of the published measurement, not here": {"http: replies not read", "http: two channels"},
	} {
		lines := partOf(r, &a, title)
		for _, start := range want {
			if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, start) }) {
				t.Errorf("%s: no line begins with %q: %q", title, start, lines)
			}
		}
		if len(lines) != len(want) {
			t.Errorf("%s: %q", title, lines)
		}
	}
}

// partOf are the lines under a title.
func partOf(r *result.Result, a *claim.Analysis, title string) []string {
	for _, part := range report.PublishedParts(r, a) {
		if part.Title == title {
			return part.Lines
		}
	}
	return nil
}

// Unequal connections are found from the connections held, and a single run from the number of rounds.
func TestFlawsFollowWhatWasCounted(t *testing.T) {
	t.Parallel()
	figure := func(arm string) plan.Published {
		return plan.Published{
			Source: "s", Machine: "m", Arm: arm, Rate: 100,
			Flaws: []string{"grb-M04", "grb-M12", "hb-M13"},
		}
	}
	look := func(r *result.Result, title, start string) string {
		a := analyse.Result(r)
		for _, line := range partOf(r, &a, title) {
			if strings.Contains(line, start) {
				return line
			}
		}
		return ""
	}
	r := ways(figure("http as published"), figure("http"))
	if line := look(r, "Flaws of the published measurement, here as well", "grb-M04"); !strings.Contains(line,
		"50 of http as published and 10 of http") {
		t.Errorf("%q", line)
	}
	if line := look(r, "Flaws of the published measurement, not here", "grb-M12"); !strings.Contains(line, "12 rounds") {
		t.Errorf("%q", line)
	}
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			r.Rounds[n].Trials[i].Open = 8
		}
	}
	if line := look(r, "Flaws of the published measurement, not here", "grb-M04"); !strings.Contains(line,
		"each arm held 8 connections") {
		t.Errorf("%q", line)
	}
	r.Rounds = r.Rounds[:1]
	const flaws = "Flaws of the published measurement, here as well"
	if line := look(r, flaws, "grb-M12"); !strings.Contains(line, "one round") {
		t.Errorf("%q", line)
	}
	m := resulttest.Messages()
	m.Plan.Published = []plan.Published{figure("rabbitmq-default"), figure("rabbitmq")}
	if line := look(m, flaws, "hb-M13"); !strings.HasPrefix(line, "rabbitmq-default: ") {
		t.Errorf("%q", line)
	}
	r.Rounds = nil
	if line := look(r, "Flaws of the published measurement that this run cannot show", "grb-M12"); !strings.Contains(line,
		"nothing was measured") {
		t.Errorf("%q", line)
	}
}

// Of every flaw that presets may name something here looks for it, and says what it does to a figure.
func TestEveryFlawIsLookedFor(t *testing.T) {
	t.Parallel()
	for _, r := range []*result.Result{ways(), resulttest.Messages(), resulttest.Streams(), resulttest.Pipeline()} {
		r.Plan.Published = nil
		for _, id := range plan.FlawIDs() {
			if plan.FlawEffect(id) == "" {
				t.Errorf("%s has no effect", id)
			}
			for i := range r.Plan.Arms {
				r.Plan.Published = append(r.Plan.Published, plan.Published{
					Source: "s", Machine: "m", Arm: r.ArmName(i),
					Rate: 5, Flaws: []string{id},
				})
			}
		}
		a := analyse.Result(r)
		found := map[string]int{}
		for _, part := range report.PublishedParts(r, &a) {
			for _, line := range part.Lines {
				if strings.Contains(line, "nothing here looks for it") {
					t.Error(line)
				}
				if id := regexp.MustCompile(`[a-z]+-M[0-9]{2}`).FindString(line); strings.HasPrefix(part.Title,
					"Flaws of") {
					found[id]++
				}
			}
		}
		if len(found) != len(plan.FlawIDs()) {
			t.Errorf("of %d flaws the report names %d", len(plan.FlawIDs()), len(found))
		}
	}
}

// The published order is compared with ours in a sentence: the same, another, or not to be told.
func TestPublishedOrder(t *testing.T) {
	t.Parallel()
	figures := func(first, second float64) []plan.Published {
		return []plan.Published{
			{Source: "s", Machine: "m", Arm: "http as published", Rate: first}, {
				Source: "s", Machine: "m", Arm: "http",
				Rate: second,
			},
		}
	}
	whole, few := ways(figures(10, 20)...), ways(figures(10, 20)...)
	few.Rounds = few.Rounds[:3]
	refused := resulttest.Refuse(ways(figures(10, 20)...))
	near := ways(figures(10, 11)...)
	for i := range near.Plan.Published {
		near.Plan.Published[i].PlusMinus = 1
	}
	for _, c := range []struct {
		r    *result.Result
		want string
	}{
		{whole, "published: http, then http as published. It is the same here."},
		{ways(figures(20, 10)...), "published: http as published, then http. It is the other way round here."},
		{few, "published: http, then http as published. Here nothing can be said about it: fewer than 10 rounds."},
		{refused, "published: http, then http as published. Here nothing can be said about it: there is no valid figure " +
			"for http."},
		{near, "published: no two can be told apart."},
	} {
		a := analyse.Result(c.r)
		lines := partOf(c.r, &a, "The published order, measured here")
		if len(lines) != 1 || !strings.HasSuffix(lines[0], c.want) {
			t.Errorf("%q; want %q", lines, c.want)
		}
		if brief := report.PublishedBrief(c.r, &a); !strings.Contains(brief, c.want) {
			t.Errorf("in short %q", brief)
		}
		short := report.Summarise(c.r, &a, nil)
		if !strings.Contains(strings.Join(short.Trust, " "), c.want) {
			t.Errorf("the short answer does not say it: %q", short.Trust)
		}
	}
}

// What flaws are worth is said where two arms show it, and never from a refused figure.
func TestContrasts(t *testing.T) {
	t.Parallel()
	r := ways(plan.Published{Source: "s", Machine: "m", Arm: "http", Rate: 1})
	r.Plan.Primary = plan.ResponseMean
	r.Plan.Contrasts = []plan.Contrast{{
		Flaws: []string{"ms-M03", "ms-M04"}, With: "http as published",
		Without: "http",
	}}
	a := analyse.Result(r)
	lines := partOf(r, &a, "The effect of flaws, measured here")
	form := regexp.MustCompile(`^http as published against http \(ms-M03, ms-M04\): (2\.9|3\.0|3\.1)[0-9]? × the mean response time, which is worse \([0-9.]+ to [0-9.]+ ×; `)
	if len(lines) != 1 || !form.MatchString(lines[0]) {
		t.Errorf("%q", lines)
	}
	resulttest.Refuse(r)
	a = analyse.Result(r)
	shown := a.WithRefused()
	for _, analysis := range []*claim.Analysis{&a, shown} {
		if lines := partOf(r, analysis, "The effect of flaws, measured here"); len(lines) != 1 || !strings.HasSuffix(lines[0],
			"size unknown, since one of them has no valid figure.") {
			t.Errorf("%q", lines)
		}
	}
}

// Arms of which none is the first are compared by their intervals, and the right way round.
func TestAdviceBetweenOtherArms(t *testing.T) {
	t.Parallel()
	r := resulttest.Make(resulttest.Setting{
		Name: "three", Loads: []plan.Load{{InFlight: 50}}, Rounds: 12, Seed: 7,
		Arms: []resulttest.Arm{
			{Name: "a", Protocol: "grpc", ServerCPU: 30_000, ClientCPU: 20_000, Response: 80 * time.Microsecond},
			{Name: "b", Protocol: "grpc", ServerCPU: 30_000, ClientCPU: 20_000, Response: 100 * time.Microsecond},
			{Name: "c", Protocol: "grpc", ServerCPU: 30_000, ClientCPU: 20_000, Response: 300 * time.Microsecond},
		},
	})
	for _, metric := range []string{plan.Throughput, plan.ResponseMean} {
		r.Plan.Advice = append(r.Plan.Advice, plan.Advice{Use: "any", Says: "c", Arm: "c", Over: "b", Metric: metric})
	}
	a := analyse.Result(r)
	for _, line := range partOf(r, &a, "What the source recommends") {
		if !strings.Contains(line, "it does not hold: the other is better") {
			t.Errorf("%q", line)
		}
	}
}

// A published recommendation is held to what was measured.
func TestAdvice(t *testing.T) {
	t.Parallel()
	r := ways(plan.Published{Source: "s", Machine: "m", Arm: "http", Rate: 1})
	r.Plan.Advice = []plan.Advice{
		{Use: "speed", Says: "http", Arm: "http", Over: "http as published", Metric: plan.Throughput},
		{Use: "patience", Says: "the other", Arm: "http as published", Over: "http", Metric: plan.ResponseMean},
		{Use: "streams", Says: "either", Arm: "http", Over: "http as published", Either: true, Metric: plan.Throughput},
		{Use: "taste", Says: "http", Missing: "since it is a matter of taste"},
	}
	a := analyse.Result(r)
	lines := partOf(r, &a, "What the source recommends")
	want := []string{
		"speed → http. Here: it holds (throughput of http ",
		"patience → the other. Here: it does not hold: the other is better (mean response time of ",
		"streams → either. Here: it does not hold: http is better (",
		"taste → http. Here: no measurement shows this, since it is a matter of taste.",
	}
	for i := range want {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want[i]) {
			t.Fatalf("%q; want %q", lines, want)
		}
	}
	resulttest.Refuse(r)
	a = analyse.Result(r)
	if lines := partOf(r, &a, "What the source recommends"); !strings.Contains(lines[0], "nothing can be said") {
		t.Errorf("%q", lines)
	}
}

// A published table is shown whole: to the digit, with its share of the first row, the
// shortest and longest time, and the rows that cannot be compared with any arm here.
func TestPublishedTable(t *testing.T) {
	t.Parallel()
	r := ways(
		plan.Published{Source: "s", Machine: "m", Row: "gRPC", Arm: "http as published", Rate: 977.32},
		plan.Published{Source: "s", Machine: "m", Row: "REST", Arm: "http", Rate: 842.68, PlusMinus: 9.5},
		plan.Published{Source: "s", Machine: "m", Row: "Rust", Rate: 1352.56, Missing: "none is driven here"},
		plan.Published{
			Source: "s", Machine: "m", Row: "gRPC", Arm: "http", Mean: 9703734, Min: 740_000,
			Max: 44_760_000,
		},
	)
	r.Plan.Notes = []string{"Theirs was answered in JSON."}
	a := analyse.Result(r)
	rows := report.Published(r, &a)
	type row struct{ arm, theirs, theirShare string }
	var got []row
	for _, one := range rows {
		got = append(got, row{one.Arm, one.Theirs, one.TheirShare})
	}
	want := []row{
		{"gRPC: http as published", "977.32/s", "100 %"},
		{"REST: http", "842.68 ± 9.5/s", "86 %"},
		{
			"Rust", "1,352.56/s",
			"138 %",
		},
		{"gRPC: http", "9.703734 ms", ""},
		{"", "from 0.74 to 44.76 ms", ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if rows[2].Ours != "no such arm" || rows[1].OurShare == "" || !strings.HasPrefix(rows[4].Ours, "from ") {
		t.Errorf("%+v", rows)
	}
	for form, text := range pages(t, r) {
		if form == "terminal" || form == "markdown" || form == "html" {
			text = spaceless(text)
			for _, want := range []string{
				"842.68 ± 9.5/s", "86 %", "1,352.56/s", "no such arm", "from 0.74 to 44.76 ms",
				"none is driven here", "Theirs was answered in JSON.",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%s lacks %q", form, want)
				}
			}
		}
	}
	// Without published figures the notes are shown all the same.
	r.Plan.Published = nil
	for form, text := range pages(t, r) {
		if (form == "terminal" || form == "markdown" || form == "html") && !strings.Contains(spaceless(text),
			"Theirs was answered in JSON.") {
			t.Errorf("%s lacks the note of a plan without published figures", form)
		}
	}
}

// What differs besides is named: software and its language, and the machine.
func TestDifferencesAreNamed(t *testing.T) {
	t.Parallel()
	r := ways(plan.Published{
		Source: "s", Machine: "MacBookPro12,1", Software: "http4s, Scala on JDK 8", Arm: "http",
		Rate: 1,
	})
	a := analyse.Result(r)
	text := strings.Join(partOf(r, &a, "What else differs"), " ")
	for _, want := range []string{
		"Software there: http4s, Scala on JDK 8. Here: net/http; Go 1.26.8.",
		"Machine there: MacBookPro12,1. Here: Example CPU", "not one of protocols alone",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}
