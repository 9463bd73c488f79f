package arch

import (
	"slices"
	"strings"
	"testing"
)

// alone is what Hermes may be built of, with what its packages import in turn. Patterns are those of [rule].
// Hermes is measured by the lab and needs none of it: neither its vocabulary nor a load, a result, a workload
// or another server. An addition here is wire plumbing, or a foundation that knows nothing of the product.
var alone = []string{
	"cmd/hermes", "cmd/internal/cli",
	"hermes/**",
	"wire/acceptloop", "wire/endpoint", "wire/codec", "wire/graphql", "wire/grpc", "wire/http1", "wire/httprpc",
	"wire/rfc3339",
	"wire/multiplex", "wire/rebinding", "wire/panics", "wire/sse", "wire/status", "wire/stream", "wire/jsontext",
	"internal/daemon", "internal/fault", "internal/input", "internal/nearest", "internal/paragraph",
	"internal/affinity", "internal/process",
}

// labs are the folders that alone may not name.
var labs = []string{".", "broker", "lab", "pipeline", "results", "system", "workload"}

// reach tells what the packages named roots are built of: each of ours that they import, or that those import,
// and so on, with the package that was first found to import it. Build tags are not looked at, so that the
// answer holds for every system.
func reach(all []file, roots ...string) map[string]string {
	imports := map[string][]string{}
	for _, f := range all {
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			imported, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
			switch {
			case ours && imported == "":
				imports[f.dir] = append(imports[f.dir], ".")
			case ours && imported[0] == '/':
				imports[f.dir] = append(imports[f.dir], imported[1:])
			}
		}
	}
	by, next := map[string]string{}, slices.Clone(roots)
	for _, root := range roots {
		by[root] = ""
	}
	for len(next) > 0 {
		dir := next[0]
		next = next[1:]
		for _, imported := range imports[dir] {
			if _, known := by[imported]; !known {
				by[imported] = dir
				next = append(next, imported)
			}
		}
	}
	return by
}

// chain is the way by which a package came in, from the program on.
func chain(by map[string]string, dir string) string {
	way := []string{}
	for ; dir != ""; dir = by[dir] {
		way = append(way, dir)
	}
	slices.Reverse(way)
	return strings.Join(way, " > ")
}

// Hermes is built of itself, of wires and of foundations: the program, its client, its simulator and its suites.
func TestHermesStandsAlone(t *testing.T) {
	t.Parallel()
	all := load(t)
	roots := []string{"cmd/hermes"}
	for _, f := range all {
		if (f.dir == "hermes" || strings.HasPrefix(f.dir, "hermes/")) && !slices.Contains(roots, f.dir) {
			roots = append(roots, f.dir)
		}
	}
	by := reach(all, roots...)
	used := map[string]bool{}
	for dir := range by {
		i := slices.IndexFunc(alone, func(pattern string) bool { return matches(pattern, dir) })
		if i < 0 {
			t.Errorf("Hermes needs %s: %s", dir, chain(by, dir))
			continue
		}
		used[alone[i]] = true
	}
	for _, pattern := range alone {
		if slices.Contains(labs, folder(pattern)) {
			t.Errorf("%s is of the lab, and Hermes may not need it", pattern)
		}
		if !used[pattern] {
			t.Errorf("Hermes needs %s no more: take it off the list", pattern)
		}
	}
}

// The walk goes beyond the first import, and leaves tests out.
func TestReach(t *testing.T) {
	t.Parallel()
	all := load(t)
	by := reach(all, "cmd/wirelab")
	for _, dir := range []string{".", "lab/stat", "results/store", "wire/status", "internal/nearest"} {
		if _, ok := by[dir]; !ok {
			t.Errorf("cmd/wirelab is built of %s, and that is not seen", dir)
		}
	}
	if _, ok := by["internal/leaktest"]; ok {
		t.Errorf("a package of tests is in the program: %s", chain(by, "internal/leaktest"))
	}
	if way := chain(reach(all, "wire/status"), "internal/nearest"); way != "wire/status > internal/nearest" {
		t.Errorf("the way is %q", way)
	}
}
