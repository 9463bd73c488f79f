package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab/internal/doctest"
	"wirelab/internal/prereq"
)

// What README.md and the pages in docs show of hermes can be typed, line by line, and does what it says next to
// it. What runs until it is stopped runs on while the lines after it do, to the end of the page.
func TestDocBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	blocks, err := doctest.Blocks("../..")
	if err != nil {
		t.Fatal(err)
	}
	readers := map[string]*reader{}
	for _, block := range doctest.In("sh", blocks) {
		if !strings.Contains(block.Text, "bin/hermes ") {
			continue // make bin/hermes, too
		}
		r := readers[block.Page]
		if r == nil {
			r = &reader{dir: t.TempDir()}
			readers[block.Page] = r
			defer func() { r.stops(t) }()
		}
		for _, line := range block.Lines() {
			r.types(t, line)
		}
	}
	for page, wants := range map[string][]string{
		"README.md":             {"one order\nanother\n"},
		"docs/guide/brokers.md": {"one\ntwo\nthree\n"},
		"docs/hermes.md": {
			"one order\nanother\none order\n", "one\ntwo\nthree\n", `"payload":"one order","key":"customer-7"`,
			`"payload":"another"`,
			`{"data":{"publish":{"offset":0}}}`, `"next": "1"`, `{"success":true}`, `{"success":true,"count":2}`,
		},
	} {
		for _, want := range wants {
			if r := readers[page]; r == nil || !strings.Contains(r.seen.String(), want) {
				t.Errorf("%q is not among what a reader of %s sees:\n%v", want, page, r)
			}
		}
	}
	if r := readers["docs/hermes.md"]; r != nil && (r.lasted < 5 || r.killed != 1) {
		t.Errorf("%d commands ran until they were stopped, and %d nodes were killed: the wrong blocks are read",
			r.lasted,
			r.killed)
	}
}

// reader is a terminal at which a page is typed.
type reader struct {
	dir            string
	seen           bytes.Buffer // at the terminal where commands are typed
	lasting        *exec.Cmd    // in the background, or in another terminal; nil: nothing
	said           *safeBuffer  // by it
	server, http   string       // HERMES_SERVER, as it said, and where its HTTP is
	lasted, killed int
}

func (r *reader) command(t *testing.T, stdout, stderr io.Writer, words []string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 4*patience)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, os.Args[0], words...)
	c.Dir, c.Stdout, c.Stderr = r.dir, stdout, stderr
	c.Env = append(os.Environ(), playHermes+"=yes", serverVariable+"="+r.server)
	return c
}

// String is what was seen.
func (r *reader) String() string { return r.seen.String() }

func (r *reader) types(t *testing.T, line string) {
	t.Helper()
	words := doctest.Words(line)
	switch {
	case line == "kill %1":
		r.stops(t)
	case line == "kill -9 PID":
		r.kills(t)
	case words[0] == "make" || words[0] == "bin/wirelab":
		// other tests run them
	case words[0] == "curl" || words[0] == "grpcurl":
		r.calls(t, words[0], line)
	case words[0] != "bin/hermes":
		t.Errorf("%q is no command of hermes", line)
	case words[1] == "dev" || words[1] == "cluster":
		r.starts(t, slices.DeleteFunc(words[1:], func(w string) bool { return w == "&" }))
	default:
		var errs bytes.Buffer
		if err := r.command(t, &r.seen, &errs, words[1:]).Run(); err != nil {
			t.Fatalf("%s: %v: %s; seen until then:\n%s", line, err, &errs, &r.seen)
		}
	}
}

// calls calls the node that runs with a tool that is not ours. grpcurl is built
// here where the machine has none.
func (r *reader) calls(t *testing.T, tool, line string) {
	t.Helper()
	if tool == "curl" {
		prereq.NeedCurl(t)
	} else if _, err := exec.LookPath(tool); err != nil {
		line = "cd ../.. && go tool -modfile=build/tools/go.mod " + line
	}
	line = strings.NewReplacer("127.0.0.1:8080", r.http, "127.0.0.1:50051", r.server).Replace(line)
	out, err := exec.CommandContext(t.Context(), "bash", "-c", line).CombinedOutput()
	r.seen.Write(append(out, '\n'))
	const over = 28 // curl's exit code for a time that is over
	if err != nil && (!strings.Contains(line, "--max-time") || exitCode(err) != over) {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
}

func exitCode(err error) int {
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return exited.ExitCode()
	}
	return 0
}

// starts starts what runs until it is stopped, and reads where it is.
func (r *reader) starts(t *testing.T, words []string) {
	t.Helper()
	r.stops(t)
	if words[0] == "dev" { // the ports that it takes by itself may be someone's here
		words = append(words, "--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0")
	}
	r.said = new(safeBuffer)
	r.lasting = r.command(t, io.Discard, r.said, words)
	if err := r.lasting.Start(); err != nil {
		t.Fatal(err)
	}
	r.lasted++
	at := regexp.MustCompile(`HTTP at ([0-9.:]+)`)
	where := regexp.MustCompile(serverVariable + `='(.*)'|--server (\S+)\n`)
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(10 * time.Millisecond) {
		if found := where.FindStringSubmatch(r.said.String()); found != nil {
			r.server, r.http = found[1]+found[2], at.FindStringSubmatch(r.said.String())[1]
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("hermes %s does not say where it is: %s", strings.Join(words, " "), r.said)
		}
	}
}

// kills kills the node that leads, by what status and the cluster say.
func (r *reader) kills(t *testing.T) {
	t.Helper()
	var out, errs bytes.Buffer
	if err := r.command(t, &out, &errs, []string{"status", "--json"}).Run(); err != nil {
		t.Fatalf("status: %v: %s", err, &errs)
	}
	var shown statusShown
	if err := json.Unmarshal(out.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	leads := "node " + strconv.FormatUint(shown.Leader, 10)
	found := regexp.MustCompile(leads + ` runs: .* process (\d+)\n`).FindStringSubmatch(r.said.String())
	if found == nil {
		t.Fatalf("%s leads, and of its process the cluster says nothing: %s", leads, r.said)
	}
	pid, err := strconv.Atoi(found[1])
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.killed++
}

// stops is Ctrl-C where something runs; it must end well, a killed node or not.
func (r *reader) stops(t *testing.T) {
	t.Helper()
	if r.lasting == nil {
		return
	}
	if err := r.lasting.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := r.lasting.Wait(); err != nil {
		t.Errorf("what was stopped ended with %v: %s", err, r.said)
	}
	r.lasting = nil
}
