package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/desk"
	"wirelab/results/report/verify"
)

// keptResults has results that an earlier build measured and stored, one of each kind of load, and what is said about
// them.
const keptResults = "../../results/testdata/kept"

var updateKept = flag.Bool("update-kept", false,
	"write the reports of kept results into testdata; understand each difference before committing it")

// A result that an earlier build stored must open, verify and compare as it did then. No later build may read another
// number from it. Only sentences may change.
func TestKeptResults(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(keptResults, "*.json.gz"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d kept results, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json.gz")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := unpacked(t, file)
			var kept struct {
				Result struct {
					ID string `json:"id"`
				} `json:"result"`
			}
			if err := json.Unmarshal(document, &kept); err != nil || kept.Result.ID == "" {
				t.Fatalf("it has no id: %v", err)
			}
			id := kept.Result.ID
			s := newShell(t)
			s.runWith(t.Context(), string(document), "results", "import", "-").wants(t, desk.ExitOK, []string{id}, nil)
			s.run("verify", id).wants(t, desk.ExitOK, nil, nil)
			again := s.run("results", "export", id, "--format", "json").stdout
			// Claims hold sentences too. They may have other words, if verify knows these.
			if was, is := reworded(unprinted(t, string(document)), unprinted(t, again)); was != is {
				t.Errorf("the document changed in the store, or the figures made from it did:\n%s", firstChange(was, is))
			}
			// Of what it prints only the words may have changed, and only those that verify knows.
			s.runWith(t.Context(), string(document), "verify", "-").wants(t, desk.ExitOK, nil, nil)
			sameAsKept(t, name+".csv.gz", s.run("results", "export", id, "--format", "csv").stdout)
			sameAsKept(t, name+".txt", s.run("results", "show", id, "--full").stdout)
			page := filepath.Join(t.TempDir(), "report.html")
			s.run("report", id, "-o", page).wants(t, desk.ExitOK, nil, nil)
			s.run("results", "export", id, "--format", "markdown").wants(t, desk.ExitOK, nil, nil)
		})
	}
}

// reworded puts the lines of a document that differ from another's into the words of today.
func reworded(was, is string) (string, string) {
	before, after := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			before[i] = verify.Reworded(before[i])
		}
	}
	return strings.Join(before, "\n"), is
}

// unprinted is a document up to the report as people read it, which comes last.
func unprinted(t *testing.T, document string) string {
	t.Helper()
	facts, _, found := strings.Cut(document, "\n  \"printed\": {")
	if !found {
		t.Fatal("the document has no printed report")
	}
	return facts
}

func sameAsKept(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(keptResults, name)
	if *updateKept {
		keep(t, file, got)
		return
	}
	if want := string(unpacked(t, file)); got != want {
		t.Errorf("%s changed:\n%s", name, firstChange(want, got))
	}
}

// firstChange shows the first line in which two texts differ.
func firstChange(was, is string) string {
	before, after := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			return "was " + before[i] + "\nis  " + after[i]
		}
	}
	return "one is the beginning of the other"
}

// unpacked is the content of a file, decompressed where its name ends in .gz.
func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(file, ".gz") {
		return content
	}
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if content, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return content
}

func keep(t *testing.T, file, text string) {
	t.Helper()
	content := []byte(text)
	if strings.HasSuffix(file, ".gz") {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		content = b.Bytes()
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
