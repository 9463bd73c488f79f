package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/result"
	"wirelab/store"
	"wirelab/store/storetest"
)

func TestResultsList(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run("results", "list").wants(t, exitOK, nil, []string{"no results"})
	if got := s.run("results", "list", "--json").stdout; got != "[]\n" {
		t.Errorf("no results in JSON: %q", got)
	}
	s.stored(4)
	s.run("results", "list").wants(t, exitOK, []string{"ID", storetest.Sample(0).ID, "routeguide.GetFeature", "grpc http1-json", "rounds done"}, nil)
	list := decode[[]store.Summary](t, s.run("results", "list", "--json", "--protocol", "connect").stdout)
	if len(list) != 1 || list[0].ID != storetest.Sample(1).ID {
		t.Errorf("list %+v", list)
	}
	// The samples began in 2026, so a store of any other time holds none of the last hour.
	if list := decode[[]store.Summary](t, s.run("results", "list", "--json", "--limit", "2").stdout); len(list) != 2 {
		t.Errorf("list %+v", list)
	}
}

func TestResultsRemove(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.stored(2)
	id := storetest.Sample(0).ID
	s.run("results", "rm", id[:15]).wants(t, exitUsage, nil, []string{"no result", storetest.Sample(1).ID})
	s.run("results", "rm", id).wants(t, exitOK, nil, []string{"removed " + id})
	s.run("results", "rm", id).wants(t, exitUsage, nil, []string{"no result"})
}

// What is rescued from a full store, or comes from another machine, is taken in.
func TestResultsImport(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	sample := storetest.Sample(0)
	file, err := store.Rescue(t.TempDir(), sample)
	if err != nil {
		t.Fatal(err)
	}
	s.run("results", "import", file).wants(t, exitOK, []string{sample.ID}, nil)
	s.run("results", "import", file).wants(t, exitUsage, nil, []string{"already"})
	text, err := store.Encode(storetest.Sample(1))
	if err != nil {
		t.Fatal(err)
	}
	s.runWith(t.Context(), string(text), "results", "import", "-").wants(t, exitOK, []string{storetest.Sample(1).ID}, nil)
	s.runWith(t.Context(), "{}", "results", "import", "-").wants(t, exitUsage, nil, []string{"-: id"})
	later := strings.Replace(string(text), `"schema": 1`, `"schema": 2`, 1)
	s.runWith(t.Context(), later, "results", "import", "-").wants(t, exitUsage, nil, []string{"schema 2"})
	if list := decode[[]store.Summary](t, s.run("results", "list", "--json").stdout); len(list) != 2 || list[0].Ending != result.RoundsDone {
		t.Errorf("list %+v", list)
	}
}

func TestStoreThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env["WIRELAB_STORE"] = filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(s.env["WIRELAB_STORE"], []byte(strings.Repeat("not a store\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run("results", "list").wants(t, exitFailed, nil, []string{"damaged or not a store", "WIRELAB_STORE"})
	s.env = map[string]string{}
	s.run("results", "list").wants(t, exitUsage, nil, []string{"set WIRELAB_STORE"})
}
