package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is the prefix of our own imports.
const module = "wirelab"

// file is one Go file of the project.
type file struct {
	path      string // from the root, with slashes
	dir       string // its folder; "." is the root
	test      bool
	generated bool
	lines     int
	ast       *ast.File
	fset      *token.FileSet
}

// load parses every Go file of the project.
func load(t *testing.T) []file {
	t.Helper()
	root := "../.."
	var all []file
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(name, root), "/"))
		if entry.IsDir() {
			if rel == "examples" { // modules of their own, as their users would write them
				return filepath.SkipDir
			}
			if base := entry.Name(); rel != "" &&
				(strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, rel, text, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, file{
			path: rel, dir: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"),
			generated: ast.IsGenerated(parsed), lines: strings.Count(string(text), "\n"),
			ast: parsed, fset: fset,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files were found: the walk is broken", len(all))
	}
	return all
}

// rule says what the packages that match a pattern may import of ours, and of others'. Patterns are those of
// path.Match, with a last element "**" for the folder and all below it.
type rule struct {
	dirs    string
	may     []string // of our packages
	foreign string   // "any", "none", or modules that may be imported, separated by spaces
	because string
}

// matches reports whether a folder is one of a pattern's.
func matches(pattern, dir string) bool {
	if pattern == "**" {
		return true
	}
	if stem, ok := strings.CutSuffix(pattern, "/**"); ok {
		depth := strings.Count(stem, "/") + 1
		parts := strings.Split(dir, "/")
		if len(parts) < depth {
			return false
		}
		hit, err := path.Match(stem, strings.Join(parts[:depth], "/"))
		return err == nil && hit
	}
	hit, err := path.Match(pattern, dir)
	return err == nil && hit
}

func ruleOf(dir string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.dirs, dir) })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

// offence tells why a package may not import a package, or "".
func offence(dir, imported string) string {
	r, ok := ruleOf(dir)
	if !ok {
		return "the folder belongs to no room: add it to the rules and to docs/ARCHITECTURE.md"
	}
	ours := imported == module || strings.HasPrefix(imported, module+"/")
	if ours {
		other := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
		if other == "" {
			other = "."
		}
		if strings.HasPrefix(other, "cmd/") && (!strings.HasPrefix(other, "cmd/internal/") || !strings.HasPrefix(dir,
			"cmd/")) {
			return "cmd is imported by no package"
		}
		if sibling(dir, other) {
			return "one workload must not know another"
		}
		if !slices.ContainsFunc(r.may, func(p string) bool { return matches(p, other) }) {
			return fmt.Sprintf("not among %v: %s", r.may, r.because)
		}
		return ""
	}
	if standard(imported) {
		if strings.HasPrefix(imported, "net/http") &&
			slices.Contains([]string{"lab/load", "lab/stat", "lab/plan"}, dir) {
			return r.because
		}
		return ""
	}
	switch r.foreign {
	case "any":
		return ""
	case "none":
		return "no library may be imported here: " + r.because
	}
	for allowed := range strings.FieldsSeq(r.foreign) {
		if imported == allowed || strings.HasPrefix(imported, allowed+"/") {
			return ""
		}
	}
	return fmt.Sprintf("not among the libraries %s: %s", r.foreign, r.because)
}

// sibling reports whether the two are parts of different workloads.
func sibling(dir, other string) bool {
	a, b := strings.Split(dir, "/"), strings.Split(other, "/")
	return len(a) > 1 && len(b) > 1 && a[0] == "workload" && b[0] == "workload" && a[1] != b[1] && a[1] != "all"
}

// standard reports whether an import is of the standard library: its first
// element has no dot.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// Imports follow the rules. Tests may import more: they are where packages meet.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		if f.test || strings.HasSuffix(f.dir, "test") { // suites of tests are packages too
			continue
		}
		for _, spec := range f.ast.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			if why := offence(f.dir, imported); why != "" {
				t.Errorf("%s imports %s: %s", f.fset.Position(spec.Pos()), imported, why)
			}
		}
	}
}

