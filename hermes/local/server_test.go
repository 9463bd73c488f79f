package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
	"wirelab/internal/daemon"
	"wirelab/wire/status"
)

// build makes the program from this source.
func build(t testing.TB) daemon.Installation {
	t.Helper()
	program := filepath.Join(t.TempDir(), "hermes")
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-o", program,
		"wirelab/cmd/hermes").CombinedOutput(); err != nil {
		t.Fatalf("build Hermes: %v\n%s", err, text)
	}
	found, err := local.Find(t.Context(), func(key string) string {
		return map[string]string{local.ProgramVariable: program}[key]
	})
	if err != nil || found.Program != program || found.Version == "" {
		t.Fatalf("found %+v, %v", found, err)
	}
	return found
}

// A server keeps what it has over a kill, at the same address, tells when another process ended it, and leaves
// nothing; what one whose owner was killed left is removed.
func TestServer(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	found := build(t)
	left := filepath.Join(os.TempDir(), "wirelab-hermes-left")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(left, "owned.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(lock, long, long); err != nil {
		t.Fatal(err)
	}
	s, err := local.StartServer(t.Context(), found, nil)
	if err != nil {
		t.Fatal(err)
	}
	address := s.Address()
	c, err := client.New(client.Options{Addresses: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreateTopic(t.Context(), broker.Topic{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	publish := func(want uint64) {
		t.Helper()
		if r, err := c.Publish(t.Context(), "t", hermes.Consistent, &hermes.Message{}); err != nil || r.Offset != want {
			t.Errorf("published at %d, %v, want %d", r.Offset, err, want)
		}
	}
	publish(0)
	if err := s.Kill(t.Context()); err != nil || s.PID() != 0 || s.Done() != nil || s.Err() != nil {
		t.Errorf("killed, %v: process %d, %v", err, s.PID(), s.Err())
	}
	for want := range uint64(2) { // the second time it runs
		if err := s.Restart(t.Context()); err != nil || s.Address() != address || s.URL() != "hermes://"+address {
			t.Fatalf("started again at %s, %v", s.Address(), err)
		}
		publish(1 + want)
	}
	if err := s.Err(); err != nil {
		t.Errorf("it runs, and has ended: %v", err)
	}
	done := s.Done()
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-done
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("killed by another, it ended: %v", err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(3)
	for range 2 {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := s.Restart(t.Context()); err == nil || status.CodeOf(err) != status.NotFound {
		t.Errorf("started after it was stopped for good: %v", err)
	}
	if names, err := filepath.Glob(filepath.Join(os.TempDir(), "wirelab-hermes-*")); err != nil || len(names) > 0 {
		t.Errorf("left are %v, %v", names, err)
	}
	if _, err := local.StartServer(t.Context(), daemon.Installation{Program: "/no/such/program"}, nil); err == nil {
		t.Error("a missing program was started")
	}
}
