package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/experiment"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result/consistency"
	"wirelab/lab/tool"
	"wirelab/system/postgres/postgrestest"
)

// asWrk is set in processes that are to be a load generator of our own, which takes the options of wrk, and prints as
// it does.
const asWrk = "WIRELAB_TEST_WRK"

// fakeWrk repeats what its script says for a tenth of a second.
func fakeWrk(args []string, stdout io.Writer) {
	script, err := os.ReadFile(args[len(args)-2])
	if err != nil {
		fmt.Fprintln(stdout, err)
		return
	}
	body := regexp.MustCompile(`(?m)^wrk\.body = "(.*)"$`).FindSubmatch(script)[1]
	text := regexp.MustCompile(`\\\d{3}`).ReplaceAllStringFunc(string(body), func(escaped string) string {
		n, _ := strconv.Atoi(escaped[1:])
		return string(rune(n))
	})
	began, calls, wrong := time.Now(), 0, 0
	for time.Since(began) < 100*time.Millisecond {
		calls++
		if status, _ := fakeCall("POST", args[len(args)-1], text); status != 200 {
			wrong++
		}
	}
	fmt.Fprintf(stdout, "Running 1s test @ http://x\n    Latency     1.00ms    1.00ms   8.83ms   92.87%%\n")
	fmt.Fprintf(stdout, "  %d requests in %dus, 6.14MB read\n", calls, time.Since(began).Microseconds())
	if wrong > 0 {
		fmt.Fprintf(stdout, "  Non-2xx or 3xx responses: %d\n", wrong)
	}
}

