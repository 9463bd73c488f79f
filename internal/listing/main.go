// Command listing writes the lists that would otherwise be kept by hand: in
// each workload's bind folder the list of its bindings, and in workload/all
// the list of workloads. It reads the source with go/parser and knows no
// protocol; it must not import the code it lists, or a binding that does not
// compile could not be listed, and so not be mended.
//
// It is run by `make generate` from the root of the module. Adding a binding is thus one file, adding a
// workload one folder, and nothing registers itself in an init whose order no one sees.
package main

import (
	"io"
	"io/fs"
	"os"
	"slices"

	"wirelab/internal/generated"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, errs io.Writer) int {
	return generated.Run("listing", Generate, args, out, errs)
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
