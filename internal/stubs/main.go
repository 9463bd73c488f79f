// Command stubs writes the code that follows from a workload's Service alone:
// for each method the one that puts the hooks around it, and the stub of the
// wires that speak package exchange. It reads the source with go/parser and
// knows no workload. It must not import the code that it reads: a workload
// that lacks a method does not compile, and could not be generated.
//
// It is run by `make generate` from the root of the module. What does not
// follow from the Service is written by hand: the generator leaves out a method
// that the package already has.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run writes the files below the folder named by the only argument, "." if
// there is none, and names on out each file that it changed.
func run(args []string, out, errs io.Writer) int {
	root := "."
	switch len(args) {
	case 0:
	case 1:
		root = args[0]
	default:
		fmt.Fprintln(errs, "usage: stubs [module root]")
		return 2
	}
	files, err := Generate(os.DirFS(root))
	if err != nil {
		fmt.Fprintln(errs, "stubs:", err)
		return 1
	}
	for _, file := range files {
		path := filepath.Join(root, filepath.FromSlash(file.Path))
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, file.Content) {
			continue // untouched, so that no build becomes invalid
		}
		if err := os.WriteFile(path, file.Content, 0o644); err != nil { //nolint:gosec // it is checked in
			fmt.Fprintln(errs, "stubs:", err)
			return 1
		}
		fmt.Fprintln(out, file.Path)
	}
	return 0
}
