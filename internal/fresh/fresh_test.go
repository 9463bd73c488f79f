package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGeneratedCodeIsFresh(t *testing.T) {
	t.Parallel()
	if err := run([]string{"-root", "../.."}, io.Discard); err != nil {
		t.Error(err)
	}
}

// module is one with a schema, the code generated from it, and a type that gqlgen reads.
func module(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"build/tools/go.mod":     "module tools\nrequire example.org/buf v1\n",
		"mill/schema/m.proto":    "message M {}\n",
		"mill/schema/gqlgen.yml": "models:\n  M:\n    model: wirelab/mill.M\n",
		"mill/gen/m.pb.go":       "package gen\n",
		"mill/mill.go": "package mill\n\n// M is one.\ntype M struct{ A int }\n\nfunc (M) B() int { " +
			"return 1 }\n",
		"mill/other.txt": "a\n",
		sums:             "",
	} {
		put(t, root, name, text)
	}
	if err := run([]string{"-root", root, "-write"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	return root
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever goes in or came out and was changed since is found and named; what no
// generator reads or writes may change.
func TestStale(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		name, text string
		want       string // "" if the code is fresh all the same
	}{
		"nothing":      {"mill/other.txt", "b\n", ""},
		"a schema":     {"mill/schema/m.proto", "message N {}\n", "mill/schema/m.proto has changed"},
		"a new schema": {"mill/schema/n.proto", "message N {}\n", "mill/schema/n.proto is new"},
		"the version of a generator": {
			"build/tools/go.mod", "module tools\nrequire example.org/buf v2\n",
			"build/tools/go.mod has changed",
		},
		"the settings of a generator": {
			"mill/schema/gqlgen.yml", "models:\n  N:\n    model: wirelab/mill.M\n",
			"mill/schema/gqlgen.yml has changed",
		},
		"a generated file": {"mill/gen/m.pb.go", "package gen // by hand\n", "mill/gen/m.pb.go is not as it " +
			"was generated"},
		"a file among generated ones": {"mill/gen/n.go", "package gen\n", "mill/gen/n.go was not generated"},
		"a type that a generator reads": {
			"mill/mill.go",
			"package mill\n\ntype M struct{ A string }\n\nfunc (M) B() int " +
				"{ return 1 }\n", "mill has changed",
		},
		"a method that a generator sees": {
			"mill/mill.go",
			"package mill\n\ntype M struct{ A int }\n\nfunc (M) C() int { " +
				"return 1 }\n", "mill has changed",
		},
		"the body of a method": {"mill/mill.go", "package mill\n\n// M is two.\ntype M struct{ A int }\n\nfunc " +
			"(M) B() int { return 2 }\n", ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			root := module(t)
			put(t, root, c.name, c.text)
			var said bytes.Buffer
			err := run([]string{"-root", root}, &said)
			if c.want == "" && (err != nil || said.String() != "generated code is fresh\n") {
				t.Errorf("%v, said %q", err, &said)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(),
				"make generate")) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	t.Run("a generated file that is gone", func(t *testing.T) {
		t.Parallel()
		root := module(t)
		if err := os.Remove(filepath.Join(root, "mill/gen/m.pb.go")); err != nil {
			t.Fatal(err)
		}
		if err := run([]string{"-root", root}, io.Discard); err == nil || !strings.Contains(err.Error(),
			"mill/gen/m.pb.go is gone") {
			t.Error(err)
		}
	})
}
