package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/audit"
	"wirelab/lab/audit/trial"
	"wirelab/lab/control"
	"wirelab/lab/inject"
	"wirelab/lab/progress"
)

// asTool is set in processes that are to be a load generator of our own, which
// prints as hey does.
const asTool = "WIRELAB_TEST_TOOL"

// fakeTool sends 300 requests in closed loops of the given method and prints
// as hey does. It is checked that each is answered rightly.
func fakeTool(method, url, body string, stdout io.Writer) {
	const loops, each = 4, 150
	var mu sync.Mutex // guards all below
	statuses := map[int]int{}
	wrong := 0
	began := time.Now()
	var running sync.WaitGroup
	for range loops {
		running.Go(func() {
			for range each {
				status, ok := fakeCall(method, url, body)
				mu.Lock()
				statuses[status]++
				if !ok {
					wrong++
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	took := time.Since(began).Seconds()
	if wrong > 0 {
		statuses = map[int]int{599: loops * each}
	}
	fmt.Fprintf(stdout, "\nSummary:\n  Total:\t%.4f secs\n  Average:\t0.0013 secs\n  Requests/sec:\t%.2f\n\nLatency "+
		"distribution:\n  50%% in 0.0011 secs\n  95%% in 0.0013 secs\n\nStatus code distribution:\n", took,
		loops*each/took)
	for status, n := range statuses {
		fmt.Fprintf(stdout, "  [%d]\t%d responses\n", status, n)
	}
}

func fakeCall(method, url, body string) (status int, ok bool) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, false
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, false
	}
	text, err := io.ReadAll(reply.Body)
	_ = reply.Body.Close()
	return reply.StatusCode, err == nil && strings.Contains(string(text), "Berkshire Valley Trailhead")
}

// canned returns the path of a tool of a name that prints a file of the audit
// room's and ends.
func canned(t *testing.T, tool, file string) string {
	t.Helper()
	at, err := filepath.Abs(filepath.Join("../../lab/audit/testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), tool)
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat '"+at+"'\necho doubts >&2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// audits runs the command in this process. The tool is run, as it is by the real one, but there is
// no service to call, and no witness.
func audits(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := newApp(cli.Terminal{Stdout: &stdout, Stderr: &stderr, Clock: clitest.Still{}}, nil,
		func(string) string { return "" })
	command := auditCommand(a,
		func(ctx context.Context, tell progress.Teller, cell wirelab.Cell, f trial.Trial, truth inject.Truth,
			tool string, done *trial.Audited,
		) (audit.Output, error) {
			f.Alone = true
			return trial.RunTool(ctx, tell, t.TempDir(), "", control.Ready{Address: "127.0.0.1:1"}, cell, f, truth,
				tool,
				done)
		})
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(args)
	err := command.ExecuteContext(t.Context())
	if err == nil {
		return outcome{desk.ExitOK, stdout.String(), stderr.String()}
	}
	return outcome{desk.ExitCodeOf(err), stdout.String(), stderr.String() + "wirelab: " + desk.Describe(err)}
}

// What the tools printed once is read, judged and printed.
func TestAuditSaysWhatToolsReport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, file, args string
		code             int
		say              []string
		protocol         string
	}{
		"truthful": {
			"vegeta", "vegeta-12.13.0.txt", "attack -rate 200 -duration 20s {target}", desk.ExitOK,
			[]string{
				"vegeta, asked for 4000 requests at 200 a second, against a service over http1-json that answers in " +
					"1ms but stops for the last 500ms of every 5s",
				"vegeta says", "257 ms", "252 ms",
				"vegeta tells the truth here: p50, p90, p95, p99 and mean agree with it.",
			},
			"http1-json",
		},
		"untruthful": {
			"hey", "hey-0.1.5.txt", "-z 20s -q 20 -c 10 {target}", desk.ExitFailed,
			[]string{
				"p95       5.20 ms   252 ms", "requests  3680      4000",
				"hey reports a p95 of 5.20 ms where the truth is 252 ms: it leaves out the requests that it did not " +
					"send while the service was stopped.",
				"It sent 3680 of the 4000 requests that it was asked for.",
			},
			"http1-json",
		},
		"of gRPC": {
			"ghz", "ghz-0.121.0.json", "--rps 200 -n 1000 --call {method} -d {data} {address}", desk.ExitFailed,
			[]string{
				"ghz reports a p95 of 942 µs where the truth is 252 ms: it sent every request",
				"against a service over grpc that",
			},
			"grpc",
		},
		"not judged": {
			"oha", "oha-1.16.0-405.txt", "-n 20 {target}", desk.ExitNoWord,
			[]string{"oha could not be judged: 20 of its 20 requests got no correct reply"},
			"http1-json",
		},
		"another law": {
			"oha", "oha-1.16.0-corrected.json", "-n 2000 -q 200 {get}", desk.ExitFailed,
			[]string{`against a service over http1-json that is made to be "constant 20ms"`},
			"http1-json",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := canned(t, c.tool, c.file) + " " + c.args
			flags := []string{"--tool", command}
			if name == "another law" {
				flags = append(flags, "--inject", "constant 20ms")
			}
			o := audits(t, append(flags, "--verbose")...)
			o.wants(t, c.code, c.say, nil)
			if !strings.Contains(o.stderr, "running ") || !strings.Contains(o.stderr, "doubts") {
				t.Errorf("standard error: %s", o.stderr)
			}
			switch name { // the other forms of the same are asked for once each
			case "of gRPC":
				auditsAsJSON(t, c.code, c.tool, c.protocol, flags)
			case "untruthful":
				auditsAsMarkdown(t, c.code, flags)
			}
		})
	}
}

func auditsAsJSON(t *testing.T, code int, tool, protocol string, flags []string) {
	t.Helper()
	o := audits(t, append(flags, "--json")...)
	o.wants(t, code, nil, nil)
	var done struct {
		Tool, Verdict, Sentence, Protocol string
		Report                            struct{ Count int }
	}
	if err := json.Unmarshal([]byte(o.stdout), &done); err != nil || done.Tool != tool || done.Protocol != protocol ||
		done.Sentence == "" || done.Report.Count == 0 {
		t.Errorf("%+v, %v of\n%s", done, err, o.stdout)
	}
}

func auditsAsMarkdown(t *testing.T, code int, flags []string) {
	t.Helper()
	o := audits(t, append(flags, "--markdown")...)
	o.wants(t, code, nil, nil)
	if rows := strings.Split(o.stdout, "\n"); len(rows) != 6 ||
		strings.Count(rows[0], "|") != strings.Count(rows[4], "|") {
		t.Errorf("Markdown:\n%s", o.stdout)
	}
}

// A tool that really calls: what the placeholders stand for is answered
// rightly, and the closed loop is found out.
func TestAuditRunsAToolThatCalls(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	tool := fmt.Sprintf("%s=1 '%s' ", asTool, os.Args[0])
	var command strings.Builder
	for _, args := range []string{
		`POST {target} {body}`,
		`POST {target} "$(cat {bodyfile})"`,
		`GET {get} ''`,
		`POST '{target}' '{body}'`,
	} {
		command.WriteString(tool + args + " >>{out}.each && ")
	}
	// Each was answered rightly. The last one is read from its file.
	command.WriteString(`test $(grep -c '\[200\]' {out}.each) = 4 && ! grep '\[599\]' {out}.each && ` +
		tool + `POST {target} {body} >{out} && grep -q 'service RouteGuide' {proto} && echo Done; sleep 1`)
	// Two turns at least, whatever the loops get through.
	p := begin(t, t.TempDir(), "audit", "--tool", command.String(), "--inject", "frozen 1ms 100ms 500ms", "--for", "1s",
		"--verbose")
	p.want(desk.ExitFailed, "running ", "Done")
	if text := p.stdout.String(); !strings.Contains(text, "hey reports a p95 of 1.30 ms where the truth is 77.0 ms") ||
		!strings.Contains(text, "few are sent while the service is stopped") {
		t.Errorf("%s", text)
	}
	// The witness has a whole slice at least.
	_, row, _ := strings.Cut(p.stdout.String(), "\np50 ")
	if row, _, found := strings.Cut(row, "\n"); !found || strings.Contains(row, " -") {
		t.Errorf("no witness: %s", p.stdout.String())
	}
}

func TestAuditThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
		say  string
	}{
		"no tool":         {[]string{}, desk.ExitUsage, `wirelab audit needs --tool COMMAND`},
		"nothing to call": {[]string{"--tool", "hey -n 10"}, desk.ExitUsage, "put {target} where the URL belongs"},
		"unknown placeholder": {
			[]string{"--tool", "hey {target} {bodi}"},
			desk.ExitUsage,
			`unknown placeholder "{bodi}"; did you mean {body}? Known: {address}, {bodyfile}, {body}`,
		},
		"unknown parser": {
			[]string{"--tool", "hey {target}", "--parser", "siege"},
			desk.ExitUsage,
			`unknown parser "siege"; known: fortio, ghz, h2load, hey, k6, oha, vegeta, wrk, wrk2`,
		},
		"unknown protocol": {
			[]string{"--tool", "hey {target}", "--protocol", "http4"},
			desk.ExitUsage,
			`unknown protocol of routeguide "http4"`,
		},
		"unknown behaviour": {[]string{"--tool", "hey {target}", "--inject", "melted"}, desk.ExitUsage, "melted"},
		"no truth": {
			[]string{"--tool", "hey {target}", "--inject", "spin 2us"},
			desk.ExitUsage,
			"there is no truth to compare with",
		},
		"bad rate":    {[]string{"--tool", "hey {target}", "--rate", "fast"}, desk.ExitUsage, "fast"},
		"bad length":  {[]string{"--tool", "hey {target}", "--for", "-1s"}, desk.ExitUsage, "--for -1s"},
		"bad timeout": {[]string{"--tool", "hey {target}", "--timeout", "0"}, desk.ExitUsage, "--timeout 0s"},
		"two forms": {
			[]string{"--tool", "hey {target}", "--json", "--markdown"},
			desk.ExitUsage,
			"give --json or --markdown, not both",
		},
		"not there": {
			[]string{"--tool", "no-such-tool {target}"},
			desk.ExitUsage,
			"the program no-such-tool is not installed, or not on the PATH; install it, or give its path",
		},
		"fails": {
			[]string{"--tool", "echo broken {target} >&2; exit 4"},
			desk.ExitNoWord,
			"the tool failed (it ended with exit code 4): broken http://127.0.0.1:",
		},
		"unknown output": {
			[]string{"--tool", "echo {target} is fast"},
			desk.ExitNoWord,
			"known are those of fortio, ghz, h2load, hey, k6, oha, vegeta, wrk, wrk2; --parser forces one",
		},
		"another's output": {
			[]string{"--tool", "echo {target} is fast", "--parser", "hey"},
			desk.ExitNoWord,
			"the output is not as hey prints it",
		},
		"hangs": {
			[]string{"--tool", "echo {target}; sleep 100", "--timeout", "300ms"},
			desk.ExitNoWord,
			"the tool did not end within 300ms and was ended; --timeout allows more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o outcome
			if c.code == desk.ExitUsage && name != "not there" { // no tool is run
				o = newShell(t).run(append([]string{"audit"}, c.args...)...)
			} else {
				o = audits(t, c.args...)
			}
			o.wants(t, c.code, nil, nil)
			if !strings.Contains(o.stderr, c.say) || strings.Contains(o.stdout, "truth") {
				t.Errorf("want %q and no verdict: %+v", c.say, o)
			}
		})
	}
}

// Ctrl-C ends the tool, all that it started, and the service, whether they heed the signal or not.
func TestAuditInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	dir := t.TempDir()
	p := begin(t, dir, "audit", "--tool", "sleep 100 | (echo {target} >&2; sleep 100) & trap '' INT TERM; touch "+
		filepath.Join(dir, "begun")+"; while :; do sleep 0.1; done")
	p.eventually("the tool", func() bool {
		_, err := os.Stat(filepath.Join(dir, "begun"))
		return err == nil && len(p.processes("sleep 100")) >= 2
	})
	if len(p.processes("serve routeguide http1-json")) != 1 {
		t.Errorf("running: %v", p.processes(""))
	}
	if err := p.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.want(desk.ExitNoWord, "wirelab: interrupted")
}
