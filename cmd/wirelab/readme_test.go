package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"wirelab/internal/prereq"
)

// readmeBlocks returns the shell blocks of README.md.
func readmeBlocks(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) < 4 {
		t.Fatalf("README.md has %d shell blocks; the test looks for the wrong thing", len(blocks))
	}
	return blocks
}

// planned are the flags that keep a command from measuring.
var planned = map[string][]string{
	"compare": {"--print-plan"},
	"run":     {"--print-plan"},
	"explain": {"--print-plan"},
	"curve":   {"--print-plan", "--rates", "10,20,30"},
}

// unproved are the exit codes of commands that find the one round of the test's
// result too few, or of another workload.
var unproved = map[string]int{"results check": exitUndecided, "replay": exitNoWord, "decide": exitUsage}

// lasting are the commands that run until they are told to stop: what they say
// once they are under way, and the exit code when they were stopped.
var lasting = map[string]struct {
	says string
	code int
}{
	"serve-results": {"http://127.0.0.1:", exitOK},
	"up":            {"stop with Ctrl-C", exitOK},
	"chaos":         {" after ", exitNoWord}, // its first fault
}

// shellWords splits a line as a shell does, as far as README.md needs it.
func shellWords(line string) []string {
	var words []string
	for _, word := range regexp.MustCompile(`'[^']*'|[^\s']+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(word, "'"))
	}
	return words
}

// Every line that README.md shows is one that wirelab takes. Experiments are
// planned and not run here: their runs have tests of their own.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := compared(t).dir // something to list, show and export
	mine := "workload: routeguide\noperation: GetFeature\narms: [{protocol: grpc}]\n"
	if err := os.WriteFile(filepath.Join(dir, "plan.yaml"), []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	arrivals, err := os.ReadFile("../../docs/arrivals-bursty.json")
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, "docs"), 0o700), os.WriteFile(filepath.Join(dir, "docs", "arrivals-bursty.json"), arrivals, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range readmeBlocks(t) {
		if strings.Contains(block, " serve ") || strings.Contains(block, "bin/hermes ") {
			continue // they are run as a whole: below, and by the tests of hermes
		}
		for line := range strings.Lines(block) {
			command, _, _ := strings.Cut(line, "#")
			words := shellWords(command)
			if len(words) == 0 || words[0] == "make" {
				continue // a measurement of minutes, or the tests themselves
			}
			if words[0] != "bin/wirelab" {
				t.Errorf("%q is no command of wirelab", line)
				continue
			}
			if words[1] == "capacity" { // has no plan: it is searched for, and here in a hurry
				begin(t, t.TempDir(), append(words[1:], "--rounds", "1", "--probe", "100ms")...).ended(exitOK, exitUndecided, exitNoWord)
				ran++
				continue
			}
			if last, ok := lasting[words[1]]; ok {
				p := begin(t, dir, words[1:]...).within(3 * time.Minute)
				p.until(last.says)
				p.interrupt()
				p.want(last.code)
				ran++
				continue
			}
			words = append(words, planned[words[1]]...)
			code := exitOK
			for prefix, other := range unproved {
				if strings.HasPrefix(strings.Join(words[1:], " "), prefix) {
					code = other
				}
			}
			begin(t, dir, words[1:]...).want(code)
			ran++
		}
	}
	if ran < 8 {
		t.Errorf("only %d lines were run", ran)
	}
}

// The gate of the workflow that README.md shows does what it says, shortened to
// one round: that is inconclusive, or invalid on a machine that is too busy.
func TestReadmeWorkflow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("README.md shows no workflow")
	}
	var workflow struct {
		Jobs map[string]struct {
			RunsOn string `yaml:"runs-on"`
			Steps  []struct{ Name, Uses, Run string }
		}
	}
	if err := yaml.Unmarshal(block[1], &workflow); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, step := range workflow.Jobs["wirelab"].Steps {
		if step.Name != "gate" {
			continue
		}
		ran++
		dir := t.TempDir()
		command := exec.CommandContext(t.Context(), "bash", "-e", "-c",
			`bin/wirelab() { "$WIRELAB" "$@" --rounds 1 --max-rounds 1 --slices 1 --slice 30ms -q; }`+"\n"+step.Run)
		command.Dir = dir
		command.Env = append(os.Environ(), asProgram+"=1", "WIRELAB="+os.Args[0], "WIRELAB_STORE="+filepath.Join(dir, "results.db"),
			certificateEnv+"="+certificateNone, "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"))
		out, err := command.CombinedOutput()
		code := command.ProcessState.ExitCode()
		if warned := strings.Contains(string(out), "::warning::"); code != exitOK && code != exitNoWord || warned != (code == exitOK) {
			t.Errorf("exit code %d, %v:\n%s", code, err, out)
		}
		for file, begins := range map[string]string{"summary.md": "## wirelab: in", "wirelab.xml": "<?xml"} {
			if written, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.HasPrefix(string(written), begins) {
				t.Errorf("%s: %v: %.300s", file, err, written)
			}
		}
	}
	if ran != 1 || workflow.Jobs["wirelab"].RunsOn == "" {
		t.Errorf("%d steps are called gate", ran)
	}
}

// The blocks that serve a cell and call it with curl and grpcurl print the
// published place.
func TestReadmeServes(t *testing.T) {
	t.Parallel()
	served := 0
	for _, block := range readmeBlocks(t) {
		if !strings.Contains(block, " serve ") {
			continue
		}
		served++
		t.Run(regexp.MustCompile(`serve \w+ (\S+)`).FindStringSubmatch(block)[1], func(t *testing.T) {
			t.Parallel()
			for _, tool := range []string{"curl", "grpcurl"} {
				if regexp.MustCompile(`(?m)^` + tool + ` `).MatchString(block) {
					tools(t, tool)
				}
			}
			out := runBlock(t, block)
			want := strings.Count(block, "getFeature \\\n") + strings.Count(block, "GetFeature")
			if got := strings.Count(out, "Berkshire Valley"); got != want {
				t.Errorf("the place came %d times, want %d:\n%s\n%s", got, want, block, out)
			}
		})
	}
	if served < 2 {
		t.Errorf("%d blocks serve, want one for curl and one for grpcurl", served)
	}
}

// tools checks that a program the block needs can be had: grpcurl is a tool of
// the project's, built here if the machine has none.
func tools(t *testing.T, name string) {
	t.Helper()
	if name == "curl" {
		prereq.NeedCurl(t)
	}
}

// runBlock runs a block with the test's own program and a free port, waiting
// for the server where the block starts it.
func runBlock(t *testing.T, block string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	block = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(block, address)
	wait := "for i in $(seq 200); do (exec 3<>/dev/tcp/" + strings.Replace(address, ":", "/", 1) + ") 2>/dev/null && break; sleep 0.02; done\n"
	block = strings.ReplaceAll(block, "&\n", "&\n"+wait)
	prelude := `set -e
wirelab=` + os.Args[0] + `
bin/wirelab() { "$wirelab" "$@"; }
grpcurl() { if command -v grpcurl >/dev/null; then command grpcurl "$@"; else (cd ` + root + ` && go tool -modfile=tools/go.mod grpcurl "$@"); fi; }
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
set -m
`
	prelude = strings.Replace(prelude, "command -v grpcurl >/dev/null", "type -P grpcurl >/dev/null", 1)
	command := exec.CommandContext(t.Context(), "bash", "-c", prelude+block)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), asProgram+"=1", "WIRELAB_STORE="+filepath.Join(command.Dir, "results.db"))
	command.WaitDelay = 20 * time.Second // a server under the race detector takes its time to stop
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, block, out)
	}
	return string(out)
}
