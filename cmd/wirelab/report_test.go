package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/desk"
	"wirelab/results/report/forms"
	"wirelab/results/store/storetest"
)

func TestReport(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	s.run("report", "latest").wants(t, desk.ExitUsage, nil, []string{"no results yet"})
	s.run("report").wants(t, desk.ExitUsage, nil, []string{"needs ids or files"})
	s.stored(2)
	id := storetest.Sample(0).ID
	help := s.run("report", "--help").stdout
	for _, f := range forms.Reports() {
		if !strings.Contains(help, "  "+f.Name+" ") {
			t.Errorf("the help does not mention %s", f.Name)
		}
		file := filepath.Join(t.TempDir(), "out")
		s.run("report", id, "--format", f.Name, "-o", file).wants(t, desk.ExitOK, nil,
			[]string{file + ": the report of " + id})
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if o := s.run("report", id, "--format", f.Name, "-o", "-"); o.code != desk.ExitOK || o.stdout != string(text) {
			t.Errorf("%s: standard output has %d bytes, the file %d: %d %s", f.Name, len(o.stdout), len(text), o.code,
				o.stderr)
		}
	}
	page := s.run("report", id, "-o", "-").stdout
	if !strings.HasPrefix(page, "<!doctype html>") || !strings.Contains(page, id) {
		t.Errorf("no page: %.60q", page)
	}
	// What was exported is read as what was stored.
	file := filepath.Join(t.TempDir(), "result.json")
	s.run("results", "export", id, "-o", file).wants(t, desk.ExitOK, nil, nil)
	if again := s.run("report", file, "-o", "-").stdout; again != page {
		t.Error("the page of the exported file is another")
	}
}

func TestReportOfSeveral(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.stored(2)
	folder := filepath.Join(t.TempDir(), "new", "site") + "/"
	s.run("report", storetest.Sample(0).ID, "latest", "-o", folder).wants(t, desk.ExitOK, nil, []string{".html"})
	for n := range 2 {
		if _, err := os.Stat(filepath.Join(folder, storetest.Sample(n).ID+".html")); err != nil {
			t.Error(err)
		}
	}
	s.run("report", storetest.Sample(0).ID, "latest", "-o", filepath.Join(folder, "one.html")).wants(t, desk.ExitUsage,
		nil, []string{"-o must be a folder for 2 results"})
}

func TestReportErrors(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.stored(1)
	id := storetest.Sample(0).ID
	place := t.TempDir()
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"an unknown result lists those there are", []string{"report", "r-1", "-o", "-"}, desk.ExitUsage, id},
		{"a file that is not there", []string{"report", "./no.json"}, desk.ExitUsage, "no.json"},
		{
			"an unknown format",
			[]string{"report", id, "--format", "pdf"},
			desk.ExitUsage,
			`unknown format "pdf"; known: benchstat, csv, html, jmh`,
		},
		{
			"a folder that is not there",
			[]string{"report", id, "-o", filepath.Join(place, "no", "page.html")},
			desk.ExitFailed, "there is no folder",
		},
		{"a full disk", []string{"report", id, "-o", "/dev/full"}, desk.ExitFailed, "the disk is full"},
		{"nothing to open", []string{"report", id, "--format", "csv", "--open"}, desk.ExitUsage, "--open shows a page"},
		{
			"one unknown of two: nothing is written",
			[]string{"report", id, "r-1", "-o", place},
			desk.ExitUsage,
			"no result",
		},
	} {
		o := s.run(c.args...)
		if o.code != c.code || !strings.Contains(o.stderr, c.says) {
			t.Errorf("%s: %d %q, want %d with %q", c.name, o.code, o.stderr, c.code, c.says)
		}
	}
	if left, err := os.ReadDir(place); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
