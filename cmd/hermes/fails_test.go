package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli/clitest"
)

// No command ends with 0 where its argument is wrong, its file is not there or no node answers, but with the code
// that "hermes help exit-codes" has for it.
func TestNothingThatFailsEndsWithZero(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	const nobody = " --server 127.0.0.1:1 --timeout 50ms"
	below, absent := filepath.Join(file, "below"), filepath.Join(dir, "absent")
	clitest.Fails(t, newRootCommand(&app{}), map[string]map[string]int{
		"backup": {
			"": exitUsage, "--to " + dir + "/b" + nobody: exitFailed, "--verify " + absent: exitUsage, "--verify " +
				file: exitFailed,
		},
		"check":            {absent: exitUsage, dir: exitUsage, file: exitUsage},
		"cluster":          {"nope": exitUsage, "--nodes 0": exitUsage},
		"cluster join":     {"nope" + nobody: exitUsage, "2@127.0.0.1:1" + nobody: exitFailed},
		"cluster promote":  {"0" + nobody: exitUsage, "nope" + nobody: exitFailed, "2" + nobody: exitFailed},
		"cluster remove":   {"0" + nobody: exitUsage, "nope" + nobody: exitFailed, "2" + nobody: exitFailed},
		"cluster transfer": {"0" + nobody: exitUsage, "nope" + nobody: exitFailed, "2" + nobody: exitFailed},
		"config":           {"nope": exitUsage},
		"dev":              {"nope": exitUsage, "--data-dir " + below: exitFailed, "--mode nope": exitUsage},
		"export": {
			dir:                            exitUsage,
			absent + " --to " + dir + "/b": exitUsage,
			dir + " --to " + dir + "/b":    exitUsage,
			file + " --to " + dir + "/b":   exitUsage,
		},
		"group create": {"t" + nobody: exitUsage, "t g" + nobody: exitFailed},
		"group delete": {"t" + nobody: exitUsage, "t g" + nobody: exitFailed},
		"group list":   {nobody: exitUsage, "t" + nobody: exitFailed},
		"group seek":   {"t g --to nope" + nobody: exitUsage, "t g --to oldest" + nobody: exitFailed},
		"group show":   {"t" + nobody: exitUsage, "t g" + nobody: exitFailed},
		"pub": {
			nobody:                     exitUsage,
			"t m --mode nope" + nobody: exitUsage,
			"t m" + nobody:             exitFailed,
			"t m --server nope":        exitUsage,
		},
		"ready":   {"nope": exitUsage, "--http 127.0.0.1:1": exitFailed},
		"recover": {"": exitUsage, absent: exitUsage, dir + " --yes": exitUsage, file: exitUsage},
		"restore": {
			nobody:                      exitUsage,
			"--from " + absent + nobody: exitUsage,
			"--from " + file + nobody:   exitFailed,
		},
		"server":          {"": exitUsage, "--config " + absent: exitUsage, "--data-dir " + below: exitFailed},
		"status":          {"nope" + nobody: exitUsage, nobody: exitFailed},
		"sub":             {"t --from nope" + nobody: exitUsage, "t" + nobody: exitFailed},
		"token":           {"nope": exitUsage},
		"topic configure": {nobody: exitUsage, "t" + nobody: exitFailed},
		"topic create":    {nobody: exitUsage, "t" + nobody: exitFailed},
		"topic delete":    {nobody: exitUsage, "t" + nobody: exitFailed},
		"topic list":      {"a b" + nobody: exitUsage, nobody: exitFailed},
		"topic show":      {nobody: exitUsage, "t" + nobody: exitFailed},
		"version":         {"nope": exitUsage},
	}, func(args ...string) (int, string) {
		both := new(clitest.Output)
		code := run(t.Context(), args, strings.NewReader(""), both, both, func(string) string { return "" })
		return code, both.String()
	})
}
