package main

import (
	"testing"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
)

func TestHelpFits(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	clitest.Help(t, newRootCommand(newApp(cli.Terminal{}, nil, nil)), func(args ...string) (int, string) {
		o := s.run(args...)
		return o.code, o.stdout
	})
}
