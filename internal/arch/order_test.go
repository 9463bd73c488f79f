package arch

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// order are the folders of the root, from the top: each may import what stands below it. The programs of internal that
// make and check the project stand outside. Below the root is what it has in common with programs that need
// nothing of the lab.
var order = []string{
	"cmd", "results", "lab", "pipeline", "workload", "broker", "hermes", "system", "wire", "internal", ".",
	"wire/endpoint", "wire/status",
}

// rootMost is the most folders of the root.
const rootMost = 14

// upward are the imports against the order that there still are, by folder and package. The parts of a pipeline are
// children that speak the lab's messages. The list may shrink.
var upward = map[string][]string{
	"pipeline/stack": {"lab/control", "lab/probe", "lab/result", "lab/target"},
	"wire/status":    {"internal/nearest"}, // it imports nothing
}

// folder is what stands in order for a package: the folder of the root that it is in, or itself if it is listed
// there. "." is the root.
func folder(dir string) string {
	if slices.Contains(order, dir) {
		return dir
	}
	top, _, _ := strings.Cut(dir, "/")
	return top
}

// program reports whether a package of internal makes or checks the project, and is imported by none.
func program(all []file, dir string) bool {
	return strings.HasPrefix(dir, "internal/") && slices.ContainsFunc(all, func(f file) bool {
		return f.dir == dir && f.ast.Name.Name == "main"
	})
}

// Imports go down, but for those that are listed; and each listed one is there.
func TestOrder(t *testing.T) {
	t.Parallel()
	all := load(t)
	seen := map[string][]string{}
	for _, f := range all {
		if f.test || suite(f.dir) || program(all, f.dir) {
			continue
		}
		for _, spec := range f.ast.Imports {
			imported, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
			if imported = strings.TrimPrefix(imported, "/"); !ours {
				continue
			}
			if imported == "" {
				imported = "."
			}
			from, to := slices.Index(order, folder(f.dir)), slices.Index(order, folder(imported))
			if from < 0 || to < 0 {
				t.Errorf("%s: %s or %s is no folder of the order", f.path, folder(f.dir), folder(imported))
			}
			if from > to {
				if !slices.Contains(upward[f.dir], imported) {
					t.Errorf("%s imports %s, which stands above it in %v", f.path, imported, order)
				}
				seen[f.dir] = append(seen[f.dir], imported)
			}
		}
	}
	for dir, listed := range upward {
		for _, imported := range listed {
			if !slices.Contains(seen[dir], imported) {
				t.Errorf("%s imports %s no more: take it off the list", dir, imported)
			}
		}
	}
}

// A stranger looks at the root first.
func TestRoot(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "bin" {
			folders = append(folders, e.Name())
		}
	}
	if len(folders) > rootMost {
		t.Errorf("%d folders at the root, want %d at most: %v", len(folders), rootMost, folders)
	}
}
