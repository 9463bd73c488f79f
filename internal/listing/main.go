// Command listing writes the lists that would otherwise be kept by hand: in
// each workload's bind folder the list of its bindings, and in workload/all
// the list of workloads. It reads the source with go/parser and knows no
// protocol; it must not import the code it lists, or a binding that does not
// compile could not be listed, and so not be mended.
//
// It is run by `make generate` from the root of the module. Adding a binding
// is thus one file, adding a workload one folder, and nothing registers itself
// in an init whose order nobody sees.
package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run writes the lists below the folder named by the only argument, "." if
// there is none, and names on out each file it changed.
func run(args []string, out, errs io.Writer) int {
	root := "."
	switch len(args) {
	case 0:
	case 1:
		root = args[0]
	default:
		fmt.Fprintln(errs, "usage: listing [module root]")
		return 2
	}
	files, err := Generate(os.DirFS(root))
	if err != nil {
		fmt.Fprintln(errs, "listing:", err)
		return 1
	}
	for _, file := range files {
		changed, err := write(filepath.Join(root, filepath.FromSlash(file.Path)), file.Content)
		if err != nil {
			fmt.Fprintln(errs, "listing:", err)
			return 1
		}
		if changed {
			fmt.Fprintln(out, file.Path)
		}
	}
	return 0
}

// write leaves a file that is as it should be alone, so that a run that
// changes nothing invalidates no build.
func write(path string, content []byte) (changed bool, err error) {
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, content) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	return true, os.WriteFile(path, content, 0o644)
}

// workloads returns the folders below workload that hold a bind folder, sorted.
func workloads(tree fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(tree, "workload")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if info, err := fs.Stat(tree, "workload/"+entry.Name()+"/bind"); err == nil && info.IsDir() {
			found = append(found, entry.Name())
		}
	}
	slices.Sort(found)
	return found, nil
}
