package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// moduleRoot is the way from this folder to the module's.
const moduleRoot = "../.."

func TestListsAreFresh(t *testing.T) {
	t.Parallel()
	files, err := Generate(os.DirFS(moduleRoot))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		got, err := os.ReadFile(filepath.Join(moduleRoot, filepath.FromSlash(file.Path)))
		if err != nil || !bytes.Equal(got, file.Content) {
			t.Errorf("%s is stale (%v): run make generate", file.Path, err)
		}
	}
}

// tree is a module with a folder for each reason to be listed or not.
func tree() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const imports = "package bind\nimport (\n\"wirelab\"\n\"wirelab/workload/mill\"\n)\n"
	return fstest.MapFS{
		"workload/mill/bind/zeta.go": file(imports + "func Zeta() wirelab.Binding[mill.Service] { panic(1) }\n"),
		"workload/mill/bind/alpha.go": file(imports +
			"func Second() wirelab.Binding[mill.Service] { panic(1) }\n" +
			"func First() wirelab.Binding[mill.Service] { panic(1) }\n" +
			"func takes(x int) wirelab.Binding[mill.Service] { panic(1) }\n" +
			"func pair() (wirelab.Binding[mill.Service], error) { panic(1) }\n" +
			"func Many() []wirelab.Binding[mill.Service] { panic(1) }\n" +
			"func array() [2]wirelab.Binding[mill.Service] { panic(1) }\n" +
			"type s struct{}\nfunc (s) Method() wirelab.Binding[mill.Service] { panic(1) }\n" +
			"func other() wirelab.Cell { panic(1) }\n"),
		"workload/mill/bind/renamed.go": file("package bind\nimport (\nw \"wirelab\"\nm " +
			"\"wirelab/workload/mill\"\n)\n" +
			"func Renamed() w.Binding[m.Service] { panic(1) }\n"),
		"workload/mill/bind/alpha_test.go": file(imports +
			"func InTest() wirelab.Binding[mill.Service] { panic(1) }\n"),
		"workload/mill/bind/list.go": file(imports + "func Stale() wirelab.Binding[mill.Service] { panic(1) }\n"),
		"workload/bare/bare.go":      file("package bare\n"),
		"workload/all/all.go":        file("package all\n"),
	}
}

func TestGenerateListsMakersByFileThenPosition(t *testing.T) {
	t.Parallel()
	files, err := Generate(tree())
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || files[0].Path != "workload/mill/bind/list.go" || files[1].Path != "workload/all/all.go" {
		t.Fatalf("files %v", files)
	}
	list := string(files[0].Content)
	last := -1
	for _, call := range []string{"Second(),", "First(),", "Renamed(),", "Zeta(),", "Many(),"} {
		at := strings.Index(list, call)
		if at <= last {
			t.Errorf("%s is absent or out of order in\n%s", call, list)
		}
		last = at
	}
	for _, name := range []string{"takes", "pair", "array", "Method", "other", "InTest", "Stale"} {
		if strings.Contains(list, name+"()") {
			t.Errorf("%s is listed", name)
		}
	}
	works := string(files[1].Content)
	if !strings.Contains(works, "mill.Workload().Erase(),") || strings.Contains(works, "bare") {
		t.Errorf("works list:\n%s", works)
	}
}

func TestGenerateGivesDataSetsToWorkloadsThatHaveThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, name, source string
		want              bool
	}{
		{"the function is there", "data.go", "func Data() []wirelab.Data[Service] { panic(1) }", true},
		{"it is a method", "data.go", "type s struct{}\nfunc (s) Data() []int { panic(1) }", false},
		{"it takes a parameter", "data.go", "func Data(size int) []int { panic(1) }", false},
		{"it is a test's", "data_test.go", "func Data() []int { panic(1) }", false},
		{"there is none", "data.go", "", false},
	} {
		mill := tree()
		mill["workload/mill/"+c.name] = &fstest.MapFile{Data: []byte("package mill\n" + c.source)}
		files, err := Generate(mill)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(files[0].Content), "mill.Data(),"); got != c.want {
			t.Errorf("%s: data sets are given: %v", c.why, got)
		}
	}
	dressed := tree()
	const source = "package mill\nfunc AsPublished(s Service) Service { return s }"
	dressed["workload/mill/published.go"] = &fstest.MapFile{Data: []byte(source)}
	files, err := Generate(dressed)
	if err != nil || !strings.Contains(string(files[0].Content), "Published:  mill.AsPublished,") {
		t.Errorf("a published service is not given: %v", err)
	}
	broken := tree()
	broken["workload/mill/mill.go"] = &fstest.MapFile{Data: []byte("package mill\nfunc {")}
	if _, err := Generate(broken); err == nil || !strings.Contains(err.Error(), "mill.go") {
		t.Errorf("error %v does not name the file", err)
	}
}

func TestGenerateRefusesSourceItCannotRead(t *testing.T) {
	t.Parallel()
	broken := tree()
	broken["workload/mill/bind/broken.go"] = &fstest.MapFile{Data: []byte("package bind\nfunc {")}
	if _, err := Generate(broken); err == nil || !strings.Contains(err.Error(), "broken.go") {
		t.Errorf("error %v does not name the file", err)
	}
}

func TestRunWritesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.CopyFS(root, tree()); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := run([]string{root}, &out, &errs); code != 0 || strings.Count(out.String(), "\n") != 2 {
		t.Fatalf("first run: %d, %q, %q", code, out.String(), errs.String())
	}
	out.Reset()
	if code := run([]string{root}, &out, &errs); code != 0 || out.Len() != 0 {
		t.Errorf("second run: %d changed %q", code, out.String())
	}
	if code := run([]string{root, "more"}, &out, &errs); code != 2 {
		t.Errorf("two arguments: %d", code)
	}
}

// The page that tells how to add things shows a hole that is listed, names only
// files there are, and stays short enough to be read.
func TestAddingPageHolds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "ADDING.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	// Words, since lists and tables take more lines and are read more quickly.
	if words := len(strings.Fields(page)); words > 900 {
		t.Errorf("%d words", words)
	}
	_, rest, _ := strings.Cut(page, "```go\n")
	source, _, closed := strings.Cut(rest, "```")
	shown := tree()
	shown["workload/mill/bind/holes.go"] = &fstest.MapFile{Data: []byte(source)}
	files, err := Generate(shown)
	if err != nil || !closed || !strings.Contains(string(files[0].Content), "Holes(),") {
		t.Errorf("its hole is not listed: %v\n%s", err, source)
	}
	for _, path := range regexp.MustCompile("`((?:wire|workload|conformance|internal)/[a-z_/]+(?:\\.go)?)`").
		FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join(moduleRoot, path[1])); err != nil {
			t.Error(err)
		}
	}
}
