package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/store"
	"wirelab/results/store/sqlite"
	"wirelab/results/store/storetest"
)

// readingCommands are all ways to name a file that is read; FILE is its name.
const readingCommands = `results import FILE
verify FILE
report FILE -o -
decide FILE
results check FILE --fail-if errors>1%
run FILE --print-plan
arrivals show FILE
compare grpc -w directory.GetPerson --print-plan --arrivals FILE
call routeguide.GetFeature --protocol grpc --target 127.0.0.1:1 --request @FILE
call routeguide.GetFeature --protocol grpc-tls --target 127.0.0.1:1 --ca FILE`

// Every command ends when it is told to, also while it waits for a writer that never comes. Of what has no end none
// reads on.
func TestReadingEnds(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	fifo := filepath.Join(t.TempDir(), "fifo.json")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	for line := range strings.SplitSeq(readingCommands, "\n") {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan outcome, 1)
		go func() { ended <- s.runWith(ctx, "", strings.Fields(strings.Replace(line, "FILE", fifo, 1))...) }()
		cancel()
		if o := <-ended; o.code != desk.ExitNoWord || !strings.Contains(o.stderr, "interrupted") {
			t.Errorf("%s: exit code %d, %s", line, o.code, o.stderr)
		}
		s.run(strings.Fields(strings.Replace(line, "FILE", "/dev/zero", 1))...).wants(t, desk.ExitUsage, nil,
			[]string{"/dev/zero", "not text"})
	}
}

// A byte-order mark, and UTF-16, which programs on Windows write, change nothing of what a file says.
func TestMarkedFilesAreRead(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	wide := func(text string) string {
		var out bytes.Buffer
		out.WriteString("\xff\xfe")
		for _, r := range text {
			out.Write([]byte{byte(r), byte(r >> 8)})
		}
		return out.String()
	}
	text, err := store.Encode(storetest.Sample(0))
	if err != nil {
		t.Fatal(err)
	}
	for ending, c := range map[string]struct {
		line, text string
		code       int
	}{
		".yaml": {
			"run FILE --print-plan", "workload: directory\noperation: GetPerson\narms: [{protocol: grpc}]\n",
			desk.ExitOK,
		},
		".json":  {"verify FILE", string(text), desk.ExitOK},
		".gaps":  {"arrivals show FILE", `{"inter_arrival_ms":[1,2,3]}`, desk.ExitOK},
		".chaos": {"decide nothing --chaos FILE", "[]", desk.ExitUsage},
	} {
		name := filepath.Join(t.TempDir(), "file"+ending)
		for _, written := range []string{c.text, "\ufeff" + c.text, wide(c.text), wide(c.text)[2:]} {
			if err := os.WriteFile(name, []byte(written), 0o600); err != nil {
				t.Fatal(err)
			}
			o := s.run(strings.Fields(strings.Replace(c.line, "FILE", name, 1))...)
			switch {
			case written == wide(c.text)[2:]:
				if o.code == desk.ExitOK || !strings.Contains(o.stderr+o.stdout, "UTF-16") && c.code == desk.ExitOK {
					t.Errorf("%s in UTF-16 without a mark: %d, %s%s", c.line, o.code, o.stdout, o.stderr)
				}
			case o.code != c.code:
				t.Errorf("%s of % .20x: exit code %d, %s%s", c.line, written, o.code, o.stdout, o.stderr)
			}
		}
	}
}

