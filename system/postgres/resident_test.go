package postgres_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"wirelab"
	"wirelab/system/postgres"
	"wirelab/system/postgres/postgrestest"
)

// A server that stays is started once, however many ask at once; comes back
// with what it held after it was killed, or stopped to be kept; and is gone when
// it is stopped (docs/origins.md grb-D15: servers were left in the background).
func TestResident(t *testing.T) {
	t.Parallel()
	postgrestest.Need(t)
	home := shortDir(t)
	getenv := func(name string) string {
		if name == "WIRELAB_STORE" {
			return filepath.Join(home, "mine", "results.db")
		}
		return os.Getenv(name)
	}
	o := postgres.Options{Getenv: getenv, Parent: home}
	if _, ok, err := postgres.Running(getenv); ok || err != nil {
		t.Fatalf("before it is started: %v, %v", ok, err)
	}
	if _, ok, err := postgres.Dismiss(t.Context(), getenv, false); ok || err != nil {
		t.Fatalf("stopped before it is started: %v, %v", ok, err)
	}
	t.Cleanup(func() { _, _, _ = postgres.Dismiss(context.Background(), getenv, false) }) // where the test failed

	r := residedOnce(t, o)
	path, err := postgres.StatePath(getenv)
	if err != nil {
		t.Fatal(err)
	}
	if about, err := os.Stat(path); err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("what holds the password: %v, %v", about, err)
	}
	execute(t, r.Source, "CREATE TABLE kept (n int)")

	// Killed, its data stay, and so does its address.
	if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Its other processes notice a moment later, and until then it is one that runs.
	for {
		_, ok, err := postgres.Running(getenv)
		if err != nil || t.Context().Err() != nil {
			t.Fatalf("after it was killed: %v, %v", ok, err)
		}
		if !ok && !running(r.PID, r.Directory) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if left, ok, err := postgres.Residing(getenv); !ok || left.PID != 0 || left.Directory != r.Directory || err != nil {
		t.Errorf("what it left: %+v, %v, %v", left, ok, err)
	}
	again, started, err := postgres.Reside(t.Context(), o)
	if err != nil || !started || again.Source != r.Source || again.Directory != r.Directory || again.PID == r.PID {
		t.Fatalf("after it was killed: %+v, %v, %v", again, started, err)
	}
	execute(t, again.Source, "INSERT INTO kept VALUES (1)")

	// Stopped to be kept, likewise.
	if _, ok, err := postgres.Dismiss(t.Context(), getenv, true); !ok || err != nil {
		t.Fatalf("stopped: %v, %v", ok, err)
	}
	if _, ok, err := postgres.Running(getenv); ok || err != nil {
		t.Errorf("after it was stopped: %v, %v", ok, err)
	}
	again, _, err = postgres.Reside(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, again.Source, "SELECT 1 / count(*) FROM kept") // fails without the row

	if _, ok, err := postgres.Dismiss(t.Context(), getenv, false); !ok || err != nil {
		t.Fatalf("stopped for good: %v, %v", ok, err)
	}
	for _, name := range []string{r.Directory, path} {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}

// residedOnce asks for the server from several sides at once, of which one
// starts it.
func residedOnce(t *testing.T, o postgres.Options) postgres.Resident {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex // guards all below
	var first postgres.Resident
	count := 0
	for range 3 {
		all.Go(func() {
			r, started, err := postgres.Reside(t.Context(), o)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case first.PID != 0 && r.PID != first.PID:
				t.Errorf("two servers: %d and %d", first.PID, r.PID)
			}
			first = r
			if started {
				count++
			}
		})
	}
	all.Wait()
	if count != 1 || first.PID == 0 {
		t.Fatalf("started %d times, process %d", count, first.PID)
	}
	return first
}

// execute runs a statement over a separate connection.
func execute(t *testing.T, dsn, statement string) {
	t.Helper()
	conn, err := postgres.Connect(t.Context(), dsn, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A state that cannot be read is said to be so, and one whose server was cleaned
// away is none.
func TestResidentState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_DATA_HOME": dir}[name] }
	path, err := postgres.StatePath(getenv)
	if err != nil || path != filepath.Join(dir, "wirelab", "results-postgres.json") {
		t.Fatalf("%s, %v", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, code := range map[string]wirelab.Code{
		"":                       wirelab.InvalidArgument,
		"{}":                     wirelab.InvalidArgument,
		`{"directory": "/gone"}`: wirelab.NotFound, // stands for none
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, ok, err := postgres.Running(getenv)
		if ok || code == wirelab.NotFound != (err == nil) || err != nil && wirelab.CodeOf(err) != code {
			t.Errorf("%q: %v, %v", text, ok, err)
		}
	}
	if _, err := postgres.StatePath(func(string) string { return "" }); wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("without a home: %v", err)
	}
	// Results may be in a database; that is no place for a file.
	other, err := postgres.StatePath(func(name string) string {
		return map[string]string{"WIRELAB_STORE": "postgres://me:secret@db/x", "XDG_DATA_HOME": dir}[name]
	})
	if err != nil || other != path {
		t.Errorf("%s, %v", other, err)
	}
}
