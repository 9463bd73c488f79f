package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"wirelab/internal/prereq"
)

// step is one command: go test with arguments, or another that passes or fails.
type step struct {
	args     []string       // of go test -json
	packages int            // that go test runs
	dir      string         // where to run it; "": here
	command  []string       // instead of go test
	name     string         // of the command
	needs    []prereq.Thing // without which it is not run
	tell     bool           // what it prints is shown though it passed
}

// event is what go test -json says; see go doc test2json.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of the build
	Test        string
	Elapsed     float64 // seconds
	Output      string
	FailedBuild string
}

// grace is what tests have for their cleanup when they are asked to end.
const grace = 10 * time.Second

// perform runs all steps, one after the other, and continues after one that failed.
func perform(ctx context.Context, steps []step, env []string, lacking []lack, t *teller) (err error) {
	for _, s := range steps {
		if ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if missing, lacks := lacked(lacking, s.needs); lacks {
			if err := prereq.Note(prereq.Skip{
				Package: s.name, Test: s.name, Thing: missing.Name,
				Why: missing.err.Error(),
			}); err != nil {
				return err
			}
			t.skip(s)
			continue
		}
		if failed := s.perform(ctx, env, t); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// lacked finds what a step needs and is missing.
func lacked(lacking []lack, needs []prereq.Thing) (missing lack, lacks bool) {
	for _, l := range lacking {
		if slices.ContainsFunc(needs, func(x prereq.Thing) bool { return x.Name == l.Name }) {
			return l, true
		}
	}
	return lack{}, false
}

func (s step) perform(ctx context.Context, env []string, t *teller) error {
	words := s.command
	if len(words) == 0 {
		var flags []string
		flags, env = sparing(env)
		words = slices.Concat([]string{"go", "test", "-json"}, flags, s.args)
	}
	command := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // it is what was asked for
	command.Dir, command.Env = s.dir, env
	// A separate group: it is asked to end once, by us, with all its children.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = grace
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	command.Stderr = t.errors()
	if err := command.Start(); err != nil {
		return err
	}
	defer func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }() // what would outlive it
	lines := bufio.NewReader(out)
	t.begin(s)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			t.take(s, read(s, line))
		}
		if err != nil {
			break // it has ended, or closed its output
		}
	}
	err = command.Wait()
	t.end(s, err)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(words[:min(3, len(words))], " "), err)
	}
	return nil
}

// sparing lets the compiler collect its garbage less often, which takes a fifth of its time: it lives for
// seconds. Tests and what they start do not inherit that: Hermes, for one, takes a GOGC that is set for a wish
// of its user's. Anyone who has set it keeps it, here too.
func sparing(env []string) (flags, with []string) {
	if slices.ContainsFunc(env, func(setting string) bool { return strings.HasPrefix(setting, "GOGC=") }) {
		return nil, env
	}
	return []string{"-exec", "env -u GOGC"}, append(slices.Clone(env), "GOGC=2000")
}

// read reads a line of a command.
func read(s step, line string) event {
	var e event
	if len(s.command) > 0 || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		return event{Action: "output", Package: s.name, Output: line} // of go itself
	}
	return e
}