// A file that was edited does not come into the store, nor is it reported; what came in says from where.
func TestImportChecks(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	r := resulttest.Short(2)
	whole := s.exported(t, r)
	edited := strings.Replace(whole, `"host": "lab"`, `"host": "den"`, 1)
	name := filepath.Join(t.TempDir(), "edited.json")
	if err := os.WriteFile(name, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"results import FILE", "report FILE -o -", "decide FILE"} {
		s.run(strings.Fields(strings.Replace(line, "FILE", name, 1))...).wants(t, desk.ExitUsage, nil,
			[]string{"digest", "edited", "wirelab verify"})
	}
	s.run("verify", name).wants(t, desk.ExitFailed, []string{"does not hold"}, nil)
	s.run("verify", r.ID).wants(t, desk.ExitUsage, nil, []string{"no result"})

	if err := os.WriteFile(name, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run("results", "import", name).wants(t, desk.ExitOK, []string{r.ID}, nil)
	s.run("verify", r.ID).wants(t, desk.ExitOK,
		[]string{"from         imported from " + name + " on ", "its digest was checked", "measured on lab"}, nil)
	alone, err := store.Encode(resulttest.OneArm())
	if err != nil {
		t.Fatal(err)
	}
	s.runWith(t.Context(), string(alone), "results", "import", "-").wants(t, desk.ExitOK, nil, nil)
	s.run("verify", resulttest.OneArm().ID).wants(t, desk.ExitOK,
		[]string{"imported from standard input", "without a digest"}, nil)
}

// exported is the document of a result, made in a separate store.
func (s *shell) exported(t *testing.T, r *result.Result) string {
	t.Helper()
	own := newShell(t)
	kept, err := sqlite.Open(t.Context(), own.env["WIRELAB_STORE"])
	if err == nil {
		err = errors.Join(kept.Put(t.Context(), r), kept.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return own.run("results", "export", r.ID).stdout
}

// What an older wirelab stored under a name that a terminal would obey is shown, and obeyed by none.
func TestHostileNamesAreHarmless(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	r := resulttest.Short(2)
	r.Plan.Name, r.Arms[0].Server = "\x1b[2Jred\u202e\u009b1m", "\x1b]0;title\a<img src=x>|`"
	kept, err := sqlite.Open(t.Context(), s.env["WIRELAB_STORE"])
	if err == nil {
		err = errors.Join(kept.Put(t.Context(), r), kept.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"results list", "results list --json", "results show", "results show --full", "verify latest", "results export",
		"results export --format csv",
		"results export --format markdown", "results export --format benchstat", "report latest -o -",
		"report latest --format svg", "report latest --format jmh",
		"decide latest",
	} {
		o := s.run(strings.Fields(line)...)
		if strings.ContainsAny(o.stdout+o.stderr, "\x1b\a\u202e\u009b") {
			t.Errorf("%s: a terminal would obey this", line)
		}
		if strings.Contains(line, "report latest -o") && strings.Contains(o.stdout, "<img src=x>") {
			t.Errorf("%s: markup of a name is in it", line)
		}
	}
	s.run("results", "list").wants(t, desk.ExitOK, []string{"␛[2Jred"}, nil)
}

// Two versions share a store: what a later one added is marked, kept and not called damaged, by each command.
func TestResultOfLaterWirelab(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	text, err := store.Encode(resulttest.Short(2))
	if err != nil {
		t.Fatal(err)
	}
	later := strings.Replace(string(text), `"host": "lab"`, `"host": "lab", "gpu": {"model": "x"}`, 1)
	later = strings.Replace(later, fmt.Sprintf(`"minor": %d`, result.Minor), `"minor": 99`, 1)
	kept, err := sqlite.Open(t.Context(), s.env["WIRELAB_STORE"])
	if err == nil {
		err = errors.Join(kept.PutText(t.Context(), []byte(later)), kept.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	says := []string{"by a later wirelab (form 1.99, this one knows 1.", "environment.gpu"}
	for _, line := range []string{
		"results show", "results show latest --full", "report latest -o -",
		"results export latest --format csv",
	} {
		o := s.run(strings.Fields(line)...)
		if o.code != desk.ExitOK || !strings.Contains(o.stderr, says[0]) || !strings.Contains(o.stderr, says[1]) ||
			o.stdout == "" {
			t.Errorf("%s: exit code %d, %s", line, o.code, o.stderr)
		}
	}
	s.run("verify", "latest").wants(t, desk.ExitOK, append(says, "checked      digest"), nil)
	s.run("results", "list").wants(t, desk.ExitOK, []string{"grpc"}, nil)
	// The exported document still has it, and verifies.
	exported := s.run("results", "export", "latest").stdout
	if !strings.Contains(exported, `"model": "x"`) {
		t.Error("an export lacks the fields that this wirelab does not know")
	}
	other := newShell(t)
	other.runWith(t.Context(), exported, "verify", "-").wants(t, desk.ExitOK, says, nil)
	other.runWith(t.Context(), exported, "results", "import", "-").wants(t, desk.ExitOK,
		[]string{resulttest.Short(2).ID}, says)
	other.run("verify", "latest").wants(t, desk.ExitOK, []string{"its digest was checked"}, nil)
}

// A database of something else is never written to, whichever command names it.
func TestForeignDatabaseStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n, statements := range []string{
		`CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')`,
		`CREATE TABLE results (id TEXT, score REAL)`,
		`PRAGMA application_id = 1234`,
		`PRAGMA user_version = 7`,
		`PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)`,
	} {
		name := filepath.Join(dir, fmt.Sprintf("%d.db", n))
		db, err := sql.Open("sqlite", name)
		if err == nil {
			_, err = db.ExecContext(t.Context(), statements)
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := newShell(t)
		s.stored(1)
		for _, line := range []string{
			"results list --results", "results show --results", "results pull --all --from",
			"results push --all --to",
		} {
			s.run(append(strings.Fields(line), name)...).wants(t, desk.ExitUsage, nil,
				[]string{name + " is a database of something else", "nothing was written to it", "WIRELAB_STORE"})
		}
		after, err := os.ReadFile(name)
		if left, _ := filepath.Glob(name + "-*"); err != nil || !bytes.Equal(before, after) || len(left) > 0 {
			t.Errorf("%s: it was written to (%v), left %v", statements, err, left)
		}
	}
}

// A store that does not take what was measured costs nobody the report: it is printed, the result is put elsewhere,
// and the command says so and fails.
func TestReportBeforeStoring(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Chdir(t.TempDir()) // where a result is put that the store does not take
	s := newShell(t)
	s.stored(1)
	db, err := sql.Open("sqlite", s.env["WIRELAB_STORE"])
	if err == nil {
		_, err = db.ExecContext(t.Context(),
			`CREATE TRIGGER full BEFORE INSERT ON results BEGIN SELECT RAISE(ABORT, 'no room'); END`)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	o := s.run(brief(1, "--certificate", "none")...)
	if o.code == desk.ExitOK || !strings.Contains(o.stdout, "grpc") ||
		!strings.Contains(o.stderr, "so the result is in ") {
		t.Fatalf("exit code %d\n%s\n%s", o.code, o.stdout, o.stderr)
	}
	files, err := filepath.Glob("r-*.json")
	if err != nil || len(files) != 1 {
		t.Fatalf("rescued: %v, %v", files, err)
	}
	other := newShell(t)
	other.run("results", "import", files[0]).wants(t, desk.ExitOK, []string{strings.TrimSuffix(files[0], ".json")}, nil)
	other.run("verify", "latest").wants(t, desk.ExitOK, []string{"its digest was checked"}, nil)
}

// A request that was saved on Windows is read as well, from wherever it comes.
func TestMarkedRequestsAreRead(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	address, _ := serve(t, "routeguide", "http1-json")
	const request = `{"latitude": 409146138, "longitude": -746188906}`
	wide := []byte("\xff\xfe")
	for _, c := range []byte(request) {
		wide = append(wide, c, 0)
	}
	for _, given := range []string{
		"\ufeff" + request, "@" + fileOf(t, "marked.json", []byte("\ufeff"+request)),
		"@" + fileOf(t, "wide.json", wide),
	} {
		s.run("call", "routeguide.GetFeature", "--protocol", "http1-json", "--target", address, "--request", given).
			wants(t, desk.ExitOK, []string{"Berkshire Valley"}, nil)
	}
}
