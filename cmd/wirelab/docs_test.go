package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/doctest"
	"wirelab/internal/porttest"
	"wirelab/internal/prereq"
	"wirelab/lab/result"
	"wirelab/results/measure"
	"wirelab/system/postgres"
	"wirelab/system/postgres/postgrestest"
	"wirelab/system/rabbitmq/rabbitmqtest"
)

// docBlocks returns the blocks of README.md and docs in a language. What they
// show of Hermes is run by its own tests.
func docBlocks(t *testing.T, language string) []doctest.Block {
	t.Helper()
	blocks, err := doctest.Blocks("../..")
	if err != nil {
		t.Fatal(err)
	}
	blocks = doctest.In(language, blocks)
	if len(blocks) < 5 {
		t.Fatalf("the pages have %d blocks in %s; the test looks for the wrong thing", len(blocks), language)
	}
	return blocks
}

// serves reports whether a block starts a server that the lines after it use.
func serves(b doctest.Block) bool {
	starts := strings.Contains(b.Text, "bin/wirelab serve ") || strings.HasPrefix(b.Text, "python3 examples/")
	return starts && strings.Contains(b.Text, "kill %1")
}

// planned are the flags that keep a command from measuring.
var planned = map[string][]string{
	"compare":  {"--print-plan"},
	"run":      {"--print-plan"},
	"explain":  {"--print-plan"},
	"load":     {"--dry-run"},
	"curve":    {"--print-plan", "--rates", "10,20,30"},
	"capacity": {"--certificate", "planned"}, // has no plan: it is searched for
	"replay":   {"--certificate", "planned"}, // the stored plan is run unchanged
	"doctor":   {"--no-burst"},
	"selftest": {"--list"},
	"chaos":    {"--for", "1ms"}, // is looked at last, when all else is right
}

// unproved are the exit codes, next to 0, of commands that find the one round
// of the test's result too few, or of another workload, or the machine unfit.
var unproved = map[string][]int{
	"results check": {desk.ExitUndecided, desk.ExitNoWord}, "decide": {desk.ExitUsage}, "doctor": {desk.ExitFailed},
}

// lasting are the commands that run until they are told to stop: what they say
// once they are under way, and the exit code when they were stopped.
var lasting = map[string]struct {
	says string
	code int
}{
	"serve-results": {"http://127.0.0.1:", desk.ExitOK},
	"relay":         {"stop with Ctrl-C", desk.ExitOK},
	"up":            {"stop with Ctrl-C", desk.ExitOK},
}

// Every line that README.md and the pages in docs show is one that wirelab
// takes. Experiments are planned and not run here: their runs have tests of
// their own. A line that several pages show is run once.
func TestDocCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := compared(t).dir // something to list, show and export
	for _, folder := range []string{"docs", "examples"} {
		linked(t, dir, folder)
	}
	ran := map[string]bool{}
	for _, block := range docBlocks(t, "sh") {
		if serves(block) {
			continue // run as a whole, below
		}
		for _, words := range block.Commands() {
			line := strings.Join(words, " ")
			if words[0] != "bin/wirelab" || ran[line] {
				continue // make: the tests of doctest; bin/hermes: its own
			}
			ran[line] = true
			t.Run(strings.Join(words[1:min(3, len(words))], "_"), func(t *testing.T) { typed(t, dir, words[1:]) })
		}
	}
	if len(ran) < 40 {
		t.Errorf("only %d lines were run", len(ran))
	}
}

