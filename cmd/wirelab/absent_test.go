package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wirelab/broker/kinds"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/threshold"
	"wirelab/results/outages"
	"wirelab/results/report"
	"wirelab/system/rabbitmq"
)

// hidden is an environment in which there is no RabbitMQ.
func hidden(t *testing.T) []string {
	t.Helper()
	return []string{rabbitmq.BinVariable + "=" + t.TempDir(), kinds.AMQPVariable + "="}
}

// An arm whose broker is not installed is absent in every report, with what to do
// about it and without a figure; the others are measured, the next one is the
// baseline, and the exit code says that there is less than was asked for (ms-D03,
// issue 6: nothing pretends to be RabbitMQ).
func TestAbsentArm(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	p := beginWith(t, dir, append(hidden(t), hermesProgram(t)), "compare",
		"log-rabbit", "log-grpc", "log-nats", "log-http-published,client=published", "log-hermes", "grpc", "-w",
		"logging.WriteLog", "--requests", "published",
		"--in-flight", "4", "--slice", "500ms", "--slices", "3", "--rounds", "1", "--max-rounds", "1", "--db",
		"embedded", "--markdown", "comment.md",
		"--fail-if", "log-rabbit: p99 > 10s", "--fail-if", "cpu/req > +1000%", "--junit", "out.xml", "--json")
	p.want(desk.ExitNoWord, "log-rabbit is absent: ", "continuing with the others", kinds.AMQPVariable)
	p.wantNoneLeft()
	var told struct {
		Result    result.Result
		Analysis  claim.Analysis
		Judgement threshold.Judgement
		Printed   struct {
			Absent    []string
			Decisions []report.DecisionTable
		}
	}
	if err := json.Unmarshal(p.stdout.Bytes(), &told); err != nil {
		t.Fatal(err)
	}
	r := told.Result
	if len(r.Absent) != 1 || r.Absent[0].Name() != "log-rabbit" || r.Absent[0].Place != 0 ||
		!strings.Contains(r.Absent[0].Why, "rabbitmq-server") {
		t.Errorf("absent: %+v", r.Absent)
	}
	if len(r.Arms) != 5 || r.ArmName(0) != "log-grpc" || len(r.Rounds[0].Trials) != 5 || len(r.Rounds[0].Failures) > 0 {
		t.Errorf("measured: %+v", r.Arms)
	}
	pathsAreFollowed(t, &r)
	if len(told.Printed.Absent) != 2 || !strings.Contains(told.Printed.Absent[1], "compared with log-grpc") {
		t.Errorf("said: %q", told.Printed.Absent)
	}
	if told.Judgement.Outcome != threshold.Spoiled ||
		slices.ContainsFunc(told.Judgement.Findings, func(f threshold.Finding) bool { return f.Known }) {
		t.Errorf("another baseline than the one that is meant decides: %+v", told.Judgement)
	}
	for _, row := range told.Printed.Decisions[0].Rows {
		if !slices.ContainsFunc(row.Refused, func(w report.Way) bool {
			return w.Name == "log-rabbit" && strings.HasPrefix(w.Why, "absent: ") && w.Figure == ""
		}) {
			t.Errorf("%s: %+v", row.Need, row.Refused)
		}
	}
	for file, words := range map[string][]string{"comment.md": {
		"log-rabbit is absent: ",
		"all are compared with log-grpc",
	}, "out.xml": {"<skipped", "(log-rabbit)"}} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil ||
			slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(string(text), w) }) {
			t.Errorf("%s: %v\n%s", file, err, text)
		}
	}
	s := newShell(t)
	s.env["WIRELAB_STORE"] = filepath.Join(dir, "results.db")
	s.run("verify", r.ID).wants(t, desk.ExitOK, nil, nil)
	show := s.run("results", "show", r.ID, "--full")
	show.wants(t, desk.ExitOK, []string{"baseline  log-grpc"}, nil)
	if !regexp.MustCompile(`(?m)^ +log-rabbit +absent: `).MatchString(show.stdout) {
		t.Errorf("no row says that log-rabbit is absent:\n%s", show.stdout)
	}
	s.run("results", "check", r.ID, "--fail-if", "log-rabbit: p99 > 10s").wants(t, desk.ExitNoWord,
		[]string{"absent: "}, nil)
	s.run("report", r.ID, "--format", "html", "-o", filepath.Join(dir, "page.html")).wants(t, desk.ExitOK, nil, nil)
	if page, err := os.ReadFile(filepath.Join(dir, "page.html")); err != nil ||
		!strings.Contains(string(page), "log-rabbit is absent: ") {
		t.Errorf("the page does not say it (%v)", err)
	}
	if raw, err := json.Marshal(r.Asked().Arms); err != nil ||
		strings.Index(string(raw), "log-rabbit") > strings.Index(string(raw), "log-grpc") {
		t.Errorf("asked for: %s, %v", raw, err)
	}
}

