package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/doctor"
	"wirelab/lab/result"
	"wirelab/results/report/forms"
	report "wirelab/results/report/json"
	"wirelab/results/store"
	"wirelab/results/store/storetest"
)

func TestResultsList(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run("results", "list").wants(t, desk.ExitOK, nil, []string{"no results"})
	if got := s.run("results", "list", "--json").stdout; got != "[]\n" {
		t.Errorf("no results in JSON: %q", got)
	}
	s.stored(4)
	o := s.run("results", "list")
	o.wants(t, desk.ExitOK, []string{
		storetest.Sample(0).ID,
		"routeguide.GetFeature: grpc, http1-json; 1 and 50 calls in flight", "→ ", "no figure valid",
	}, nil)
	if wide := clitest.Wide(o.stdout); len(wide) > 0 {
		t.Errorf("wider than a terminal: %v", wide)
	}
	list := decode[[]store.Summary](t, s.run("results", "list", "--json", "--protocol", "connect").stdout)
	if len(list) != 1 || list[0].ID != storetest.Sample(1).ID {
		t.Errorf("list %+v", list)
	}
	if list := decode[[]store.Summary](t, s.run("results", "list", "--json", "--limit", "2").stdout); len(list) != 2 {
		t.Errorf("list %+v", list)
	}
}

// Calibration runs answer no question of a user, so a list leaves them out by default.
func TestCalibrationIsNotListed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	r := storetest.Sample(0)
	r.Plan.Name = doctor.BurstName
	text, err := store.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	s.runWith(t.Context(), string(text), "results", "import", "-").wants(t, desk.ExitOK, nil, nil)
	if o := s.run("results", "list"); strings.Contains(o.stdout, r.ID) {
		t.Errorf("listed: %s", o.stdout)
	}
	for _, args := range [][]string{{"--all"}, {"--name", "doctor"}, {"--json"}} {
		s.run(append([]string{"results", "list"}, args...)...).wants(t, desk.ExitOK, []string{r.ID}, nil)
	}
}

// A name stands for its result wherever an id does, and changes nothing of it.
func TestResultsName(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	s.stored(3)
	id := storetest.Sample(1).ID
	checked := s.run("verify", id)
	unnamed := s.run("results", "export", id)
	s.run("results", "name", id, "v1.2 before cache").wants(t, desk.ExitOK, nil,
		[]string{id + ` is named "v1.2 before cache"`})
	s.run("results", "list").wants(t, desk.ExitOK, []string{"“v1.2 before cache”"}, nil)
	for _, args := range [][]string{
		{"results", "show"},
		{"results", "export", "--format", "csv"},
		{"report", "-o", filepath.Join(t.TempDir(), "x.html")},
	} {
		if o := s.run(append(args, "v1.2 before cache")...); o.code == desk.ExitUsage || o.code == desk.ExitFailed {
			t.Errorf("%v: exit code %d, %s", args, o.code, o.stderr)
		}
	}
	if named := s.run("verify", id); named.stdout != checked.stdout || named.code != checked.code {
		t.Errorf("verify says after naming %s, before %s", named.stdout, checked.stdout)
	}
	if byName := s.run("verify", "v1.2 before cache"); byName.code != checked.code {
		t.Errorf("verify by name: %+v", byName)
	}
	if o := s.run("results", "show", "v1.2 before cache"); !strings.Contains(o.stdout, "v1.2 before cache") {
		t.Errorf("the report does not show the name:\n%s", o.stdout)
	}
	if list := decode[[]store.Summary](t,
		s.run("results", "list", "--json", "--name", "v1.2 before cache").stdout); len(list) != 1 || list[0].ID != id ||
		list[0].Label == "" {
		t.Errorf("list %+v", list)
	}
	// The export follows from the result alone, so it can be verified anywhere.
	if named := s.run("results", "export", "v1.2 before cache"); named.stdout != unnamed.stdout ||
		named.code != desk.ExitOK {
		t.Error("the name changed the export")
	}
	s.run("results", "name", "v1.2 before cache").wants(t, desk.ExitOK, nil, []string{id + " has no name now"})
	s.run("results", "show", "v1.2 before cache").wants(t, desk.ExitUsage, nil, []string{"no result"})
	s.run("results", "name", id, "latest").wants(t, desk.ExitUsage, nil, []string{"choose another"})
	s.run("compare", "grpc", "connect", "-w", "routeguide.GetFeature", "--name", "-x").wants(t, desk.ExitUsage, nil,
		[]string{"--name"})
}

