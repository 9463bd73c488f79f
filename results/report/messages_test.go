package report_test

import (
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
	"wirelab/results/report/benchfmt"
	"wirelab/results/report/csv"
	"wirelab/results/report/html"
	"wirelab/results/report/jmh"
	"wirelab/results/report/json"
	"wirelab/results/report/markdown"
	"wirelab/results/report/terminal"
)

const early = "rabbitmq-default"

// pages are forms for people, each of a result.
func pages(t *testing.T, r *result.Result) map[string]string {
	t.Helper()
	all := map[string]string{}
	a := analyse.Result(r)
	write := func(name string, form func(*strings.Builder) error) {
		var out strings.Builder
		if err := form(&out); err != nil {
			t.Fatal(err)
		}
		all[name] = out.String()
	}
	write("terminal", func(w *strings.Builder) error { return terminal.Write(w, r, terminal.Style{Width: 80}) })
	write("wide terminal", func(w *strings.Builder) error { return terminal.Write(w, r, terminal.Style{Width: 200}) })
	write("markdown", func(w *strings.Builder) error { return markdown.Write(w, r) })
	write("comment", func(w *strings.Builder) error { return markdown.WriteComment(w, r, &a, nil) })
	write("benchmarks", func(w *strings.Builder) error { return benchfmt.Write(w, r) })
	write("html", func(w *strings.Builder) error { return html.Write(w, r) })
	return all
}

// Wherever an arm that acknowledges before a message is on disk is named, the mark
// is behind its name, and every page says what it means; no other arm has it.
func TestEarlyArmsAreMarkedEverywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for name, r := range map[string]*result.Result{
		"live":      resulttest.Messages(),
		"scenarios": resulttest.MessageScenarios(),
	} {
		for form, text := range pages(t, r) {
			// "° rabbitmq-default: acknowledges …" says what the mark means, and has it before the name.
			text = strings.ReplaceAll(text, "° "+early+":", "MEANING")
			if named, marked := strings.Count(text, early),
				strings.Count(text, early+"°")+strings.Count(text, early+"%C2%B0"); named == 0 || named != marked {
				i := strings.Index(strings.ReplaceAll(strings.ReplaceAll(text, early+"°",
					strings.Repeat("-", len(early)+2)), early+"%C2%B0", strings.Repeat("-", len(early)+6)), early)
				t.Errorf("%s, %s: %d names, %d with the mark: %q", name, form, named, marked,
					text[max(0, i-80):min(len(text), i+80)])
			}
			if !strings.Contains(text, "MEANING") {
				t.Errorf("%s, %s: nothing says what the mark means", name, form)
			}
			for _, other := range []string{"hermes-grpc-stream°", "nats-jetstream°"} {
				if strings.Contains(text, other) {
					t.Errorf("%s, %s: %s acknowledges in time", name, form, other)
				}
			}
		}
	}
	if plain := resulttest.Two(); strings.Contains(pages(t, plain)["terminal"], "°") {
		t.Error("calls have the mark")
	}
}

// An arm whose time of acknowledgement is unknown is not taken for one that waits.
func TestUnknownAcknowledgementsAreMarked(t *testing.T) {
	t.Parallel()
	r := resulttest.Messages()
	r.Arms[0].Guarantee = nil
	a := analyse.Result(r)
	marked, said := report.Marked(r, &a)
	if got := said.Loads[0].Arms[0].Name; got != "hermes-grpc-stream°" || marked.ArmName(0) != got ||
		r.ArmName(0) != "hermes-grpc-stream" || a.Loads[0].Arms[0].Name != "hermes-grpc-stream" {
		t.Errorf("%q", got)
	}
	again, _ := report.Marked(marked, said)
	if got := again.ArmName(0); got != "hermes-grpc-stream°" {
		t.Errorf("marked again: %q", got)
	}
	if legend := strings.Join(report.EarlyLegend(r), "; "); !strings.Contains(legend,
		"hermes-grpc-stream: when its acknowledgements are durable is not known") ||
		!strings.Contains(legend, early+": acknowledges before") {
		t.Errorf("%q", legend)
	}
	if said := report.Sentence(r.Plan, &a.Loads[0]); !strings.Contains(said, "hermes-grpc-stream°") ||
		!strings.Contains(said, early+"° is fastest") || !strings.Contains(said, "(°: ") {
		t.Errorf("%q", said)
	}
}

