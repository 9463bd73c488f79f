package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab/cmd/internal/desk"
	"wirelab/pipeline/stack"
)

// openTemporary is a directory that servers who run as others may enter.
func openTemporary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wirelab-up-") //nolint:usetesting // a test's own nobody else may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// inhabitants are the command lines of processes whose environment names a
// directory: all that a pipeline with that place for temporary files starts, the
// helpers of its servers and Erlang's daemon, which is to be none of them.
func inhabitants(t *testing.T, dir string) (all []string) {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range environments {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(dir)) {
			continue // it ended, or is hidden from us
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		all = append(all, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return all
}

// What commands that were killed left in the place for temporary files is gone
// after the next start; what is in use stays.
func TestUpLoggingSweeps(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	temporary := openTemporary(t)
	environment := []string{"TMPDIR=" + temporary}
	killed, _ := rise(t, environment, "--broker", "nats", "--db", "embedded")
	if err := killed.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.end()
	killed.wantNoneLeft()
	left, err := filepath.Glob(filepath.Join(temporary, "*"))
	if err != nil || len(left) < 2 {
		t.Fatalf("left are %v, %v", left, err)
	}
	other, _ := rise(t, environment, "--broker", "none", "--db", "embedded") // it lives, and is as old
	before := time.Now().Add(-time.Hour)
	locks, err := filepath.Glob(filepath.Join(temporary, "*", "owned.lock"))
	if err != nil || len(locks) != len(left)+1 {
		t.Fatalf("locks %v of %v, %v", locks, left, err)
	}
	for _, lock := range locks {
		if err := os.Chtimes(lock, before, before); err != nil {
			t.Fatal(err)
		}
	}
	p, _ := rise(t, environment, "--broker", "nats", "--db", "embedded")
	for _, dir := range left {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
	for _, up := range []*program{p, other} {
		up.interrupt()
		up.want(desk.ExitOK, "stopping")
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// wantTaken checks that RabbitMQ knows who takes from each queue: a gateway that
// takes entries before has them wait, and a new queue is not written down yet.
func wantTaken(t *testing.T, parts []stack.Part) {
	t.Helper()
	asked := 0
	for _, part := range parts {
		if !strings.HasPrefix(part.Name, "listener-rabbit") {
			continue
		}
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", part.PID))
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(environment), stack.Variable+"=")
		text, _, _ = strings.Cut(text, "\x00")
		config, err := stack.ParseConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := amqp.Dial(config.Listener.Queue.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		channel, err := conn.Channel()
		if err != nil {
			t.Fatal(err)
		}
		queue, err := channel.QueueDeclarePassive(config.Listener.Queue.Options.Name, true, false, false, false, nil)
		if err != nil || queue.Consumers != 1 {
			t.Errorf("%s is well, and %d take from its queue, %v", part.Name, queue.Consumers, err)
		}
		asked++
	}
	if asked != 2 {
		t.Errorf("%d listeners of RabbitMQ, want 2", asked)
	}
}
