package rabbitmq

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wirelab"
)

// install makes what looks like a server in a folder, and returns its scripts'.
func install(t *testing.T, at, version string) string {
	t.Helper()
	bin := filepath.Join(at, "sbin")
	for _, folder := range []string{bin, filepath.Join(at, "plugins", "rabbit-"+version)} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, script := range []string{"rabbitmq-server", "rabbitmq-env"} {
		if err := os.WriteFile(filepath.Join(bin, script), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

// The latest version counts, by number; a named folder counts alone; whatever is not whole, or a wrapper, is
// none.
func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	old := install(t, filepath.Join(root, "rabbitmq_server-3.9.27"), "3.9.27")
	latest := install(t, filepath.Join(root, "rabbitmq_server-3.10.8"), "3.10.8")
	wrapper := filepath.Join(root, "wrapper")
	if err := os.Mkdir(wrapper, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(wrapper, "rabbitmq-server"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(root, "linked")
	if err := os.Mkdir(linked, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(old, "rabbitmq-server"), filepath.Join(linked, "rabbitmq-server")); err != nil {
		t.Fatal(err)
	}
	everywhere := filepath.Join(root, "rabbitmq_server-*/sbin")
	for name, c := range map[string]struct {
		variables map[string]string
		places    []string
		want      Installation
		code      wirelab.Code
	}{
		"the latest": {places: []string{everywhere}, want: Installation{latest, "3.10.8"}},
		"the named": {
			variables: map[string]string{BinVariable: old}, places: []string{everywhere},
			want: Installation{old, "3.9.27"},
		},
		"a link to one": {places: []string{linked}, want: Installation{old, "3.9.27"}},
		"on the path": {
			variables: map[string]string{"PATH": wrapper + ":relative:" + old},
			want:      Installation{old, "3.9.27"},
		},
		"none":      {code: wirelab.NotFound},
		"a wrapper": {places: []string{wrapper}, code: wirelab.NotFound},
		"named and not there": {
			variables: map[string]string{BinVariable: root}, places: []string{everywhere},
			code: wirelab.NotFound,
		},
	} {
		got, err := find(func(v string) string { return c.variables[v] }, c.places...)
		switch {
		case c.want != Installation{}:
			if err != nil || got != c.want {
				t.Errorf("%s: %v %v, want %v", name, got, err, c.want)
			}
		case err == nil || wirelab.CodeOf(err) != c.code:
			t.Errorf("%s: %v %v, want %v", name, got, err, c.code)
		case !strings.Contains(err.Error(), BinVariable):
			t.Errorf("%s: the error does not say what to do: %v", name, err)
		}
	}
}

// Others' settings take the place of ours, or come after them.
func TestMerge(t *testing.T) {
	t.Parallel()
	ours := []Setting{{"a", "1"}, {"b", "2"}}
	got := merge(ours, []Setting{{"c", "3"}, {"a", "4"}})
	if want := []Setting{{"a", "4"}, {"b", "2"}, {"c", "3"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if ours[0].Value != "1" {
		t.Error("the settings merged into were changed")
	}
}
