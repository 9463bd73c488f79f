package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"wirelab/results/store"
	"wirelab/results/store/storetest"
	"wirelab/system/sqlite"
)

func TestMigrationsRunOnceAndWholly(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "results.db"))
	defer closing(t, s)
	if err := s.Put(t.Context(), storetest.Sample(0)); err != nil {
		t.Fatal(err)
	}
	files := migrationsTo(t, 99)
	ours := len(files)
	add := func(n int, name, text string) string {
		name = fmt.Sprintf("migrations/%04d_%s.sql", ours+n, name)
		files[name] = &fstest.MapFile{Data: []byte(text)}
		return name
	}
	add(1, "note", "CREATE TABLE note (text TEXT) STRICT; INSERT INTO note VALUES ('once');")
	broken := add(2, "broken", "INSERT INTO note VALUES ('half'); SELECT * FROM nowhere;")
	for range 2 {
		if err := migrate(t.Context(), s.write, files, s.path); err == nil || !strings.Contains(err.Error(), broken) {
			t.Errorf("broken migration: %v", err)
		}
	}
	delete(files, broken)
	for range 2 {
		if err := migrate(t.Context(), s.write, files, s.path); err != nil {
			t.Error(err)
		}
	}
	var notes string
	if err := s.read.QueryRowContext(t.Context(), "SELECT group_concat(text) FROM note").Scan(&notes); err != nil ||
		notes != "once" {
		t.Errorf("notes %q, %v; want one", notes, err)
	}
	if _, err := s.Get(t.Context(), storetest.Sample(0).ID); err != nil {
		t.Errorf("a result of before: %v", err)
	}
	add(3, "gap", "")
	if err := migrate(t.Context(), s.write, files, s.path); err == nil {
		t.Error("a gap in the numbers is not seen")
	}
}

// A result put before there were digests has none, and is as good as before.
func TestResultsFromBeforeDigests(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.db")
	r := storetest.Sample(0)
	packed, err := store.Pack(r)
	if err != nil {
		t.Fatal(err)
	}
	// An old file, and what was put into it.
	old, err := sqlite.Open(path, 1, busyTimeout)
	if err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), old, migrationsTo(t, 1), path); err != nil {
		t.Fatal(err)
	}
	_, err = old.ExecContext(t.Context(),
		`INSERT INTO results VALUES (?, 1, 'plan-0', 'routeguide', 'GetFeature', ' grpc ', 2, 2, 2, ?, 0, 'rounds done', 'lab', '', ?)`,
		r.ID, r.Began.UnixMicro(), packed.Body)
	if err := errors.Join(err, old.Close()); err != nil {
		t.Fatal(err)
	}
	later := open(t, path)
	defer closing(t, later)
	if got, err := later.Raw(t.Context(), r.ID); err != nil || got.Digest != "" || len(got.JSON) == 0 {
		t.Errorf("%+v, %v", got.Summary, err)
	}
	if _, err := later.Get(t.Context(), r.ID); err != nil {
		t.Error(err)
	}
	if err := later.Put(t.Context(), storetest.Sample(1)); err != nil {
		t.Error(err)
	}
}

// migrationsTo returns the migrations as far as a number, as an earlier wirelab had them.
func migrationsTo(t *testing.T, last int) fstest.MapFS {
	t.Helper()
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, name := range names[:min(last, len(names))] {
		text, err := fs.ReadFile(migrationFiles, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	return files
}

// Whatever the filter, no list reads a body: it is as fast with large results
// as with small ones (grb-D12).
func TestListsReadAnIndexAlone(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "results.db"))
	defer closing(t, s)
	everything := store.Filter{
		Name: "a", Workload: "a", Operation: "a", Protocol: "a", Host: "a",
		Since: storetest.Sample(0).Began, Until: storetest.Sample(1).Began,
		After: store.Cursor{Began: storetest.Sample(0).Began, ID: "a"},
	}
	for name, f := range map[string]store.Filter{
		"all": {}, "everything": everything, "name": {Name: "a"}, "host": {Host: "a"}, "protocol": {Protocol: "a"},
		"since": {Since: everything.Since}, "after": {After: everything.After},
	} {
		for what, query := range map[string]func(store.Filter) (string, []any){"list": listQuery, "total": totalQuery} {
			text, args := query(f)
			if what == "list" {
				args = append(args, 50)
			}
			plan := explainPlan(t, s, text, args)
			if !strings.Contains(plan, "USING COVERING INDEX results_listed") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s of %s: %s", what, name, plan)
			}
		}
	}
}

// explainPlan tells how SQLite would answer a query.
func explainPlan(t *testing.T, s *Store, query string, args []any) string {
	t.Helper()
	rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "; ")
}
