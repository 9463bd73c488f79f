package wirelab_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// exported returns the exported declarations of a file, each with what it is set to: "status.Error".
func exported(t *testing.T, name string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	is := func(name *ast.Ident, value ast.Expr) {
		if selector, ok := value.(*ast.SelectorExpr); ok && name.IsExported() {
			names[name.Name] = selector.X.(*ast.Ident).Name + "." + selector.Sel.Name
		} else if name.IsExported() {
			names[name.Name] = ""
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				is(decl.Name, called(decl))
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					is(spec.Name, spec.Type)
				case *ast.ValueSpec:
					for i, n := range spec.Names {
						if i < len(spec.Values) {
							is(n, spec.Values[i])
						} else {
							is(n, nil)
						}
					}
				}
			}
		}
	}
	return names
}

// called returns the function whose result f returns; nil if f does something else.
func called(f *ast.FuncDecl) ast.Expr {
	if len(f.Body.List) != 1 {
		return nil
	}
	if result, ok := f.Body.List[0].(*ast.ReturnStmt); ok && len(result.Results) == 1 {
		if call, ok := result.Results[0].(*ast.CallExpr); ok {
			return call.Fun
		}
	}
	return nil
}

// TestStatusHasTheSameNames checks that the root has each name of package status, and that each refers to that of
// package status.
func TestStatusHasTheSameNames(t *testing.T) {
	t.Parallel()
	here := exported(t, "status.go")
	files, err := filepath.Glob("wire/status/*.go")
	if err != nil || len(here) == 0 {
		t.Fatal(len(here), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for name := range exported(t, file) {
			if _, ok := here[name]; !ok {
				t.Errorf("the root lacks %s of package status", name)
			}
		}
	}
	for name, is := range here {
		if is != "status."+name {
			t.Errorf("%s is %q, want status.%s", name, is, name)
		}
	}
}
