package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// manifest are hashes by file, or by the Go package whose types a generator reads.
type manifest map[string]string

// hashes are those of all that goes into generators and comes out of them.
func hashes(tree fs.FS) (manifest, error) {
	all := manifest{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); name != "." &&
				(strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !goesIn(name) && !comesOut(name) {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		all[name] = hash(text)
		if !strings.HasSuffix(name, gqlgenConfig) {
			return nil
		}
		for _, folder := range models(string(text)) {
			if all[folder], err = declarations(tree, folder); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// gqlgenConfig ends the name of what tells gqlgen what to do.
const gqlgenConfig = "gqlgen.yml"

// goesIn tells what generators read: schemas, their settings, and their versions.
func goesIn(name string) bool {
	switch name {
	case "buf.gen.yaml", "buf.yaml", "buf.lock", "build/tools/go.mod", "build/tools/go.sum", "build/scripts/generate":
		return true
	}
	switch path.Ext(name) {
	case ".proto", ".graphqls":
		return true
	}
	return strings.HasSuffix(name, gqlgenConfig)
}

// comesOut tells what generators write: whatever is in a folder called gen.
func comesOut(name string) bool {
	return strings.Contains("/"+name, "/gen/") && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// models are the folders of ours whose Go types a configuration of gqlgen binds to.
func models(config string) (folders []string) {
	for word := range strings.FieldsSeq(config) {
		if full, ours := strings.CutPrefix(word, "wirelab/"); ours && strings.Contains(full, ".") {
			folders = append(folders, full[:strings.LastIndex(full, ".")])
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// declarations is the hash of a package's types and of the signatures of their
// methods: gqlgen reads these, and no body and no comment.
func declarations(tree fs.FS, folder string) (string, error) {
	names, err := fs.Glob(tree, folder+"/*.go")
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return "", err
		}
		file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		for _, d := range file.Decls {
			if !declares(d) {
				continue
			}
			if err := printer.Fprint(&text, token.NewFileSet(), d); err != nil {
				return "", err
			}
			text.WriteByte('\n')
		}
	}
	return hash(text.Bytes()), nil
}

// declares tells what a declaration says to those outside, having taken the body away.
func declares(d ast.Decl) bool {
	switch d := d.(type) {
	case *ast.FuncDecl:
		d.Body, d.Doc = nil, nil
		return d.Recv != nil && d.Name.IsExported()
	case *ast.GenDecl:
		d.Doc = nil
		return d.Tok == token.TYPE
	}
	return false
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// text is a manifest in its stored form: a line a file, so that two changes seldom meet.
func (m manifest) text() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s %s\n", m[name], name)
	}
	return b.Bytes()
}

func parse(text []byte) manifest {
	m := manifest{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		m[name] = sum
	}
	return m
}

// differences say what is not as it was when the code was generated.
func (m manifest) differences(kept manifest) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		was, known := kept[name]
		switch {
		case m[name] == was:
		case !known && comesOut(name):
			all = append(all, name+" was not generated")
		case !known:
			all = append(all, name+" is new")
		case comesOut(name):
			all = append(all, name+" is not as it was generated")
		default:
			all = append(all, name+" has changed since the code was generated")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if _, there := m[name]; !there {
			all = append(all, name+" is gone")
		}
	}
	return all
}
