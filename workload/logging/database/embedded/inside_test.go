package embedded

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/system/sqlite"
	"wirelab/workload/logging"
	"wirelab/workload/logging/database/databasetest"
)

// inside opens a private file until the test ends.
func inside(t *testing.T, at wirelab.DatabaseAddress) *service {
	t.Helper()
	s, err := open(t.Context(), at, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// No statement looks at all rows, or sorts them: the origin's collection has no
// index at all (ms-D16).
func TestStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	s := inside(t, wirelab.DatabaseAddress{})
	for _, q := range s.queries() {
		rows, err := s.Read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.query, make([]any, 5)...)
		for n := 4; err != nil && n >= 0; n-- { // it says only that there are too many
			rows, err = s.Read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.query, make([]any, n)...)
		}
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			switch {
			case strings.HasSuffix(q.query, "ORDER BY position DESC LIMIT 1"): // from the end, and stops at once
			case strings.HasPrefix(detail, "SCAN entries"), strings.HasPrefix(detail, "USE TEMP B-TREE FOR ORDER BY"):
				t.Errorf("%s: %s", q.query, detail)
			}
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCommitsWaitForTheDisk checks that an acknowledged entry has been synced to disk (S2).
func TestCommitsWaitForTheDisk(t *testing.T) {
	t.Parallel()
	s := inside(t, wirelab.DatabaseAddress{})
	var journal string
	var synchronous int
	if err := s.Write.QueryRowContext(t.Context(),
		"SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous").
		Scan(&journal, &synchronous); err != nil || journal != "wal" || synchronous != 2 {
		t.Errorf("journal %s, synchronous %d (2 is FULL), %v", journal, synchronous, err)
	}
}

// Times do not go back where the clock does: a range of times is looked for as
// one of positions.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	s := inside(t, wirelab.DatabaseAddress{})
	ahead := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	if _, err := s.Write.ExecContext(t.Context(),
		"INSERT INTO entries (id, name, stored, data) VALUES ('ahead', 'n', ?, '')", ahead.UnixMicro()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteLog(t.Context(), logging.Entry{ID: "now", Name: "n"}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.GetEntry(t.Context(), logging.EntryID{ID: "now"}); err != nil || !got.At.Equal(ahead) ||
		got.Position != 2 {
		t.Errorf("%v of %v, %v; want it of %v", got, got.At, err, ahead)
	}
}

// TestFileFull checks that a file that may not grow is reported as such.
func TestFileFull(t *testing.T) {
	t.Parallel()
	s := inside(t, wirelab.DatabaseAddress{})
	if _, err := s.Write.ExecContext(t.Context(), "PRAGMA max_page_count = 500"); err != nil {
		t.Fatal(err)
	}
	databasetest.UntilFull(t, s)
}

// Removing is done in steps, each committed for itself (S14).
func TestRemoveInSteps(t *testing.T) {
	t.Parallel()
	s := inside(t, wirelab.DatabaseAddress{Pool: 1}) // one connection: steps are what it is taken for
	s.removeAtOnce = 7
	for i := range 50 {
		if _, err := s.WriteLog(t.Context(), logging.Entry{ID: fmt.Sprint("e", i), Name: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Acquired.Load()
	deleted, err := s.DeleteEntries(t.Context(),
		logging.Retention{Before: time.Now().Add(time.Hour).Truncate(time.Microsecond)})
	if steps := s.Acquired.Load() - before; err != nil || deleted.Count != 50 || steps != 1+8 {
		t.Errorf("%v were removed in %d statements, want 9; %v", deleted, steps, err)
	}
}

// Who gives up while another process writes is let go, and his entry is not
// stored.
func TestGiveUpWhileWaiting(t *testing.T) {
	t.Parallel()
	at := wirelab.DatabaseAddress{Source: t.TempDir() + "/logging.db"}
	s, other := inside(t, at), inside(t, at)
	tx, err := other.Write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = s.WriteLog(ctx, logging.Entry{Name: "late"})
	if err == nil || wirelab.CodeOf(err) != wirelab.DeadlineExceeded {
		t.Errorf("an entry that waits: %v", err)
	}
	if err := sqlite.Rollback(tx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteLog(t.Context(), logging.Entry{ID: "after", Name: "n"}); err != nil {
		t.Error(err)
	}
	if l, err := s.ListEntries(t.Context(), logging.Query{}); err != nil || len(l.Entries) != 1 ||
		l.Entries[0].ID != "after" {
		t.Errorf("stored: %v, %v", l, err)
	}
}
