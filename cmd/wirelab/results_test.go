package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	report "wirelab/report/json"
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

func TestResultsShow(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, command := range []string{"show", "export"} {
		s.run("results", command).wants(t, exitUsage, nil, []string{"no results yet", "wirelab presets"})
	}
	s.stored(3)
	for id, n := range map[string]int{"": 2, storetest.Sample(1).ID: 1, storetest.Sample(0).ID[:13]: 0} {
		args := strings.Fields("results show " + id)
		s.run(args...).wants(t, exitOK, []string{storetest.Sample(n).ID, "grpc"}, nil)
		if o := s.run(args...); strings.Contains(o.stdout, "\x1b[") {
			t.Errorf("colours where there is no terminal: %q", o.stdout)
		}
		document := decode[report.Document](t, s.run(append(args, "--json")...).stdout)
		if document.Result.ID != storetest.Sample(n).ID || len(document.Analysis.Loads) != 2 {
			t.Errorf("%q: document of %s with %d loads", id, document.Result.ID, len(document.Analysis.Loads))
		}
	}
	for _, command := range []string{"show", "export"} {
		s.run("results", command, "r-2").wants(t, exitUsage, nil, []string{"not one result", storetest.Sample(2).ID})
		s.run("results", command, "r-1").wants(t, exitUsage, nil, []string{"no result", storetest.Sample(2).ID})
	}
}

func TestResultsExport(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.stored(1)
	id := storetest.Sample(0).ID
	s.run("results", "export", "--format", "pdf").wants(t, exitUsage, nil, []string{`unknown format "pdf"; known: `, "json"})
	for _, f := range exportFormats() {
		file := filepath.Join(t.TempDir(), "out")
		o := s.run("results", "export", id, "--format", f.name)
		o.wants(t, exitOK, []string{"grpc"}, nil)
		s.run("results", "export", id, "--format", f.name, "-o", file).wants(t, exitOK, nil, nil)
		if written, err := os.ReadFile(file); err != nil || string(written) != o.stdout {
			t.Errorf("%s: the file differs from standard output: %v", f.name, err)
		}
		if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
			t.Errorf("%s: left behind %v, %v", f.name, left, err)
		}
		if !strings.Contains(s.run("results", "export", "--help").stdout, "  "+f.name+" ") {
			t.Errorf("the help does not tell of %s", f.name)
		}
	}
	s.run("results", "export", "-o", filepath.Join(t.TempDir(), "no", "such", "directory")).wants(t, exitUsage, nil, []string{"-o"})

	// What is exported as json goes in again, elsewhere.
	other := newShell(t)
	other.runWith(t.Context(), s.run("results", "export").stdout, "results", "import", "-").wants(t, exitOK, []string{id}, nil)
	if s.run("results", "show", id).stdout != other.run("results", "show", id).stdout {
		t.Error("the result differs where it was imported")
	}
}