// The rules themselves refuse what they are there to refuse.
func TestRulesRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dir, imported string }{
		{".", "google.golang.org/grpc"},
		{"lab/load", "wirelab"},
		{"lab/load", "net/http"},
		{"lab/stat", "wirelab/lab/load"},
		{"workload/routeguide", "wirelab/wire/grpc"},
		{"workload/routeguide", "google.golang.org/grpc"},
		{"workload/routeguide/bind", "wirelab/lab/load"},
		{"workload/routeguide/bind", "wirelab/workload/ledger"},
		{"wire/grpc", "wirelab/workload/routeguide"},
		{"results/report/terminal", "wirelab/lab/load"},
		{"results/report", "wirelab/wire/grpc"},
		{"results/store/sqlite", "wirelab/results/report"},
		{"lab/experiment", "wirelab/wire/grpc"},
		{"lab/experiment", "wirelab/cmd/wirelab"},
		{"hermes/node", "wirelab"},
		{"hermes/local", "wirelab/system/nats"},
		{"wire/status", "wirelab"},
		{"wire/endpoint", "wirelab"},
		{"newroom", "fmt"},
	} {
		if offence(c.dir, c.imported) == "" {
			t.Errorf("%s may import %s", c.dir, c.imported)
		}
	}
	for _, c := range []struct{ dir, imported string }{
		{"lab/load", "wirelab/lab/stat"},
		{"workload/routeguide/bind", "wirelab/workload/routeguide/gen"},
		{"workload/all", "wirelab/workload/routeguide/bind"},
		{"results/report/terminal", "wirelab/lab/result"},
	} {
		if why := offence(c.dir, c.imported); why != "" {
			t.Errorf("%s may not import %s: %s", c.dir, c.imported, why)
		}
	}
}

// Every package says what it is in a package comment.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, f := range load(t) {
		if f.generated && !documented[f.dir] {
			documented[f.dir] = f.ast.Doc != nil || strings.Contains(f.dir, "/gen")
		}
		if f.test && f.dir != "internal/arch" {
			continue
		}
		text := f.ast.Doc.Text()
		documented[f.dir] = documented[f.dir] || strings.HasPrefix(text, "Package ") ||
			strings.HasPrefix(text, "Command ")
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment that says what it knows and must not know", dir)
		}
	}
}

// The limits on size. A file or function over them is split where it bends,
// not where the count is reached.
const (
	fileLimit     = 500 // lines
	testFileLimit = 800 // lines: tables of cases
	ruleFileLimit = 900 // lines: one rule for each package
	functionLimit = 70  // lines
	testLimit     = 100 // lines of a function of tests, whose length is its cases'
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		if f.generated {
			continue
		}
		lines, length := fileLimit, functionLimit
		if f.test || strings.HasSuffix(f.dir, "test") { // suites of tests are packages too
			lines, length = testFileLimit, testLimit
		}
		if f.path == "internal/arch/rules_test.go" {
			lines = ruleFileLimit
		}
		if f.lines > lines {
			t.Errorf("%s has %d lines, more than %d", f.path, f.lines, lines)
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil || f.test && strings.HasPrefix(fn.Name.Name, "Test") {
				continue // a test's length is its table's
			}
			first, last := f.fset.Position(fn.Pos()).Line, f.fset.Position(fn.End()).Line
			if last-first+1 > length {
				t.Errorf("%s:%d: %s has %d lines, more than %d", f.path, first, fn.Name.Name, last-first+1, length)
			}
		}
	}
}

// badNames are names of packages that say nothing of their content.
var badNames = regexp.MustCompile(`^(utils?|common|types|base|helpers?|misc|shared|lib)$`)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
		if badNames.MatchString(path.Base(f.dir)) || badNames.MatchString(stem) {
			t.Errorf("%s: name the room by its role and the file by its noun", f.path)
		}
	}
}

