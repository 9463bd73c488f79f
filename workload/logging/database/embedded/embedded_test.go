package embedded_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/internal/prereq"
	"wirelab/workload/logging"
	"wirelab/workload/logging/database/databasetest"
	"wirelab/workload/logging/database/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// file is the address of a file that is not there yet.
func file(t *testing.T) wirelab.DatabaseAddress {
	t.Helper()
	return wirelab.DatabaseAddress{Kind: "embedded", Source: filepath.Join(t.TempDir(), "logging.db")}
}

// A logger over a file is a logger (ms-F23, ms-F24, ms-D16).
func TestDatabase(t *testing.T) {
	t.Parallel()
	databasetest.RunDatabase(t, embedded.Database(), file)
}

// A private file is one too.
func TestPrivateDatabase(t *testing.T) {
	t.Parallel()
	databasetest.Run(t, func(t *testing.T) logging.Service {
		o, err := embedded.Open(t.Context(), wirelab.DatabaseAddress{}, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		})
		return o.Service
	})
}

// wantCode fails unless err has the code, and says nothing of where the file is.
func wantCode(t *testing.T, what string, err error, want wirelab.Code, secrets ...string) {
	t.Helper()
	if err == nil || wirelab.CodeOf(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
		return
	}
	for _, secret := range secrets {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error %q tells %q", what, err, secret)
		}
	}
}

// execute runs SQL on a file, which others may have open.
func execute(t *testing.T, path, script string) error {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(t.Context(), script)
	return err
}

