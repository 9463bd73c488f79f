package rabbitmq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"wirelab/internal/daemon"
)

// prefix begins the names of the directories that servers of ours live in.
const prefix = "wirelab-rabbitmq-"

// marker is the variable by which a server's processes are known, orphans too:
// all inherit it, and none changes it.
const marker = "WIRELAB_RABBITMQ_DIRECTORY"

// directory is where a server lives: its data, its configuration, its log, and a
// lock, which is free exactly when who started the server and the server itself
// are gone.
type directory string

// file is one that lies in the directory.
func (d directory) file(name string) string { return filepath.Join(string(d), name) }

// log is the server's own, output what it says at its start.
func (d directory) log() string    { return d.file("server.log") }
func (d directory) output() string { return d.file("output.log") }

// write writes a file that the server reads, for its eyes alone.
func (d directory) write(as *daemon.Identity, name, text string) error {
	if err := os.WriteFile(d.file(name), []byte(text), 0o600); err != nil {
		return err
	}
	return as.Chown(d.file(name))
}

// processes are those of the server in the directory, no matter what their parents are by now. What has ended
// and was not waited for is none.
func (d directory) processes() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	wanted := []byte(marker + "=" + string(d) + "\x00")
	var all []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		has, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err != nil || !bytes.Contains(append(has, 0), wanted) {
			continue // it ended, or is no one's business
		}
		all = append(all, pid)
	}
	return all, nil
}

// pause is the time between two checks of a state that the system does not
// announce.
const pause = 10 * time.Millisecond

// killed kills every process of the server in the directory, and returns when
// none is left.
func (d directory) killed(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		left, err := d.processes()
		if err != nil || len(left) == 0 {
			return err
		}
		for _, pid := range left {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill process %d of RabbitMQ: %w", pid, err)
			}
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return fmt.Errorf("processes %v of RabbitMQ are still there: %w", left, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

// sweep removes the directories of servers that were killed with those who started them: no other would. What
// cannot be removed is another user's.
func sweep(ctx context.Context, parent string, now time.Time) {
	for _, name := range daemon.Left(parent, prefix, now) {
		daemon.Reclaim(name, func() bool { return directory(name).killed(ctx) == nil })
	}
}

// words returns what the server said of its end, to be put at the end of a
// message: the first of its errors, since what follows are reports of what they
// led to, or else its last lines. They hold no password: it writes none down.
func (d directory) words() string {
	const most = 4
	var lines, errs []string
	for _, name := range []string{d.output(), d.log()} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			// 2026-11-22 06:29:30.594069+00:00 [error] <0.136.0> what
			_, said, is := strings.Cut(line, "[error] <")
			if _, said, _ = strings.Cut(said, "> "); is && strings.ContainsFunc(said, unicode.IsLetter) {
				errs = append(errs, said)
			}
			if line != "" {
				lines = append(lines, line)
			}
		}
	}
	switch {
	case len(errs) > 0:
		return "; its errors: " + strings.Join(errs[:min(most, len(errs))], " | ")
	case len(lines) > 0:
		return "; its last words: " + strings.Join(lines[max(0, len(lines)-most):], " | ")
	}
	return ""
}
