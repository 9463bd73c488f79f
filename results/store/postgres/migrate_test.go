package postgres

import (
	"context"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"wirelab"
	"wirelab/results/store"
	"wirelab/results/store/storetest"
	"wirelab/system/postgres"
)

// openWith opens a store as an earlier or later wirelab would, with its
// migrations.
func openWith(t *testing.T, dsn string, files fs.FS) (*Store, error) {
	t.Helper()
	at, err := postgres.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := postgres.Open(t.Context(), dsn, postgres.Pooling{Size: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s := &Store{pool: pool, at: at}
	return s, s.migrate(t.Context(), files)
}

// earlier are our migrations as far as a number, and more.
func earlier(t *testing.T, last string, more map[string]string) fstest.MapFS {
	t.Helper()
	files, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	found := fstest.MapFS{}
	for _, name := range names {
		if name > last {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = &fstest.MapFile{Data: text}
	}
	for name, text := range more {
		found[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)}
	}
	return found
}

// Several that open a new database at once make it once (grb-D06).
func TestSeveralMakeADatabaseOnce(t *testing.T) {
	t.Parallel()
	dsn := database(t, server)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			s, err := Open(t.Context(), dsn)
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			_ = s.Close()
		})
	}
	group.Wait()
	var versions string
	one(t, open(t, dsn), `SELECT string_agg(version_id::text, ' ' ORDER BY id) FROM wirelab_results.schema_version`,
		nil, &versions)
	if versions != "0 1 2 3 4 5" {
		t.Errorf("migrations were run as %s", versions)
	}
}

// Results that an earlier wirelab stored are there when a later one has changed the
// form. A user who may not change it gets an error that says so.
func TestEarlierForm(t *testing.T) {
	t.Parallel()
	dsn := database(t, server)
	old, err := openWith(t, dsn, earlier(t, "00002", nil))
	if err != nil {
		t.Fatal(err)
	}
	// As it did: the table of runs had two columns less.
	p, err := store.Pack(storetest.Sample(0))
	if err != nil {
		t.Fatal(err)
	}
	all := derive(p)
	for _, rows := range all.tables {
		if rows.name == "runs" {
			rows.columns = rows.columns[:len(rows.columns)-2]
			for i := range rows.rows {
				rows.rows[i] = rows.rows[i][:len(rows.columns)]
			}
		}
	}
	if err := old.insert(t.Context(), all, p); err != nil {
		t.Fatal(err)
	}
	ask(t, dsn, `CREATE ROLE visitor LOGIN PASSWORD 'v'`, `GRANT USAGE ON SCHEMA wirelab_results TO visitor`,
		`GRANT SELECT ON ALL TABLES IN SCHEMA wirelab_results TO visitor`)
	_, err = Open(t.Context(), dsnOf(t, dsn, func(u *url.URL) { u.User = url.UserPassword("visitor", "v") }))
	if err == nil || wirelab.CodeOf(err) != wirelab.PermissionDenied ||
		!strings.Contains(err.Error(), "form 1, wanted 5") {
		t.Errorf("one who may not change it: %v", err)
	}
	s := open(t, dsn)
	if _, err := s.Get(t.Context(), storetest.Sample(0).ID); err != nil {
		t.Error(err)
	}
	if all := readStats(t, s, storetest.Sample(0).ID); len(all) == 0 {
		t.Error("the views do not show what was stored before there were any")
	}
}

// A migration that fails leaves nothing of itself, and what was stored.
func TestBrokenMigration(t *testing.T) {
	t.Parallel()
	dsn := database(t, server)
	s := open(t, dsn)
	puts(t, s, storetest.Small(0))
	for range 2 {
		later, err := openWith(t, dsn, earlier(t, "9", map[string]string{
			"00006_note.sql": "CREATE TABLE wirelab_results.note (text text); INSERT INTO wirelab_results.note " +
				"VALUES ('once');",
			"00007_broken.sql": "INSERT INTO wirelab_results.note VALUES ('half'); SELECT * FROM nowhere;",
		}))
		if err == nil {
			t.Fatal("a broken migration is not told")
		}
		var notes string
		one(t, later, `SELECT string_agg(text, ' ') FROM wirelab_results.note`, nil, &notes)
		if notes != "once" {
			t.Errorf("notes: %s", notes)
		}
	}
	if _, err := Open(t.Context(), dsn); wirelab.CodeOf(err) != wirelab.Unimplemented {
		t.Errorf("this wirelab is the earlier one now: %v", err)
	}
	if list, err := s.List(t.Context(), store.Filter{}); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// Where the origin's own tables are, they stay as they are, and the views are
// found under the schema's name.
func TestTheOriginsOwnTablesStay(t *testing.T) {
	t.Parallel()
	dsn := database(t, server)
	ask(t, dsn, `CREATE TABLE benchmark_runs (id serial PRIMARY KEY, scenario text)`,
		`INSERT INTO benchmark_runs (scenario) VALUES ('balance')`)
	s := open(t, dsn)
	puts(t, s, ledgerResult())
	var theirs, ours, between int
	one(t, s, `SELECT count(*) FROM benchmark_runs`, nil, &theirs)
	one(t, s, `SELECT count(*) FROM wirelab_results.benchmark_runs`, nil, &ours)
	one(t, s, `SELECT count(*) FROM pg_views WHERE schemaname = 'public'`, nil, &between)
	if theirs != 1 || ours != 4 || between != 0 {
		t.Errorf("%d runs of theirs, %d of ours, %d views among theirs", theirs, ours, between)
	}
	// With our schema first, the same SQL finds ours.
	c := dsnOf(t, dsn, func(u *url.URL) { u.RawQuery += "&search_path=wirelab_results,public" })
	first, err := postgres.Open(context.WithoutCancel(t.Context()), c, postgres.Pooling{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if err := first.QueryRow(t.Context(), `SELECT count(*) FROM benchmark_runs`).Scan(&ours); err != nil || ours != 4 {
		t.Errorf("%d, %v", ours, err)
	}
}
