package main

import (
	"bytes"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli/clitest"
)

func TestHelpFits(t *testing.T) {
	t.Parallel()
	clitest.Help(t, newRootCommand(&app{}), func(args ...string) (int, string) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, func(string) string { return "" })
		return code, stdout.String()
	})
}
