package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"wirelab"
	"wirelab/system/sqlite"
)

// located is a file of a kind with these migrations, connected until the test ends.
func located(t *testing.T, path string, mark int32, scripts ...string) *sqlite.File {
	t.Helper()
	files := fstest.MapFS{}
	for i, script := range scripts {
		files["migrations/"+string(rune('1'+i))+".sql"] = &fstest.MapFile{Data: []byte(script)}
	}
	f := &sqlite.File{}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := f.Locate(sqlite.Kind{Holds: "log", Stem: "log", Mark: mark, Migrations: files, Busy: time.Second},
		path); err != nil {
		t.Fatal(err)
	}
	if err := f.Connect(0); err != nil {
		t.Fatal(err)
	}
	return f
}

// A migration that fails leaves nothing of itself and what was there before; an earlier form continues where it
// stopped, and a later one or another's is left alone (grb-D05, grb-D06, S12).
func TestMigrate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kept.db")
	const once, half = `CREATE TABLE note (text TEXT); INSERT INTO note VALUES ('once')`,
		`INSERT INTO note VALUES ('half'); `
	for _, c := range []struct {
		why   string
		mark  int32
		steps []string
		fails bool
		code  wirelab.Code // if it fails
		notes string
	}{
		{"new", 7, []string{once}, false, 0, "once"},
		{"nothing to do", 7, []string{once}, false, 0, "once"},
		{"a step that fails", 7, []string{once, half + `SELECT * FROM nowhere`}, true, wirelab.Internal, "once"},
		{"another's", 8, []string{once}, true, wirelab.Conflict, "once"},
		{"the step mended", 7, []string{once, half}, false, 0, "once,half"},
		{"an earlier wirelab", 7, []string{once}, true, wirelab.Unimplemented, "once,half"},
	} {
		f := located(t, path, c.mark, c.steps...)
		err := f.Explain(t.Context(), f.Migrate(t.Context(), f.Write))
		if c.fails != (err != nil) ||
			c.fails && (wirelab.CodeOf(err) != c.code || strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v, want failure %v, %v", c.why, err, c.fails, c.code)
		}
		var notes string
		if err := f.Read.QueryRowContext(t.Context(), `SELECT group_concat(text) FROM note`).Scan(&notes); err != nil ||
			notes != c.notes {
			t.Errorf("%s: notes %q, %v", c.why, notes, err)
		}
	}
}

// What fails once a file is shut is reported as its end.
func TestShut(t *testing.T) {
	t.Parallel()
	f := located(t, "", 7)
	if use := f.Use(); !f.Private() || use.Size != wirelab.PoolSize {
		t.Errorf("private %v, %+v", f.Private(), use)
	}
	f.Shut()
	_, err := f.Write.ExecContext(t.Context(), `SELECT * FROM nowhere`)
	if err = f.Explain(t.Context(), err); err == nil || wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("after the end: %v", err)
	}
}