func TestResultsRemove(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.stored(2)
	id := storetest.Sample(0).ID
	s.run("results", "rm", id[:15]).wants(t, desk.ExitUsage, nil, []string{"no result", "did you mean " + id})
	s.run("results", "rm", id).wants(t, desk.ExitOK, nil, []string{"removed " + id})
	s.run("results", "rm", id).wants(t, desk.ExitUsage, nil, []string{"no result"})
}

// A result that was rescued from a full store, or comes from another machine, is imported.
func TestResultsImport(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	sample := storetest.Sample(0)
	file, err := store.Rescue(t.TempDir(), sample)
	if err != nil {
		t.Fatal(err)
	}
	s.run("results", "import", file).wants(t, desk.ExitOK, []string{sample.ID}, nil)
	s.run("results", "import", file).wants(t, desk.ExitUsage, nil, []string{"already"})
	text, err := store.Encode(storetest.Sample(1))
	if err != nil {
		t.Fatal(err)
	}
	s.runWith(t.Context(), string(text), "results", "import", "-").wants(t, desk.ExitOK,
		[]string{storetest.Sample(1).ID}, nil)
	s.runWith(t.Context(), "{}", "results", "import", "-").wants(t, desk.ExitUsage, nil, []string{"-: id"})
	later := strings.Replace(string(text), `"schema": 1`, `"schema": 2`, 1)
	s.runWith(t.Context(), later, "results", "import", "-").wants(t, desk.ExitUsage, nil, []string{"schema 2"})
	if list := decode[[]store.Summary](t, s.run("results", "list", "--json").stdout); len(list) != 2 ||
		list[0].Ending != result.RoundsDone {
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
	s.run("results", "list").wants(t, desk.ExitFailed, nil, []string{"damaged or not a store", "WIRELAB_STORE"})
	s.env = map[string]string{}
	s.run("results", "list").wants(t, desk.ExitUsage, nil, []string{"set WIRELAB_STORE"})
}

func TestResultsShow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	for _, command := range []string{"show", "export"} {
		s.run("results", command).wants(t, desk.ExitUsage, nil, []string{"no results yet", "wirelab presets"})
	}
	s.stored(3)
	for id, n := range map[string]int{"": 2, storetest.Sample(1).ID: 1, storetest.Sample(0).ID[:13]: 0} {
		args := strings.Fields("results show " + id)
		s.run(args...).wants(t, desk.ExitOK, []string{storetest.Sample(n).ID, "grpc"}, nil)
		if o := s.run(args...); strings.Contains(o.stdout, "\x1b[") {
			t.Errorf("colours where there is no terminal: %q", o.stdout)
		}
		document := decode[report.Document](t, s.run(append(args, "--json")...).stdout)
		if document.Result.ID != storetest.Sample(n).ID || len(document.Analysis.Loads) != 2 {
			t.Errorf("%q: document of %s with %d loads", id, document.Result.ID, len(document.Analysis.Loads))
		}
	}
	for _, command := range []string{"show", "export"} {
		s.run("results", command, "r-2").wants(t, desk.ExitUsage, nil,
			[]string{"not one result", storetest.Sample(2).ID})
		s.run("results", command, "r-1").wants(t, desk.ExitUsage, nil, []string{"no result", storetest.Sample(2).ID})
	}
}

func TestResultsExport(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	s.stored(1)
	id := storetest.Sample(0).ID
	s.run("results", "export", "--format", "pdf").wants(t, desk.ExitUsage, nil,
		[]string{`unknown format "pdf"; known: `, "json"})
	for _, f := range forms.Exports() {
		file := filepath.Join(t.TempDir(), "out")
		o := s.run("results", "export", id, "--format", f.Name)
		o.wants(t, desk.ExitOK, []string{"grpc"}, nil)
		s.run("results", "export", id, "--format", f.Name, "-o", file).wants(t, desk.ExitOK, nil, nil)
		if written, err := os.ReadFile(file); err != nil || string(written) != o.stdout {
			t.Errorf("%s: the file differs from standard output: %v", f.Name, err)
		}
		if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
			t.Errorf("%s: left behind %v, %v", f.Name, left, err)
		}
		if !strings.Contains(s.run("results", "export", "--help").stdout, "  "+f.Name+" ") {
			t.Errorf("the help does not mention %s", f.Name)
		}
	}
	s.run("results", "export", "-o", filepath.Join(t.TempDir(), "no", "such", "directory")).wants(t, desk.ExitFailed,
		nil, []string{"there is no folder"})

	// A JSON export can be imported elsewhere.
	other := newShell(t)
	other.runWith(t.Context(), s.run("results", "export").stdout, "results", "import", "-").wants(t, desk.ExitOK,
		[]string{id}, nil)
	if s.run("results", "show", id).stdout != other.run("results", "show", id).stdout {
		t.Error("the result differs where it was imported")
	}
}
