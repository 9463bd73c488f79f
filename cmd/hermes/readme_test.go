package main

import (
	"bytes"
	"context"
	"encoding/json"
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
)

// What README.md shows of hermes can be typed, line by line, and does what it says
// beside it. What runs until it is stopped runs on while the lines after it do.
func TestReadmeBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{dir: t.TempDir()}
	defer func() { r.stops(t) }()
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(block[1], "bin/hermes ") {
			continue
		}
		for line := range strings.Lines(block[1]) {
			command, _, _ := strings.Cut(line, "  #")
			if command = strings.TrimSpace(command); command != "" && command != "make bin/hermes" {
				r.types(t, command)
			}
		}
	}
	for _, want := range []string{"one order\nanother\none order\n", "one\ntwo\nthree\n"} {
		if !strings.Contains(r.seen.String(), want) {
			t.Errorf("%q is not among what a reader sees:\n%s", want, &r.seen)
		}
	}
	if r.lasted != 2 || r.killed != 1 {
		t.Errorf("%d commands ran until they were stopped, and %d nodes were killed: the wrong blocks are read", r.lasted, r.killed)
	}
}

// reader is somebody at a terminal who types what README.md shows.
type reader struct {
	dir            string
	seen           bytes.Buffer // at the terminal where commands are typed
	lasting        *exec.Cmd    // in the background, or in another terminal; nil: nothing
	said           *safeBuffer  // by it
	server         string       // HERMES_SERVER, as it said
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

func (r *reader) types(t *testing.T, line string) {
	t.Helper()
	words := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1)
	for i := range words {
		words[i] = strings.Trim(words[i], "'")
	}
	switch {
	case line == "kill %1":
		r.stops(t)
	case line == "kill -9 PID":
		r.kills(t)
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

// starts starts what runs until it is stopped, and reads where it is.
func (r *reader) starts(t *testing.T, words []string) {
	t.Helper()
	r.stops(t)
	if words[0] == "dev" { // the ports that it takes by itself may be somebody's here
		words = append(words, "--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0")
	}
	r.said = new(safeBuffer)
	r.lasting = r.command(t, io.Discard, r.said, words)
	if err := r.lasting.Start(); err != nil {
		t.Fatal(err)
	}
	r.lasted++
	where := regexp.MustCompile(serverVariable + `='(.*)'|--server (\S+)\n`)
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(10 * time.Millisecond) {
		if found := where.FindStringSubmatch(r.said.String()); found != nil {
			r.server = found[1] + found[2]
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