// fakedWrk returns a folder with a wrk that is none.
func fakedWrk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asWrk, self)
	if err := os.WriteFile(filepath.Join(folder, "wrk"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// An arm that another load generator drives is measured in the rounds of the others. What that does not tell is absent,
// and not 0.
func TestCompareWithTool(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := beginWith(t, t.TempDir(), []string{"PATH=" + fakedWrk(t) + ":" + os.Getenv("PATH")},
		"compare", "http1-json,driver=raw", "http1-json,driver=tool:wrk",
		"--workload", "routeguide.GetFeature", "--in-flight", "4",
		"--rounds", "2", "--max-rounds", "2", "--slices", "1", "--certificate", "none", "--full",
	)
	code, printed := p.end(), p.stdout.String()
	if code != 0 && code != 3 { // 3: the machine was busy
		t.Fatalf("exit code %d: %s\n%s", code, p.said.String(), printed)
	}
	for _, want := range []string{
		"driven by wrk", "wrk made the calls, and does not tell it", "counted by other load generators and not checked",
	} {
		if !strings.Contains(strings.Join(strings.Fields(printed), " "), want) {
			t.Errorf("%q is not in the report:\n%s", want, printed)
		}
	}
	r := p.stored()
	if flaws := consistency.Flaws(r); len(flaws) > 0 {
		t.Errorf("flaws %v", flaws)
	}
	for _, round := range r.Rounds {
		for _, trial := range round.Trials {
			if by := r.Plan.Arms[trial.Arm].Tool(); (by != "") != (trial.Told != nil) {
				t.Errorf("arm %d, by %q, was told %v", trial.Arm, by, trial.Told)
			}
			if trial.Told == nil {
				continue
			}
			if trial.OK == 0 || trial.Sent != trial.OK || trial.Server.CPU <= 0 || trial.Driver.CPU <= 0 {
				t.Errorf("%d calls, %d right, server %+v, driver %+v", trial.Sent, trial.OK, trial.Server, trial.Driver)
			}
			for _, id := range []string{
				plan.ResponseP50, plan.ResponseMean, plan.WireSent, plan.WireReceived, plan.ClientAllocations,
			} {
				if v, known := kinds.MustMetric(id).Value(&trial); known {
					t.Errorf("%s is %v, which the tool did not report", id, v)
				}
			}
		}
	}
	if arm := r.Arms[1]; arm.Driver != "tool:wrk" || arm.Client != "wrk" || arm.Floorless == "" {
		t.Errorf("arm %+v", arm)
	}
}

// A described driver and one more hop are arms next to the others: their replies are right, and what is on the way
// counts.
func TestCompareWithDescribedAndHop(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := begin(t, t.TempDir(),
		"compare", "http1-json,driver=raw", "http1-json,driver=described", "grpc,driver=described",
		"grpc,driver=raw,hops=1",
		"--workload", "routeguide.GetFeature", "--in-flight", "4",
		"--rounds", "1", "--max-rounds", "1", "--slices", "1", "--certificate", "none",
	)
	if code := p.end(); code != 0 && code != 2 && code != 3 {
		t.Fatalf("exit code %d: %s\n%s", code, p.said.String(), p.stdout.String())
	}
	r := p.stored()
	if flaws := consistency.Flaws(r); len(flaws) > 0 || len(r.Rounds[0].Failures) > 0 {
		t.Errorf("flaws %v, failures %v", flaws, r.Rounds[0].Failures)
	}
	for _, trial := range r.Rounds[0].Trials {
		if trial.OK == 0 || trial.Sent != trial.OK || trial.WireSent == 0 {
			t.Errorf("%s: %d of %d calls were right, %d bytes sent", r.ArmName(trial.Arm), trial.OK, trial.Sent,
				trial.WireSent)
		}
		ways := []string{}
		for name := range trial.Parts {
			ways = append(ways, name)
		}
		slices.Sort(ways)
		if want := r.Plan.Arms[trial.Arm].Hops > 0; want != slices.Equal(ways, []string{"hop 1", "server"}) {
			t.Errorf("%s: on the way were %q", r.ArmName(trial.Arm), ways)
		}
	}
}

// pgbench runs the statements of a store: it draws existing accounts, and its writes are stored.
func TestCompareWithDatabase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	postgrestest.Need(t)
	by, err := tool.Named("pgbench")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := by.Find(); err != nil {
		t.Skip(err)
	}
	environment := []string{experiment.DatabaseVariable + "=" + postgrestest.Fresh(t)}
	for _, work := range [][]string{
		{"http1-json", "ledger.GetBalance", "known", "--data", "100x1000"},
		{"http1-json", "logging.WriteLog", "published"},
	} {
		p := beginWith(t, t.TempDir(), environment, append([]string{
			"compare", "postgres,driver=tool:pgbench,connections=2", work[0], "--workload", work[1], "--requests",
			work[2],
			"--in-flight", "2", "--db", "postgres", "--rounds", "1", "--max-rounds", "1", "--slices", "1",
			"--certificate", "none", "--full",
		}, work[3:]...)...)
		if code := p.end(); code != 0 && code != 2 && code != 3 {
			t.Fatalf("%s: exit code %d: %s\n%s", work[1], code, p.said.String(), p.stdout.String())
		}
		r := p.stored()
		if flaws := consistency.Flaws(r); len(flaws) > 0 || len(r.Rounds[0].Failures) > 0 {
			t.Fatalf("%s: flaws %v, failures %v", work[1], flaws, r.Rounds[0].Failures)
		}
		for _, trial := range r.Rounds[0].Trials {
			if trial.Arm != 0 {
				continue
			}
			if trial.OK == 0 || len(trial.Errors) > 0 || trial.Server != nil || trial.Told == nil ||
				!trial.Told.Direct {
				t.Errorf("%s: %d calls, failures %v, server %v, told %+v",
					work[1], trial.OK, trial.Errors, trial.Server, trial.Told)
			}
		}
		const why = "there was no server: pgbench asked the database"
		if !strings.Contains(strings.Join(strings.Fields(p.stdout.String()), " "), why) {
			t.Errorf("%s: the report says not why server CPU is absent:\n%s", work[1], p.stdout.String())
		}
	}
}

// What a tool cannot drive is refused before anything starts.
func TestToolsAreRefused(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := newShell(t)
	for name, c := range map[string]struct {
		arm  string
		code int
		want string
	}{
		"a program that is not there": {"http1-json,driver=tool:wrk", desk.ExitUsage, "build/scripts/rivals wrk"},
		"null that is to do more":     {"http1-json,server=null,inject=spin 2us", desk.ExitUsage, "null responder"},
		"null of another wire":        {"netrpc,server=null", desk.ExitUsage, "null responder"},
		"what may be asked once":      {"log-http,driver=tool:wrk", desk.ExitUsage, "sent only once"},
		"a wire with TLS":             {"http1-tls-json,driver=tool:wrk", desk.ExitUsage, "without TLS"},
		"a tool that is unknown":      {"http1-json,driver=tool:ab", desk.ExitUsage, "tool:h2load"},
		"a database of no statements": {"postgres,driver=tool:pgbench,db=postgres", desk.ExitUsage, "known: memory"},
		"a database that is served":   {"postgres", desk.ExitUsage, "tool:pgbench"},
		"a hop before TLS":            {"http1-tls-json,hops=1", desk.ExitUsage, "without TLS"},
	} {
		work := "routeguide.GetFeature"
		if strings.HasPrefix(c.arm, "log-") {
			work = "logging.WriteLog"
		}
		code, said := s.says("compare", "http1-json,driver=client", c.arm, "-w", work)
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, %s", name, code, said)
		}
	}
}
