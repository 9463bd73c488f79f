// Package generated is what the generators of checked-in code share: their arguments, and how they write files.
// It knows nothing of their content.
package generated

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a generated file: a slash path from the module's root, and its text.
type File struct {
	Path    string
	Content []byte
}

// Run writes the files that a generator makes of the folder named by the only argument, "." if there is none, and names
// on out each that it changed. name is the program's. It returns the exit code.
func Run(name string, generate func(fs.FS) ([]File, error), args []string, out, errs io.Writer) int {
	root := "."
	switch len(args) {
	case 0:
	case 1:
		root = args[0]
	default:
		fmt.Fprintf(errs, "usage: %s [module root]\n", name)
		return 2
	}
	files, err := generate(os.DirFS(root))
	if err != nil {
		fmt.Fprintf(errs, "%s: %v\n", name, err)
		return 1
	}
	for _, file := range files {
		changed, err := write(filepath.Join(root, filepath.FromSlash(file.Path)), file.Content)
		if err != nil {
			fmt.Fprintf(errs, "%s: %v\n", name, err)
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
	return true, os.WriteFile(path, content, 0o644) //nolint:gosec // it is checked in
}
