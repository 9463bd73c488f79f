package main

import (
	"testing"

	"wirelab/cmd/internal/cli/clitest"
	"wirelab/workload/all"
)

func TestHelpFits(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	clitest.Help(t, newRootCommand(&app{works: all.Works()}), func(args ...string) (int, string) {
		o := s.run(args...)
		return o.code, o.stdout
	})
}
