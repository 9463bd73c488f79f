package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"wirelab/system/sqlite"
)

// opened is a pool without its own patience that closes with the test.
func opened(t *testing.T, path string, pragmas ...string) *sql.DB {
	t.Helper()
	db, err := sqlite.Open(path, 1, 0, pragmas...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Several that make a file at once all get on with it.
func TestFileIsMadeByAll(t *testing.T) {
	t.Parallel()
	for round := range 20 {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d%%20?.db", round))
		var all sync.WaitGroup
		for range 6 {
			db := opened(t, path, "journal_mode(WAL)")
			all.Go(func() {
				err := sqlite.WhileBusy(t.Context(), func() error {
					_, err := db.ExecContext(t.Context(), `CREATE TABLE IF NOT EXISTS made (n INTEGER)`)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// A file that is busy for as long as one would wait is said to be, and another failure is not tried again.
func TestWhileBusyEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "held.db")
	holder := opened(t, path)
	held, err := holder.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback() }()
	other := opened(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tries := 0
	err = sqlite.WhileBusy(ctx, func() error {
		if tries++; tries == 2 {
			cancel()
		}
		_, err := other.ExecContext(t.Context(), `CREATE TABLE another (n INTEGER)`)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "locked") || tries < 2 {
		t.Errorf("%d tries of a file that is held: %v", tries, err)
	}
	tries = 0
	if err := sqlite.WhileBusy(t.Context(), func() error { tries++; return context.Canceled }); !errors.Is(err,
		context.Canceled) || tries != 1 {
		t.Errorf("%d tries: %v", tries, err)
	}
}
