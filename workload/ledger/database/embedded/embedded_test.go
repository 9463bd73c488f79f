package embedded_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/database/databasetest"
	"wirelab/workload/ledger/database/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// file is the address of a file that is not there yet.
func file(t *testing.T) wirelab.DatabaseAddress {
	t.Helper()
	return wirelab.DatabaseAddress{Kind: "embedded", Source: filepath.Join(t.TempDir(), "ledger.db")}
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	databasetest.RunDatabase(t, embedded.Database(), file)
}

// TestPrivateDatabase checks that a private ledger, whose followers are notified and need not poll, keeps the
// contract, too.
func TestPrivateDatabase(t *testing.T) {
	t.Parallel()
	databasetest.Run(t, func(t *testing.T) ledger.Service {
		o, err := embedded.Open(t.Context(), wirelab.DatabaseAddress{}, databasetest.Data)
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
	o, err := embedded.Open(t.Context(), wirelab.DatabaseAddress{}, databasetest.Data)
	if err != nil || count() != 1 || !strings.HasPrefix(o.About, "SQLite 3.") {
		t.Fatalf("%q with %d entries, %v", o.About, count(), err)
	}
	if err := o.Close(); err != nil || count() != 0 {
		t.Errorf("%d entries are left, %v", count(), err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = embedded.Open(over, wirelab.DatabaseAddress{}, databasetest.Data)
	wantCode(t, "opened by one who left", err, wirelab.Canceled)
	if count() != 0 {
		t.Errorf("%d entries are left of a ledger that was not opened", count())
	}
}

// A file of something else is never written to, above all not results, which
// the origin's seed deletes (grb-D05).
func TestForeignFileStaysAsItIs(t *testing.T) {
	t.Parallel()
	for why, write := range map[string]func(t *testing.T, path string){
		"another database": func(t *testing.T, path string) {
			execute(t, path, `CREATE TABLE results (id TEXT); INSERT INTO results VALUES ('kept')`)
		},
		"another database with tables of our names": func(t *testing.T, path string) {
			execute(t, path, `CREATE TABLE seed (seed TEXT); CREATE TABLE accounts (id TEXT); PRAGMA user_version = 1`)
		},
		"another application's": func(t *testing.T, path string) {
			execute(t, path, `PRAGMA application_id = 7; PRAGMA user_version = 1`)
		},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			at := file(t)
			write(t, at.Source)
			before := read(t, at.Source)
			_, err := embedded.Open(t.Context(), at, databasetest.Data)
			wantCode(t, why, err, wirelab.Conflict, at.Source)
			if after := read(t, at.Source); !bytes.Equal(before[100:], after[100:]) { // the header says WAL now
				t.Error("the file was changed")
			}
		})
	}
	at := file(t)
	if err := os.WriteFile(at.Source, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Open(t.Context(), at, databasetest.Data)
	wantCode(t, "a file of text", err, wirelab.Internal, at.Source)
	if got := read(t, at.Source); !bytes.HasPrefix(got, []byte("no database no database")) {
		t.Error("a file of text was changed")
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// execute runs SQL on a file, which others may have open.
func execute(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), script); err != nil {
		t.Fatal(err)
	}
}

// ask returns the first column of what SQL asks of a file.
func ask(t *testing.T, path, query string) (all []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text sql.NullString
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		into := []any{&text}
		for range len(columns) - 1 {
			into = append(into, new(any))
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, text.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// One file holds one data set, made by one version of it.
func TestAnotherDataSetIsRefused(t *testing.T) {
	t.Parallel()
	at := file(t)
	open := func(data string) error {
		o, err := embedded.Open(t.Context(), at, data)
		if err == nil {
			err = o.Close()
		}
		return err
	}
	if err := open("10x20"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "another size", open("10x21"), wirelab.Conflict, at.Source)
	wantCode(t, "the default", open(""), wirelab.Conflict, at.Source)
	if err := open("10x20"); err != nil {
		t.Errorf("its own: %v", err)
	}
	execute(t, at.Source, `UPDATE seed SET seed = 'v0 10x20'`)
	wantCode(t, "another version of it", open("10x20"), wirelab.Conflict, at.Source)
	execute(t, at.Source, `PRAGMA user_version = 99`)
	wantCode(t, "a later form", open("10x20"), wirelab.Unimplemented, at.Source)
}

// countdown is a context that its caller gives up when it is looked at for the
// nth time: at any step of what it is passed to, and always at the same.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (c *countdown) Done() <-chan struct{} {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Done()
}

// Making and filling a file is all or nothing: wherever one was cut off, the
// next does it (grb-D06).
func TestFillingIsAllOrNothing(t *testing.T) {
	t.Parallel()
	at, cut := file(t), 0
	for n := int64(1); ; n += 2 {
		ctx := &countdown{}
		ctx.Context, ctx.cancel = context.WithCancel(t.Context())
		ctx.left.Store(n)
		o, err := embedded.Open(ctx, at, databasetest.Data)
		ctx.cancel()
		if err != nil {
			wantCode(t, fmt.Sprint("cut off at step ", n), err, wirelab.Canceled)
			cut++
			if cut%8 == 0 { // and the next begins anew
				at = file(t)
			}
			continue
		}
		var posted int
		for _, err := range o.Service.StreamTransactions(t.Context(), ledger.Feed{}) {
			if err != nil {
				t.Fatal(err)
			}
			posted++
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		if posted != 1000 || cut < 10 {
			t.Errorf("after %d that were cut off there are %d transactions", cut, posted)
		}
		return
	}
}

// The file itself refuses what no ledger holds, and is sound after postings.
func TestFileIsSound(t *testing.T) {
	t.Parallel()
	at := file(t)
	o, err := embedded.Open(t.Context(), at, "10x20")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := o.Service.PostTransaction(t.Context(), ledger.Posting{
		ID: "p", From: "0.0.100009", To: "0.0.100008", Amount: 3,
	}); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, at.Source, `PRAGMA integrity_check`); len(got) != 1 || got[0] != "ok" {
		t.Errorf("integrity: %v", got)
	}
	if got := ask(t, at.Source, `PRAGMA foreign_key_check`); len(got) != 0 {
		t.Errorf("accounts that do not exist (grb-D07): %v", got)
	}
	if got := ask(t, at.Source, `PRAGMA journal_mode`); got[0] != "wal" {
		t.Errorf("journal %v", got)
	}
	db, err := sql.Open("sqlite", at.Source+"?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, bad := range []string{
		`UPDATE accounts SET amount = -1 WHERE id = '0.0.100000'`,
		`UPDATE accounts SET amount = 9007199254740992 WHERE id = '0.0.100000'`,
		`UPDATE accounts SET amount = 'many' WHERE id = '0.0.100000'`,
		`INSERT INTO transactions VALUES (22, 'q', '0.0.100000', '0.0.100000', 1, '', 0)`,
		`INSERT INTO transactions VALUES (22, 'q', '0.0.100000', 'absent', 1, '', 0)`,
		`INSERT INTO transactions VALUES (22, 'q', '0.0.100000', '0.0.100001', 0, '', 0)`,
		`INSERT INTO transactions VALUES (22, 'p', '0.0.100000', '0.0.100001', 1, '', 0)`,
		`INSERT INTO transactions VALUES (21, 'q', '0.0.100000', '0.0.100001', 1, '', 0)`,
		`INSERT INTO seed VALUES (2, 'another')`,
	} {
		if _, err := db.ExecContext(t.Context(), bad); err == nil {
			t.Errorf("the file takes %s", bad)
		}
	}
}

// A file that breaks while it is open is an error with a code that fits, and
// no text of the database's (grb-D09).
func TestFileThatBreaks(t *testing.T) {
	t.Parallel()
	at := file(t)
	at.Pool = 1
	o, err := embedded.Open(t.Context(), at, "10x20")
	if err != nil {
		t.Fatal(err)
	}
	execute(t, at.Source, `DROP TABLE seed; ALTER TABLE transactions RENAME COLUMN kind TO other`)
	wantCode(t, "ready", ledger.Ready(t.Context(), o.Service), wirelab.Unavailable, "seed", at.Source)
	_, err = o.Service.GetTransactions(t.Context(), ledger.Page{})
	wantCode(t, "a page", err, wirelab.Internal, "kind", "column", at.Source)
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	_, err = o.Service.GetBalance(t.Context(), ledger.AccountID{ID: "0.0.100000"})
	wantCode(t, "a ledger that was closed", err, wirelab.Unavailable)
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
		{"a connection string", "postgres://user:hush@localhost/ledger", wirelab.InvalidArgument, "hush"},
		{"a directory", t.TempDir(), wirelab.Unavailable, "Test"},
		{"below a file", filepath.Join(taken, "ledger.db"), wirelab.PermissionDenied, "no secret"},
	} {
		_, err := embedded.Open(t.Context(), wirelab.DatabaseAddress{Source: c.source}, databasetest.Data)
		wantCode(t, c.why, err, c.want, c.secret)
	}
	for _, path := range []string{taken, filepath.Join(t.TempDir(), "new", "a?b%41 #c&_pragma=d.db")} {
		o, err := embedded.Open(t.Context(), wirelab.DatabaseAddress{Source: path}, "10x20")
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() < 4096 {
			t.Errorf("%q: %v, %v", path, info, err)
		}
	}
}
