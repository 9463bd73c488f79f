package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// asWrk is set in processes that are to be a load generator of our own, which takes the options of wrk, and prints as it
// does.
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
	if flaws := result.Inconsistencies(r); len(flaws) > 0 {
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
				if v, known := result.MustMetric(id).Value(&trial); known {
					t.Errorf("%s is %v, which nobody told", id, v)
				}
			}
		}
	}
	if arm := r.Arms[1]; arm.Driver != "tool:wrk" || arm.Client != "wrk" || arm.Floorless == "" {
		t.Errorf("arm %+v", arm)
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
		"a program that is not there": {"http1-json,driver=tool:wrk", exitUsage, "build/scripts/rivals wrk"},
		"null that is to do more":     {"http1-json,server=null,inject=spin 2us", exitUsage, "null responder"},
		"null of another wire":        {"netrpc,server=null", exitUsage, "null responder"},
		"what may be asked once":      {"log-http,driver=tool:wrk", exitUsage, "made once only"},
		"a wire with TLS":             {"http1-tls-json,driver=tool:wrk", exitUsage, "without TLS"},
		"a tool that is unknown":      {"http1-json,driver=tool:ab", exitUsage, "tool:h2load"},
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