// Forms for programs say it in a field of the same row.
func TestEarlyArmsInData(t *testing.T) {
	t.Parallel()
	var table, document strings.Builder
	r := resulttest.Messages()
	if err := csv.Write(&table, r); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(table.String()) {
		if of := strings.Contains(line, ","+early+","); of != strings.Contains(line, "before a message is on disk") {
			t.Errorf("%q", line)
		} else if of {
			rows++
		}
	}
	if rows < 100 {
		t.Errorf("%d rows", rows)
	}
	if err := json.Write(&document, r); err != nil {
		t.Fatal(err)
	}
	var entries strings.Builder
	if err := jmh.Write(&entries, r); err != nil {
		t.Fatal(err)
	}
	if marked, said := strings.Count(entries.String(), `"arm":"`+early+`°"`),
		strings.Count(entries.String(), `"early":"acknowledges`); marked == 0 || marked != said ||
		strings.Contains(entries.String(), early+`"`) {
		t.Errorf("%d entries are marked, %d say why", marked, said)
	}
	for _, want := range []string{`"early": "acknowledges before a message is on disk"`, `"early": [`} {
		if !strings.Contains(document.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}

// The account has a column for each fault that always counts. Excused or rare
// events have a column only where an arm has some.
func TestMessageColumns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	r := resulttest.MessageScenarios()
	heads := func(load int) (all []string) {
		a := analyse.Result(r)
		account := report.MessageTable(&a.Loads[load])
		for _, c := range account.Columns[1:] {
			all = append(all, c.Name())
		}
		for _, row := range account.Rows {
			if len(account.Rows) != 4 || len(row) != len(account.Columns) {
				t.Errorf("%d rows, one of %d cells", len(account.Rows), len(row))
			}
		}
		return all
	}
	if got, want := strings.Join(heads(0), ", "),
		"sent, acknowledged, delivered, missing, duplicated, reordered, peak backlog"; got != want {
		t.Errorf("live: %s", got)
	}
	if got, want := strings.Join(heads(2), ", "),
		"sent, acknowledged, unsure, delivered, missing, duplicated, redelivered, reordered, displaced, peak backlog, "+
			"send outage, delivery outage"; got != want {
		t.Errorf("leader-kill: %s", got)
	}
	trial := slices.IndexFunc(r.Rounds[0].Trials, func(t result.Trial) bool { return t.Load == 0 })
	r.Rounds[0].Trials[trial].Messages.Corrupted = 1
	r.Rounds[0].Trials[trial].Messages.Stray = 2
	if got := strings.Join(heads(0), ", "); !strings.Contains(got, "corrupted") || !strings.Contains(got, "stray") {
		t.Errorf("one corrupted: %s", got)
	}
	a := analyse.Result(r)
	want := "corrupted, misrouted or stray leaves an arm without a figure. Corrupted: not as it was sent. " +
		"Stray: delivered, but never sent in this trial. None was misrouted."
	if got := report.MessageTable(&a.Loads[0]).Caption; !strings.HasSuffix(got, want) {
		t.Errorf("%q", got)
	}
	if got := report.MessageTable(&a.Loads[2]).Caption; !strings.Contains(got,
		"None was corrupted, misrouted or stray.") {
		t.Errorf("%q", got)
	}
	if got := report.Account(&a.Loads[0].Arms[0]); got != "1 corrupted, 2 stray" {
		t.Errorf("%q", got)
	}
	if plain := analyse.Result(resulttest.Two()); len(report.Accounts(&plain.Loads[0])) > 0 {
		t.Error("calls have an account of messages")
	}
}

// What was done is said once for all rounds in which it was at about the same time.
func TestDisturbances(t *testing.T) {
	t.Parallel()
	at := func(who, what string, began, over float64) result.Disturbance {
		return result.Disturbance{
			Who: who, What: what, Began: plan.Duration(began * float64(time.Second)),
			Over: plan.Duration(over * float64(time.Second)),
		}
	}
	for want, done := range map[string][]result.Disturbance{
		"node 2 killed at 7.5 s, back at 9.1 s":     {at("node 2", plan.LeaderKill, 7.5, 9.1)},
		"node 2 killed at 7.5 s, never back":        {at("node 2", plan.LeaderKill, 7.5, 0)},
		"reader killed at 2.5 s, replaced at 3.0 s": {at("reader", plan.Crash, 2.5, 3)},
		"node 1 stopped at 2.0 s, back at 3.0 s; node 2 stopped at 5": {
			at("node 2", plan.RollingRestart, 5, 6),
			at("node 1", plan.RollingRestart, 2, 3),
		},
		"node 1, 2 or 3 killed at 7.5 s, back at 9.1 s (median of 4; at the latest at 12.0 s; 1 of them never back)": {
			at("node 2", plan.LeaderKill, 7.5, 9.1), at("node 3", plan.LeaderKill, 7.5, 12),
			at("node 1", plan.LeaderKill, 7.5, 9), at("node 1", plan.LeaderKill, 7.6, 0),
		},
	} {
		l := claim.LoadAnalysis{Arms: []claim.ArmState{
			{Name: "nats", Messages: &claim.MessageState{Done: done}},
			{Name: "untouched", Messages: &claim.MessageState{}},
			{Name: "absent"},
		}}
		got := report.Disturbances(&l)
		if len(got) != 1 || !strings.HasPrefix(got[0], "nats: "+want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Several scenarios are in one table, each judged by its own; of an arm without a
// figure it says so.
func TestScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	r := resulttest.MessageScenarios()
	for i := range r.Rounds[4].Trials {
		if one := &r.Rounds[4].Trials[i]; one.Load == 2 && one.Arm == 1 {
			one.Messages.Missing, one.Messages.Delivered = 3, one.Messages.Delivered-3
		}
	}
	a := analyse.Result(r)
	rows := report.ScenarioTable(r, &a).Rows
	if len(rows) != 12 {
		t.Fatalf("%d rows", len(rows))
	}
	if got := []string{rows[0][3].Text, rows[4][3].Text, rows[8][3].Text}; !slices.Equal(got,
		[]string{"delivered p99", "drain rate", "send outage"}) {
		t.Errorf("%q decide", got)
	}
	if bad := rows[9]; bad[0].Text != plan.LeaderKill || bad[1].Text != "nats-jetstream" || bad[4].Text != "invalid" ||
		bad[9].Text != "3 missing" || bad[6].Text != report.Absent || bad[2].Text != report.Absent {
		t.Errorf("%+v", bad)
	}
	if good := rows[8]; !strings.HasPrefix(good[9].Text, "whole, ") || good[8].Text != good[4].Text {
		t.Errorf("%+v", good)
	}
	one := resulttest.Messages()
	alone := analyse.Result(one)
	if report.ScenarioTable(one, &alone) != nil {
		t.Error("one scenario has a table over several")
	}
	calls := resulttest.Closed()
	two := analyse.Result(calls)
	if report.ScenarioTable(calls, &two) != nil {
		t.Error("calls have scenarios")
	}
}

// A published rate of messages is compared with messages acknowledged per second.
func TestPublishedMessages(t *testing.T) {
	t.Parallel()
	r := resulttest.Messages()
	a := analyse.Result(r)
	rows := report.Published(r, &a)
	if len(rows) != 2 || rows[0].Theirs != "2,944 ± 131/s" || !strings.HasSuffix(rows[0].Ours, "/s") {
		t.Errorf("%+v", rows)
	}
	if text := report.PublishedCaption(r); !strings.HasPrefix(text,
		"Messages acknowledged per second in all, ours live, 60 sends under way.") {
		t.Errorf("%q", text)
	}
}

// Reports describe loads of messages in words for messages.
func TestWordsOfMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for want, l := range map[string]plan.Load{
		"live, 60 sends under way": {Scenario: plan.Live, InFlight: 60, Size: 100, Batch: 1, Groups: 1},
		"fanout, 1 send under way, 1,024 bytes each, batches of 10, 4 groups": {
			Scenario: plan.Fanout, InFlight: 1,
			Size: 1024, Batch: 10, Groups: 4,
		},
		"slow, 1,000/s Poisson, readers take 2 ms": {
			Scenario: plan.Slow, Rate: 1000,
			Delay: plan.Duration(2 * time.Millisecond),
		},
	} {
		if got := report.LoadName(plan.Plan{Loads: []plan.Load{l}}, 0); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for form, text := range pages(t, resulttest.MessageScenarios()) {
		for _, wrong := range []string{"per request", "CPU/req", "server CPU", "response p", "Response time"} {
			if i := strings.Index(text, wrong); i >= 0 {
				t.Errorf("%s says %q: %q", form, wrong, text[max(0, i-60):min(len(text), i+60)])
			}
		}
	}
}
