package main

import (
	"testing"

	"wirelab/cmd/internal/cli/clitest"
	"wirelab/workload/all"
)

func TestReferenceIsFresh(t *testing.T) {
	a := app{Catalog: all.Works()}
	clitest.Reference(t, newRootCommand(&a), "../../docs/reference/wirelab.md")
}
