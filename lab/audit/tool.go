package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"wirelab"
)

// outputLimit is how much of each of a tool's outputs is kept: a log of a
// million requests, and more than any summary.
const outputLimit = 64 << 20

// grace is how long a tool that was told to end may take before it is killed.
const grace = 2 * time.Second

// Execute runs a command line by the shell and returns what it printed and how
// long it took. When ctx ends, the command and all it started are told to end,
// and killed after 2 s if they have not. A command that fails, or prints more
// than 64 MiB, is an error of code Unavailable that has its last words; one
// that the shell does not find is NotFound. What was printed is returned also
// with an error.
func Execute(ctx context.Context, command string) (o Output, took time.Duration, err error) {
	c := exec.Command("/bin/sh", "-c", command)
	began := time.Now()
	o, err = RunProgram(ctx, "the tool", c, outputLimit)
	took = time.Since(began)
	const notFound = 127 // by the shell's custom
	switch {
	case err != nil && errors.Is(err, context.Cause(ctx)):
	case o.Cut:
		err = wirelab.Errorf(wirelab.Unavailable, "the tool printed more than %d MiB; have it print a summary only",
			outputLimit>>20)
	case err != nil && c.ProcessState != nil && c.ProcessState.ExitCode() == notFound:
		err = wirelab.Errorf(wirelab.NotFound, "%s; install it, or give its path", missing(o))
	}
	return o, took, err
}

// RunProgram runs a program, which name is to people, and returns what it printed, at most limit bytes of each output.
// When ctx ends, the program and all it started are told to end, and killed after 2 s if they have not. One that fails
// is an error of code Unavailable that has its last words. What was printed is returned also with an error.
func RunProgram(ctx context.Context, name string, c *exec.Cmd, limit int) (o Output, err error) {
	// The command must not be of exec.CommandContext: that ends only the program, not what it started.
	stdout, stderr := &capture{limit: limit}, &capture{limit: limit}
	c.Stdout, c.Stderr = stdout, stderr
	// A group of its own, so that all of it can be told to end, and Ctrl-C at
	// the terminal does not reach it before its server's stop is in order.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.WaitDelay = grace // for what has left the group with the output still open
	if err := c.Start(); err != nil {
		return Output{}, fmt.Errorf("start %s: %w", name, err)
	}
	ended := endOnDone(ctx, c.Process.Pid)
	err = c.Wait()
	cut := ended()
	o = Output{Stdout: stdout.text.String(), Stderr: stderr.text.String(), Cut: stdout.over || stderr.over}
	switch {
	case cut:
		return o, context.Cause(ctx)
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return o, nil
	}
	return o, wirelab.Errorf(wirelab.Unavailable, "%s failed (%v): %s", name, err, lastWords(o))
}

// notInstalled is how shells say which program they did not find.
var notInstalled = regexp.MustCompile(`([^:\s]+): (?:command )?not found\s*$`)

// missing says which program a shell did not find. It is said as of a program that
// wirelab itself starts, so that a person reads the same words.
func missing(o Output) string {
	if found := notInstalled.FindStringSubmatch(o.Stderr); found != nil {
		return fmt.Sprintf("the program %s is not installed, or not on the PATH", found[1])
	}
	return "a program was not found: " + lastWords(o)
}

// endOnDone ends a process group when ctx does. The function it returns is to
// be called when the group's first process has ended; it ends what that left
// behind, waits for the watch and tells whether ctx came first.
func endOnDone(ctx context.Context, group int) func() (cut bool) {
	over := make(chan struct{})
	var watch sync.WaitGroup
	cut := false
	watch.Go(func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
			cut = true
		}
		_ = syscall.Kill(-group, syscall.SIGTERM) // an error: it has ended
		patience := time.NewTimer(grace)
		defer patience.Stop()
		select {
		case <-over:
		case <-patience.C:
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	})
	return func() bool {
		close(over)
		watch.Wait()
		// Nothing of a tool may go on calling a server that is stopped next.
		_ = syscall.Kill(-group, syscall.SIGKILL)
		return cut
	}
}

// capture keeps what is written up to a limit, and takes the rest too, so that
// the tool does not block.
type capture struct {
	limit int // bytes
	text  bytes.Buffer
	over  bool
}

func (c *capture) Write(p []byte) (int, error) {
	room := c.limit - c.text.Len()
	if len(p) > room {
		c.over = true
		c.text.Write(p[:room])
		return len(p), nil
	}
	return c.text.Write(p)
}

// lastWords returns the last lines that a tool printed, of its errors if any.
func lastWords(o Output) string {
	text := strings.TrimSpace(o.Stderr)
	if text == "" {
		text = strings.TrimSpace(o.Stdout)
	}
	if text == "" {
		return "it printed nothing"
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(len(lines)-3, 0):]
	for i, l := range lines {
		const long = 300
		if l = strings.TrimSpace(l); len(l) > long {
			l = strings.ToValidUTF8(l[:long], "") + "…"
		}
		lines[i] = l
	}
	return strings.Join(lines, " | ")
}