// opened opens a file until the test ends.
func opened(t *testing.T, at wirelab.DatabaseAddress) logging.Service {
	t.Helper()
	o, err := embedded.Open(t.Context(), at, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o.Service
}

func TestPrivateFileIsRemoved(t *testing.T) { // not parallel: it sets where files go
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	count := func() int {
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	o, err := embedded.Open(t.Context(), wirelab.DatabaseAddress{}, "")
	if err != nil || count() != 1 || !strings.HasPrefix(o.About, "SQLite 3.") {
		t.Fatalf("%q with %d entries, %v", o.About, count(), err)
	}
	if err := o.Close(); err != nil || count() != 0 {
		t.Errorf("%d entries are left, %v", count(), err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = embedded.Open(over, wirelab.DatabaseAddress{}, "")
	wantCode(t, "opened by one who left", err, wirelab.Canceled)
	if count() != 0 {
		t.Errorf("%d entries are left of a log that was not opened", count())
	}
}

// A file of something else is never written to.
func TestForeignFileStaysAsItIs(t *testing.T) {
	t.Parallel()
	for why, script := range map[string]string{
		"another database":                      `CREATE TABLE results (id TEXT); INSERT INTO results VALUES ('kept')`,
		"another database with a table of ours": `CREATE TABLE entries (id TEXT); PRAGMA user_version = 1`,
		"another application's":                 `PRAGMA application_id = 7; PRAGMA user_version = 1`,
		"a ledger":                              `CREATE TABLE accounts (id TEXT); PRAGMA application_id = 2003586119; PRAGMA user_version = 1`,
	} {
		at := file(t)
		if err := execute(t, at.Source, script); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(at.Source)
		if err != nil {
			t.Fatal(err)
		}
		_, err = embedded.Open(t.Context(), at, "")
		wantCode(t, why, err, wirelab.Conflict, at.Source)
		after, err := os.ReadFile(at.Source)
		if err != nil || !bytes.Equal(before[100:], after[100:]) { // the header says WAL now
			t.Errorf("%s: the file was changed, %v", why, err)
		}
	}
	at := file(t)
	if err := os.WriteFile(at.Source, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Open(t.Context(), at, "")
	wantCode(t, "a file of text", err, wirelab.Internal, at.Source)
	at = file(t)
	opened(t, at)
	if err := execute(t, at.Source, `PRAGMA user_version = 99`); err != nil {
		t.Fatal(err)
	}
	_, err = embedded.Open(t.Context(), at, "")
	wantCode(t, "a later form", err, wirelab.Unimplemented, at.Source)
}

// The file itself refuses what no log holds, and is sound.
func TestFileIsSound(t *testing.T) {
	t.Parallel()
	at := file(t)
	s := opened(t, at)
	if _, err := s.WriteLog(t.Context(), logging.Entry{ID: "there", Name: "n"}); err != nil {
		t.Fatal(err)
	}
	const insert = `INSERT INTO entries (id, name, stored, data) VALUES `
	for why, bad := range map[string]string{
		"an id again":              insert + `('there', 'n', 0, '')`,
		"no id":                    insert + `('', 'n', 0, '')`,
		"a name of too many bytes": insert + `('x', replace(hex(zeroblob(33)), '00', 'üü'), 0, '')`,
		"long data":                insert + `('x', 'n', 0, hex(zeroblob(262145)))`,
		"a time in words":          insert + `('x', 'n', 'today', '')`,
		"no data":                  insert + `('x', 'n', 0, NULL)`,
	} {
		if err := execute(t, at.Source, bad); err == nil || !strings.Contains(err.Error(), "constraint") {
			t.Errorf("the file takes %s: %v", why, err)
		}
	}
	if err := execute(t, at.Source,
		`CREATE TEMP TABLE sound (x CHECK (x IN ('ok', 'wal'))); INSERT INTO sound SELECT * FROM pragma_integrity_check;
		INSERT INTO sound SELECT * FROM pragma_journal_mode`); err != nil {
		t.Errorf("integrity: %v", err)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	taken := file(t).Source
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, source string
		want        wirelab.Code
		secret      string
	}{
		{"a connection string", "postgres://user:hush@localhost/log", wirelab.InvalidArgument, "hush"},
		{"a directory", t.TempDir(), wirelab.Unavailable, "Test"},
		{"below a file", filepath.Join(taken, "logging.db"), wirelab.PermissionDenied, "no secret"},
	} {
		_, err := embedded.Open(t.Context(), wirelab.DatabaseAddress{Source: c.source}, "")
		wantCode(t, c.why, err, c.want, c.secret)
	}
	path := filepath.Join(t.TempDir(), "new", "a?b%41 #c&_pragma=d.db")
	opened(t, wirelab.DatabaseAddress{Source: path})
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a path with signs: %v", err)
	}
}

// TestDiskFull checks that a full disk is reported as such, that entries are kept, and that writing works again
// once there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	prereq.NeedMount(t) // where it is missing, the test of a full file covers the rest
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	o, err := embedded.Open(t.Context(), wirelab.DatabaseAddress{Source: filepath.Join(dir, "logging.db")}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}()
	databasetest.UntilFull(t, o.Service)
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Service.WriteLog(t.Context(), logging.Entry{
		Name: "n", Data: strings.Repeat("x", logging.DataLimit),
	}); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

// childFile is the variable by which a test starts itself as a writer.
const childFile = "WIRELAB_TEST_WRITER_FILE"

// A writer that is killed with -9 loses nothing that it was told is stored, and
// the file is whole for the next (S2).
func TestKilledWriter(t *testing.T) {
	if path := os.Getenv(childFile); path != "" {
		writeUntilKilled(t, path)
		return
	}
	t.Parallel()
	at := file(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWriter$")
	child.Env = append(os.Environ(), childFile+"="+at.Source)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var acknowledged []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "stored "); ok {
			acknowledged = append(acknowledged, id)
		}
		if len(acknowledged) == 100 {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || len(acknowledged) < 100 {
		t.Fatalf("the writer ended by itself after %d entries: %v", len(acknowledged), err)
	}
	s := opened(t, at)
	for _, id := range acknowledged {
		if _, err := s.GetEntry(t.Context(), logging.EntryID{ID: id}); err != nil {
			t.Errorf("%s was acknowledged: %v", id, err)
		}
		if written, err := s.WriteLog(t.Context(), logging.Entry{ID: id, Name: "n"}); err != nil || !written.Again() {
			t.Errorf("%s written again: %v, %v", id, written, err)
		}
	}
}

func writeUntilKilled(t *testing.T, path string) {
	s := opened(t, wirelab.DatabaseAddress{Source: path})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 100_000 {
				written, err := s.WriteLog(t.Context(), logging.Entry{ID: fmt.Sprintf("w%d-%d", w, i), Name: "n"})
				if err != nil {
					t.Errorf("write: %v", err)
					return
				}
				fmt.Println("stored " + written.ID)
			}
		})
	}
	all.Wait()
}
