package clitest

import (
	"flag"
	"os"
	"testing"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
)

var update = flag.Bool("update", false, "write docs/reference again")

// Reference checks that a page of the reference agrees with a program's help. With the flag -update it writes the
// page, as "make generate" does.
func Reference(t *testing.T, root *cobra.Command, file string) {
	t.Helper()
	page := cli.Reference(root)
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
