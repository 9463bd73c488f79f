package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/wire/status"
)

// said is a program that prints something, whatever it is asked.
func said(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\ncat <<'END'\n"+text+"\nEND\n"), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// hermes stands for any program of ours.
var hermes = Program{File: "hermes", Title: "Hermes", Variable: "WIRELAB_HERMES"}

const ours = `{"version":"v1.2.3","commit":"0123","go":"go1","platform":"linux/amd64"}`

// The program is the one that is named, else the one next to this one, else the first on the path; a script
// engine of that name is none, and neither is a folder or what no one may run.
func TestFind(t *testing.T) {
	t.Parallel()
	engine, beside, onPath, locked, folder := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	said(t, engine, "hermes", "Hermes JavaScript compiler 0.12.0", 0o700)
	said(t, locked, "hermes", ours, 0o600)
	named := said(t, engine, "other", ours, 0o700)
	near, far := said(t, beside, "hermes", ours, 0o700), said(t, onPath, "hermes", ours, 0o700)
	if err := os.Mkdir(filepath.Join(folder, "hermes"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{"", ".", engine, locked, folder, onPath}, string(os.PathListSeparator))
	for _, c := range []struct {
		why, variable, self, path string
		want                      string // a program, or words of what is wrong
	}{
		{"it is named", named, filepath.Join(beside, "wirelab"), path, named},
		{"it lies next to it", "", filepath.Join(beside, "wirelab"), path, near},
		{"it is on the path", "", filepath.Join(engine, "wirelab"), path, far},
		{"who knows where this program is", "", "", path, far},
		{"nowhere", "", filepath.Join(engine, "wirelab"), engine, "make build"},
		{
			"what is named is another's", filepath.Join(engine, "hermes"), filepath.Join(beside, "wirelab"), path,
			"which is not Hermes",
		},
		{"what is named is not there", "/no/such/program", filepath.Join(beside, "wirelab"), path, "no such file"},
	} {
		getenv := func(key string) string { return map[string]string{hermes.Variable: c.variable, "PATH": c.path}[key] }
		found, err := hermes.find(t.Context(), getenv, c.self)
		if filepath.IsAbs(c.want) {
			if err != nil || found != (Installation{c.want, "v1.2.3"}) {
				t.Errorf("%s: %+v, %v, want %s", c.why, found, err, c.want)
			}
		} else if err == nil || status.CodeOf(err) != status.NotFound || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), hermes.Variable) {
			t.Errorf("%s: %+v, %v, want %s", c.why, found, err, c.want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := hermes.find(ended, func(string) string { return "" }, filepath.Join(beside, "wirelab")); err == nil ||
		status.CodeOf(err) != status.Canceled {
		t.Errorf("an ended context: %v", err)
	}
}