// An arm that is absent makes of a good end one with less than was asked for, and
// of none that is worse a better one.
func TestAbsentEndsWithThree(t *testing.T) {
	t.Parallel()
	absent := &result.Result{ID: "r-1", Absent: []result.Absent{{Why: "no broker"}}}
	for _, c := range []struct {
		r    *result.Result
		err  error
		want int
	}{
		{&result.Result{}, cli.With(desk.ExitUndecided, nil), desk.ExitUndecided},
		{absent, nil, desk.ExitNoWord},
		{absent, cli.With(desk.ExitUndecided, nil), desk.ExitNoWord},
		{absent, cli.With(desk.ExitFailed, nil), desk.ExitFailed},
		{absent, cli.With(desk.ExitNoWord, nil), desk.ExitNoWord},
	} {
		if err := newApp(cli.Terminal{}, nil, nil).Incomplete(c.r, c.err); desk.ExitCodeOf(err) != c.want {
			t.Errorf("%v becomes %v, want code %d", c.err, err, c.want)
		}
	}
	if err := newApp(cli.Terminal{}, nil, nil).Incomplete(&result.Result{}, nil); err != nil {
		t.Errorf("nothing is absent: %v", err)
	}
	// One round decides nothing, and is no reason for 3 by itself.
	if said := desk.Describe(newApp(cli.Terminal{}, nil, nil).Incomplete(absent,
		cli.With(desk.ExitUndecided, nil))); !strings.Contains(said,
		"no broker; of the others the result is stored as r-1") {
		t.Errorf("said %q", said)
	}
}

// Where none of the arms can be had, or all are needed, nothing is run, and the
// error says what to install.
func TestAbsentArmsThatAreNeeded(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[rabbitmq.BinVariable] = t.TempDir()
	said := []string{"absent: ", "rabbitmq-server", kinds.AMQPVariable}
	for _, args := range []string{
		"compare log-rabbit -w logging.WriteLog --db embedded --certificate none",
		"compare log-rabbit log-rabbit-direct -w logging.WriteLog --db embedded --certificate none",
		"capacity log-rabbit -w logging.WriteLog --slo p99<1s --db embedded --certificate none",
		"curve log-rabbit -w logging.WriteLog --db embedded --certificate none",
		"chaos logging log-rabbit --fault listener-kill",
	} {
		want := said
		if strings.HasPrefix(args, "chaos") {
			want = said[1:]
		}
		s.run(strings.Fields(args)...).wants(t, desk.ExitUsage, nil, want)
	}
	s.run(strings.Fields("compare log-rabbit log-grpc -w logging.WriteLog --db embedded --print-plan")...).wants(t,
		desk.ExitOK, []string{"log-rabbit"}, nil)
}

// A path of chaos that was named and cannot be had ends a run that went well with 3, and
// one that was not named does not. That the others are run,
// TestChaosInterruptedKeepsWhatWasMeasured checks.
func TestAbsentPathOfChaos(t *testing.T) {
	t.Parallel()
	absent := outages.Run{Path: "log-rabbit", Absent: "no broker"}
	if err := concludeChaos(t.Context(), []outages.Run{absent, madeUpRun()}, nil); err != nil {
		t.Errorf("it was not named: %v", err)
	}
	absent.Wanting = true
	if err := concludeChaos(t.Context(), []outages.Run{absent, madeUpRun()}, nil); err == nil ||
		desk.ExitCodeOf(err) != desk.ExitNoWord || !strings.Contains(desk.Describe(err), "log-rabbit") {
		t.Errorf("it was named: %v", err)
	}
}