// linked makes a folder of the project one of dir's.
func linked(t *testing.T, dir, folder string) {
	t.Helper()
	to, err := filepath.Abs(filepath.Join("../..", folder))
	if err == nil {
		err = os.Symlink(to, filepath.Join(dir, folder))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// typed runs what a page shows, planned or shortened.
func typed(t *testing.T, dir string, words []string) {
	if last, ok := lasting[words[0]]; ok {
		if strings.Contains(strings.Join(words, " "), "rabbit") { // a queue's path, or the broker
			rabbitmqtest.Need(t)
		}
		if i := slices.Index(words, "--addr"); i > 0 { // the page's port may be in use here
			words = slices.Concat(words[:i+1], []string{"127.0.0.1:0"}, words[i+2:])
		}
		environment := []string{hermesProgram(t)}
		// else each starts a server for its entries
		if slices.Contains(words, "logging") && prereq.Shared(prereq.PostgreSQLVariable) != "" {
			environment = append(environment, postgres.Variable+"="+postgrestest.Fresh(t))
		}
		p := beginWith(t, dir, environment, words...).within(3 * time.Minute)
		p.until(last.says)
		p.interrupt()
		p.want(last.code)
		return
	}
	if strings.Contains(strings.Join(words, " "), "own check examples/rest-python") {
		prereq.Python.Need(t, prereq.FindPython())
	}
	codes := []int{desk.ExitOK}
	for prefix, others := range unproved {
		if strings.HasPrefix(strings.Join(words, " "), prefix) {
			codes = append(codes, others...)
		}
	}
	for _, flag := range planned[words[0]] {
		if !slices.Contains(words, flag) {
			words = append(words, flag)
		}
	}
	if slices.Contains(words, "planned") { // a certificate is looked for last, when all else is right
		begin(t, dir, words...).want(desk.ExitUsage, `unknown certificate "planned"`)
		return
	}
	if words[0] == "chaos" {
		beginWith(t, dir, []string{hermesProgram(t)}, words...).want(desk.ExitUsage, "too short")
		return
	}
	begin(t, dir, words...).ended(codes...)
}

// Of transcripts, and of what takes more than a test has, at least every
// command and flag is one that wirelab knows.
func TestDocTranscripts(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, block := range docBlocks(t, "console") {
		for _, words := range block.Commands() {
			if name := filepath.Base(words[0]); name != "wirelab" {
				continue
			}
			looked++
			a := newApp(cli.Terminal{}, nil, nil)
			command, rest, err := newRootCommand(a).Find(words[1:])
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err != nil || command == command.Root() {
				t.Errorf("%s:%d: %s: %v", block.Page, block.Line, strings.Join(words, " "), err)
			}
		}
	}
	if looked < 4 {
		t.Errorf("only %d commands were looked at", looked)
	}
}

// The page on checks names each.
func TestDocChecks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/concepts/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, gate := range result.Gates() {
		name := strings.TrimPrefix(string(gate), "on time for ")
		if !regexp.MustCompile(`(?m)^\| .*` + regexp.QuoteMeta(name)).Match(page) {
			t.Errorf("docs/concepts/checks.md lacks the check %q", gate)
		}
	}
}

// The gate of the workflow that docs/guide/ci.md shows does what it says, shortened to
// one round: that is inconclusive, or invalid on a machine that is too busy.
func TestDocWorkflow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	text, err := os.ReadFile("../../docs/guide/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("the page shows no workflow")
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
		command.Env = append(os.Environ(), asProgram+"=1", "WIRELAB="+os.Args[0],
			"WIRELAB_STORE="+filepath.Join(dir, "results.db"),
			measure.CertificateEnv+"="+measure.CertificateNone, "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"))
		out, err := command.CombinedOutput()
		code := command.ProcessState.ExitCode()
		if warned := strings.Contains(string(out), "::warning::"); code != desk.ExitOK && code != desk.ExitNoWord ||
			warned != (code == desk.ExitOK) {
			t.Errorf("exit code %d, %v:\n%s", code, err, out)
		}
		for file, begins := range map[string]string{"summary.md": "## wirelab: in", "wirelab.xml": "<?xml"} {
			if written, err := os.ReadFile(filepath.Join(dir, file)); err != nil ||
				!strings.HasPrefix(string(written), begins) {
				t.Errorf("%s: %v: %.300s", file, err, written)
			}
		}
	}
	if ran != 1 || workflow.Jobs["wirelab"].RunsOn == "" {
		t.Errorf("%d steps are called gate", ran)
	}
}

// The blocks that start a server and call it run as they are: with curl,
// grpcurl and wirelab. Those of the route guide print the published place.
func TestDocServes(t *testing.T) {
	t.Parallel()
	served := 0
	for _, block := range docBlocks(t, "sh") {
		if !serves(block) {
			continue
		}
		served++
		t.Run(block.Page+":"+strconv.Itoa(block.Line), func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(block.Text, "python3 ") {
				prereq.Python.Need(t, prereq.FindPython())
			}
			for _, tool := range []string{"curl", "grpcurl"} {
				if regexp.MustCompile(`(?m)^` + tool + ` `).MatchString(block.Text) {
					tools(t, tool)
				}
			}
			out := runBlock(t, block.Text)
			if !strings.Contains(block.Text, "409146138") {
				if len(out) < 20 || strings.Contains(out, `"code"`) {
					t.Errorf("the block printed %q", out)
				}
				return
			}
			want := len(regexp.MustCompile(`(?m)^(curl|grpcurl|bin/wirelab call) `).FindAllString(block.Text, -1))
			if got := strings.Count(out, "Berkshire Valley"); got != want {
				t.Errorf("the place came %d times, want %d:\n%s\n%s", got, want, block.Text, out)
			}
		})
	}
	if served < 6 {
		t.Errorf("%d blocks serve", served)
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
	address := porttest.Held(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	block = regexp.MustCompile(`(?:127\.0\.0\.1|localhost):\d+`).ReplaceAllString(block, address)
	wait := "for i in $(seq 3000); do (exec 3<>/dev/tcp/" + strings.Replace(address, ":", "/", 1) +
		") 2>/dev/null && break; sleep 0.02; done\n"
	block = regexp.MustCompile(`&(\s+#.*)?\n`).ReplaceAllLiteralString(block, "&\n"+wait)
	prelude := `set -e
wirelab=` + os.Args[0] + `
bin/wirelab() { case $1 in compare) "$wirelab" "$@" --print-plan;;
load) "$wirelab" "$@" --rounds 1 --max-rounds 1 --slices 1 --slice 30ms || [ $? -eq 3 ];; # the machine may be too busy
*) "$wirelab" "$@";; esac; }
grpcurl() { if command -v grpcurl >/dev/null; then command grpcurl "$@"; else (cd ` + root +
		` && go tool -modfile=build/tools/go.mod grpcurl "$@"); fi; }
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
set -m
`
	prelude = strings.Replace(prelude, "command -v grpcurl >/dev/null", "type -P grpcurl >/dev/null", 1)
	command := exec.CommandContext(t.Context(), "bash", "-c", prelude+block)
	command.Dir = t.TempDir()
	linked(t, command.Dir, "examples")
	command.Env = append(os.Environ(), asProgram+"=1", measure.CertificateEnv+"="+measure.CertificateNone,
		"PORT="+address[strings.LastIndex(address, ":")+1:], "WIRELAB_STORE="+filepath.Join(command.Dir, "results.db"))
	command.WaitDelay = 20 * time.Second // a server under the race detector takes its time to stop
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, block, out)
	}
	return string(out)
}
