package main

import (
	"flag"
	"os"
	"testing"

	"wirelab/cli"
)

var update = flag.Bool("update", false, "write docs/reference again")

// The page of reference is what the program's own help says. "make generate"
// writes it.
func TestReferenceIsFresh(t *testing.T) {
	const file = "../../docs/reference/hermes.md"
	var a app
	page := cli.Reference(newRootCommand(&a))
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != page {
		t.Errorf("%s is not what the help says now; run: make generate", file)
	}
}