// banned are calls that production code does not make, and what it does instead.
var banned = map[string]string{
	"time.After":  "use a context or a timer that is stopped",
	"time.Tick":   "use a timer that is stopped",
	"fmt.Print":   "write to the writer that was passed in",
	"fmt.Println": "write to the writer that was passed in",
	"fmt.Printf":  "write to the writer that was passed in",
	"os.Exit":     "return an error; only main exits",
	"panic":       "return an error; panic only for a mistake in the source, and say so",
}

// mayExit reports whether a file is a program's own, whose func main exits.
func mayExit(f file) bool {
	return path.Base(f.path) == "main.go" && (strings.HasPrefix(f.dir, "cmd/") || strings.HasPrefix(f.dir, "internal/"))
}

// suite reports whether a folder is for tests alone: selftest is of the product.
func suite(dir string) bool {
	return dir == "wire/conformance" || strings.HasSuffix(dir, "test") && dir != "cmd/internal/selftest"
}

func TestBannedCalls(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		if f.generated || f.test || suite(f.dir) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := callee(call)
			instead, bad := banned[name]
			if !bad && strings.HasPrefix(name, "log.") {
				instead, bad = "use log/slog, passed in", true
			}
			if name == "panic" && explained(f, call) {
				return true
			}
			if name == "os.Exit" && mayExit(f) {
				return true
			}
			if bad {
				t.Errorf("%s calls %s: %s", f.fset.Position(call.Pos()), name, instead)
			}
			return true
		})
	}
}

// explained reports whether a comment stands on the call's line, on the line
// above, or in the function's documentation as the word "panics".
func explained(f file, call *ast.CallExpr) bool {
	line := f.fset.Position(call.Pos()).Line
	for _, group := range f.ast.Comments {
		first, last := f.fset.Position(group.Pos()).Line, f.fset.Position(group.End()).Line
		if first <= line && line <= last+1 {
			return true
		}
	}
	for _, decl := range f.ast.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if ok && fn.Pos() <= call.Pos() && call.End() <= fn.End() && strings.Contains(fn.Doc.Text(), "panics") {
			return true
		}
	}
	return false
}

func callee(call *ast.CallExpr) string {
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		if x, ok := fn.X.(*ast.Ident); ok {
			return x.Name + "." + fn.Sel.Name
		}
	}
	return ""
}

// Nothing is left for later without an issue: no marker words in comments. No
// init function, so that nothing depends on the order of imports.
func TestNoMarkersNorInit(t *testing.T) {
	t.Parallel()
	marker := regexp.MustCompile(`\b(FIX` + `ME|TO` + `DO|XX` + `X|HA` + `CK)\b`)
	for _, f := range load(t) {
		if f.generated {
			continue
		}
		for _, group := range f.ast.Comments {
			if m := marker.FindString(group.Text()); m != "" {
				t.Errorf("%s: %s: do it, or file it", f.fset.Position(group.Pos()), m)
			}
		}
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !f.test {
				t.Errorf("%s: init runs in a hidden order; call it from where it is needed", f.fset.Position(fn.Pos()))
			}
		}
	}
}

// No production code is linked with package testing but the suites, which
// only tests import.
func TestNoTestingInProduction(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		if f.test || suite(f.dir) {
			continue
		}
		for _, spec := range f.ast.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			if imported == "testing" || imported == module+"/conformance" || strings.HasPrefix(imported, module) &&
				suite(strings.TrimPrefix(imported, module+"/")) {
				t.Errorf("%s imports %s", f.path, imported)
			}
		}
	}
}

// The map in docs/ARCHITECTURE.md names every package.
func TestArchitectureNamesEveryFolder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range load(t) {
		top, _, _ := strings.Cut(f.dir, "/")
		if top == "." || seen[top] {
			continue
		}
		seen[top] = true
		if !strings.Contains(string(text), "`"+top+"/") && !strings.Contains(string(text), "`"+top+"`") {
			t.Errorf("docs/ARCHITECTURE.md does not name %s", top)
		}
	}
}
