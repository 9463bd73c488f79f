package main

import (
	"testing"

	"wirelab/cmd/internal/cli/clitest"
)

func TestReferenceIsFresh(t *testing.T) {
	var a app
	clitest.Reference(t, newRootCommand(&a), "../../docs/reference/hermes.md")
}
