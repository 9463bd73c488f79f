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

// outputLimit bounds the bytes that are kept of each output of a tool. It is enough for the log of a million requests,
// and more than any summary.
const outputLimit = 64 << 20

// grace is how long a tool may take to exit after SIGTERM before it is killed.
const grace = 2 * time.Second

// Execute runs a command line in a shell and returns its output and how long it took. When ctx is done, the command and
// everything that it started get SIGTERM, and SIGKILL 2 s later. If the command fails or prints more than 64 MiB, the
// error has code Unavailable and the last lines of the output. If the shell does not find a program, the code is
// NotFound. The output is returned with an error too.
func Execute(ctx context.Context, command string) (o Output, took time.Duration, err error) {
	c := exec.Command("/bin/sh", "-c", command)
	began := time.Now()
	o, err = RunProgram(ctx, "the tool", c, outputLimit)
	took = time.Since(began)
	const notFound = 127 // by the convention of shells
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

// RunProgram runs a program and returns its output, at most limit bytes of each stream. name is what messages call the
// program. When ctx is done, the program and everything that it started get SIGTERM, and SIGKILL 2 s later. If the
// program fails, the error has code Unavailable and the last lines of the output. The output is returned with an error
// too.
func RunProgram(ctx context.Context, name string, c *exec.Cmd, limit int) (o Output, err error) {
	// exec.CommandContext would end only the program, and not the processes that it started.
	stdout, stderr := &capture{limit: limit}, &capture{limit: limit}
	c.Stdout, c.Stderr = stdout, stderr
	// A separate process group, so that all of it gets the signal, and so that Ctrl-C at the terminal does not reach it
	// before its server is stopped in order.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.WaitDelay = grace // for a process that has left the group with the output still open
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

// notInstalled matches the message of a shell that did not find a program.
var notInstalled = regexp.MustCompile(`([^:\s]+): (?:command )?not found\s*$`)

// missing says which program a shell did not find, in the same words as for programs that wirelab starts itself.
func missing(o Output) string {
	if found := notInstalled.FindStringSubmatch(o.Stderr); found != nil {
		return fmt.Sprintf("the program %s is not installed, or not on the PATH", found[1])
	}
	return "a program was not found: " + lastWords(o)
}

// endOnDone ends a process group when ctx is done. The caller must call the returned function when the first process of
// the group has ended. That function kills the processes left in the group, waits for the goroutine, and reports
// whether ctx was done first.
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
		_ = syscall.Kill(-group, syscall.SIGTERM) // an error means that it has ended
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
		// No process of a tool may go on sending to a server that is stopped next.
		_ = syscall.Kill(-group, syscall.SIGKILL)
		return cut
	}
}

// capture keeps output up to a limit. It discards the rest without an error, so that the tool does not block.
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

// lastWords returns the last lines that a tool printed, from stderr if it has any.
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
