package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wirelab/broker/workqueue"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/cmd/internal/kept"
	"wirelab/lab/chaos"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/pipeline/stack"
	"wirelab/results/outages"
	"wirelab/results/report"
	"wirelab/results/store"
)

// waysStored puts a made-up result of four ways into the store.
func (s *shell) waysStored() *result.Result {
	s.t.Helper()
	r := resulttest.FourWays(12)
	a := newApp(cli.Terminal{}, nil, func(key string) string { return s.env[key] })
	if err := a.WithStore(s.t.Context(),
		func(results store.Store) error { return results.Put(s.t.Context(), r) }); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// chaosFile writes runs as --json does.
func chaosFile(t *testing.T, runs any) string {
	t.Helper()
	text, err := json.Marshal(runs)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "chaos.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// madeUpRun is a run in which a logger was away and nothing was lost.
func madeUpRun() outages.Run {
	return outages.Run{
		Path: "log-grpc", Faults: "logger-down=10s", Guarantee: stack.GuaranteeOf(nil), Machine: "a machine",
		Report: &chaos.Report{
			Path: "log-grpc", Rate: 200, Limit: plan.Duration(250 * time.Millisecond),
			Load: plan.Duration(30 * time.Second), Promised: true,
			Account: chaos.Account{
				Sent: 6000, Accepted: 4000, Refused: map[string]uint64{"unavailable": 2000},
				Stored: 4000, AtLeast: true,
			},
			About: map[string]string{"logger": "SQLite 3.54.1"},
			Effects: []chaos.Effect{{
				Fault: "logger-down=10s", Due: 5000, Refused: map[string]int{"unavailable": 2000},
				P99: plan.Duration(3 * time.Millisecond), Max: plan.Duration(time.Second),
				Response: chaos.Recovery{
					Left: true, Back: true, SinceBegin: plan.Duration(11 * time.Second),
					SinceEnd: plan.Duration(time.Second),
				}, Drained: -1,
			}},
		},
	}
}

// For a preset with published recommendations, decide shows the measurement of each.
func TestDecideOnPublishedAdvice(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	r := resulttest.Closed()
	r.Plan.Advice = []plan.Advice{
		{Use: "many small calls", Says: "http1-proto", Arm: "http1-proto", Over: "grpc", Metric: plan.Throughput},
		{Use: "browsers as clients", Says: "http1-proto", Missing: "since it is a matter of what browsers speak"},
	}
	a := newApp(cli.Terminal{}, nil, func(key string) string { return s.env[key] })
	if err := a.WithStore(t.Context(),
		func(results store.Store) error { return results.Put(t.Context(), r) }); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"many small calls → http1-proto. Here: it holds (throughput of http1-proto",
		"browsers as clients → http1-proto. Here: no measurement shows this",
	}
	for _, format := range []string{"text", "markdown", "json"} {
		out := s.run("decide", "latest", "--format", format)
		out.stdout = strings.Join(strings.Fields(out.stdout), " ")
		out.wants(t, desk.ExitOK, want, nil)
	}
}

// An error of a plan in a file says the line and the field, whichever check finds it; and what
// JSON writes for a character is read.
func TestRunNamesLineAndField(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := filepath.Join(t.TempDir(), "mine.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "workload: routeguide\noperation: GetFeature\narms: [{protocol: grpc}]\n"
	for text, want := range map[string][]string{
		head + "rounds:\n  min: 9\n  max: 3\n": {
			"mine.yaml: [5:8]",
			"rounds.min is 9",
		},
		head + "loads:\n- recording:\n    file: " +
			"absent.json\n": {"mine.yaml: [6:11]", "loads[0].recording.file: there is no file or folder"},
		"workload: routegude\noperation: GetFeature\narms: [{protocol: " +
			"grpc}]\n": {"mine.yaml: [1:11]", "workload: unknown workload"},
		"workload: routeguide\noperation: GetFeature\narms:\n- protocol: grpc\n- " +
			"protocol: grcp\n": {"mine.yaml: [5:13]", "arms[1].protocol: unknown protocol"},
		head + "published:\n- {source: x, machine: y, mean: 1ms}\n": {
			"mine.yaml: [5:",
			"published[0].arm is missing",
		},
	} {
		write(text)
		s.run("run", file).wants(t, desk.ExitUsage, nil, want)
	}
	write(`{"workload":"routeguide","operation":"GetFeature","arms":[{"protocol":"grpc"}],
		"published":[{"source":"x","machine":"y","arm":"grpc","mean":"49.005\u00b5s"}]}`)
	s.run("run", file, "--print-plan").wants(t, desk.ExitOK, []string{`"49.005µs"`}, nil)
}

func TestDecide(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	r := s.waysStored()
	s.run("decide", "latest", "--full").wants(t, desk.ExitOK,
		[]string{
			"when to use which: 50 calls in flight", "log-nats°", "when to use which: if parts fail",
			"wirelab chaos logging log-rabbit",
		}, nil)
	file := chaosFile(t, []outages.Run{
		madeUpRun(),
		{Path: "log-rabbit", Faults: "all", Absent: "RabbitMQ is not installed"},
	})
	said := []string{
		"at 200/s callers saw 2,000 of 5,000 refused (2,000 unavailable)", "again 11.0 s after it began",
		"0 of 4,000 accepted lost", "RabbitMQ is not installed", "a machine",
	}
	for _, format := range []string{"text", "markdown", "json"} {
		out := s.run("decide", r.ID, "--chaos", file, "--format", format, "--full")
		if format == "text" {
			out.stdout = strings.Join(strings.Fields(out.stdout), " ")
		}
		out.wants(t, desk.ExitOK, said, nil)
	}
	asJSON := s.run("decide", "latest", "--json", "--chaos", file)
	got := decode[kept.Decisions](t, asJSON.stdout)
	if got.ID != r.ID || len(got.Tables) != 2 || len(got.Tables[0].Rows) != 8 ||
		got.Tables[1].Rows[1].First[0].Name != "log-grpc" {
		t.Errorf("%s", asJSON.stdout)
	}
	s.run("report", "latest", "--chaos", file, "-o", "-").wants(t, desk.ExitOK,
		[]string{`id="decisions"`, "0 of 4,000 accepted lost"}, nil)
	s.run("report", "latest", "--chaos", file, "--format", "markdown").wants(t, desk.ExitOK,
		[]string{"0 of 4,000 accepted lost"}, nil)
}

// A result's file has the table; verify makes it again, and finds what was edited.
func TestDecisionsAreVerified(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	r := s.waysStored()
	file := filepath.Join(t.TempDir(), "result.json")
	s.run("results", "export", r.ID, "-o", file).wants(t, desk.ExitOK, nil, nil)
	s.run("verify", file).wants(t, desk.ExitOK, nil, nil)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := bytes.Replace(text, []byte(`"lead": "log-nats° (`), []byte(`"lead": "log-grpc (`), 1)
	if bytes.Equal(edited, text) {
		t.Fatal("there is nothing to edit")
	}
	if err := os.WriteFile(file, edited, 0o600); err != nil {
		t.Fatal(err)
	}
	s.run("verify", file).wants(t, desk.ExitFailed, []string{"printed.decisions[0].rows[0].lead"}, nil)
}

func TestDecideErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	s.run("decide").wants(t, desk.ExitUsage, nil, []string{"needs an id or a file"})
	s.run("decide", "latest").wants(t, desk.ExitUsage, nil, []string{"no results yet"})
	s.stored(1)
	s.run("decide", "latest").wants(t, desk.ExitUsage, nil,
		[]string{
			"does not show when to use which: the entries of its arms were not followed",
			"wirelab compare log-grpc",
		})
	r := s.waysStored()
	s.run("decide", "r-unknown").wants(t, desk.ExitUsage, nil, []string{"r-unknown"})
	s.run("decide", r.ID, "--format", "csv").wants(t, desk.ExitUsage, nil, []string{"csv", "markdown"})
	s.run("decide", r.ID, "--chaos", "/nowhere/chaos.json").wants(t, desk.ExitUsage, nil,
		[]string{"/nowhere/chaos.json"})
	good := chaosFile(t, []outages.Run{madeUpRun()})
	s.run("report", r.ID, "latest", "--chaos", good, "-o", t.TempDir()+"/").wants(t, desk.ExitUsage, nil,
		[]string{"--chaos belongs to one result"})
	s.run("report", r.ID, "--chaos", good, "--format", "csv").wants(t, desk.ExitUsage, nil,
		[]string{"html and markdown"})
	for name, c := range map[string]struct {
		edit func(*outages.Run)
		want string
	}{
		"no path":          {func(r *outages.Run) { r.Path = "" }, "run 1: it does not say of which path"},
		"an unknown fault": {func(r *outages.Run) { r.Faults = "earthquake" }, "earthquake"},
		"another's report": {
			func(r *outages.Run) { r.Report.Path = "log-http" },
			"a run of log-grpc has a report of log-http",
		},
		"one entry more": {func(r *outages.Run) { r.Report.Account.Stored++ }, "the account does not add up"},
		"no word on why": {func(r *outages.Run) { r.Report = nil }, "no word on why"},
		"more than were due": {
			func(r *outages.Run) { r.Report.Effects[0].Due = 1 },
			"what callers saw of logger-down=10s does not add up",
		},
		"no limit": {func(r *outages.Run) { r.Report.Limit = 0 }, "not above 0"},
	} {
		run := madeUpRun()
		c.edit(&run)
		if out := s.run("decide", r.ID, "--chaos", chaosFile(t, []outages.Run{run})); out.code != desk.ExitUsage ||
			!strings.Contains(out.stderr, c.want) || !strings.Contains(out.stderr, "wirelab chaos logging --json") ||
			out.stdout != "" {
			t.Errorf("%s: %d, %s%s", name, out.code, out.stdout, out.stderr)
		}
	}
	for _, text := range []string{
		"", "{", "{}", "[]", "null", `"x"`, `[{"path":1}]`, "\x00",
		`[{"path":"log-grpc","faults":"listener-kill","report":{"effects":[{"took":"never"}]}}]`,
	} {
		file := filepath.Join(t.TempDir(), "broken.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.run("decide", r.ID, "--chaos", file).wants(t, desk.ExitUsage, nil, []string{"--chaos " + file})
	}
}

// What the table names by itself is what the commands it names take and make.
func TestDecideKnowsTheFaults(t *testing.T) {
	t.Parallel()
	for i, f := range chaos.All() {
		if report.Faults()[i] != f.String() || report.FaultNeed(f.String()) == f.String() {
			t.Errorf("%v is %q to a report", f, report.FaultNeed(report.Faults()[i]))
		}
	}
	for _, broker := range stack.Brokers() {
		h := stack.GuaranteeOf([]stack.Broker{{
			Kind:  broker,
			Queue: workqueue.Options{Confirms: true, Persistent: true},
		}})
		if !h.OnDisk() || h.Queue == "" || h.Broker == "" {
			t.Errorf("%s: %+v", broker, h)
		}
		if elsewhere := stack.GuaranteeOf([]stack.Broker{{Kind: broker, URL: "x"}}); elsewhere.OnDisk() ||
			elsewhere.Sync != result.SyncUnknown {
			t.Errorf("%s elsewhere: %+v", broker, elsewhere)
		}
	}
}

// decidesByChaos checks, of a real run and a real file, that what chaos prints decide
// reads.
func decidesByChaos(t *testing.T, run outages.Run) {
	t.Helper()
	if run.Guarantee == nil || run.Machine == "" {
		t.Fatalf("a run does not tell its conditions: %+v", run)
	}
	s := newShell(t)
	s.waysStored()
	rows := decode[kept.Decisions](t,
		s.run("decide", "latest", "--json", "--chaos", chaosFile(t, []outages.Run{run})).stdout).Tables[1].Rows
	for _, d := range rows {
		if d.Metric == run.Faults {
			if len(d.First) != 1 || d.First[0].Early || !strings.Contains(d.First[0].Saw, "/s") ||
				!strings.Contains(d.Holds, run.Machine) {
				t.Errorf("%+v", d)
			}
			return
		}
	}
	t.Errorf("no row of the fault: %+v", rows)
}
