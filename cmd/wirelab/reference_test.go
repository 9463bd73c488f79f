package main

import (
	"testing"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
)

func TestReferenceIsFresh(t *testing.T) {
	a := newApp(cli.Terminal{}, nil, nil)
	clitest.Reference(t, newRootCommand(a), "../../docs/reference/wirelab.md")
}
