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
	const nowhere = " --server 127.0.0.1:1 --timeout 50ms"
	below, absent := filepath.Join(file, "below"), filepath.Join(dir, "absent")
	clitest.Fails(t, newRootCommand(&app{}), map[string]map[string]int{
		"backup": {
			"": exitUsage, "--to " + dir + "/b" + nowhere: exitFailed, "--verify " + absent: exitUsage, "--verify " +
				file: exitFailed,
		},
		"check":            {absent: exitUsage, dir: exitUsage, file: exitUsage},
		"cluster":          {"nope": exitUsage, "--nodes 0": exitUsage},
		"cluster join":     {"nope" + nowhere: exitUsage, "2@127.0.0.1:1" + nowhere: exitFailed},
		"cluster promote":  {"0" + nowhere: exitUsage, "nope" + nowhere: exitFailed, "2" + nowhere: exitFailed},
		"cluster remove":   {"0" + nowhere: exitUsage, "nope" + nowhere: exitFailed, "2" + nowhere: exitFailed},
		"cluster transfer": {"0" + nowhere: exitUsage, "nope" + nowhere: exitFailed, "2" + nowhere: exitFailed},
		"config":           {"nope": exitUsage},
		"dev":              {"nope": exitUsage, "--data-dir " + below: exitFailed, "--mode nope": exitUsage},
		"export": {
			dir:                            exitUsage,
			absent + " --to " + dir + "/b": exitUsage,
			dir + " --to " + dir + "/b":    exitUsage,
			file + " --to " + dir + "/b":   exitUsage,
		},
		"group create": {"t" + nowhere: exitUsage, "t g" + nowhere: exitFailed},
		"group delete": {"t" + nowhere: exitUsage, "t g" + nowhere: exitFailed},
		"group list":   {nowhere: exitUsage, "t" + nowhere: exitFailed},
		"group seek":   {"t g --to nope" + nowhere: exitUsage, "t g --to oldest" + nowhere: exitFailed},
		"group show":   {"t" + nowhere: exitUsage, "t g" + nowhere: exitFailed},
		"pub": {
			nowhere:                     exitUsage,
			"t m --mode nope" + nowhere: exitUsage,
			"t m" + nowhere:             exitFailed,
			"t m --server nope":         exitUsage,
		},
		"ready":   {"nope": exitUsage, "--http 127.0.0.1:1": exitFailed},
		"recover": {"": exitUsage, absent: exitUsage, dir + " --yes": exitUsage, file: exitUsage},
		"restore": {
			nowhere:                      exitUsage,
			"--from " + absent + nowhere: exitUsage,
			"--from " + file + nowhere:   exitFailed,
		},
		"server":          {"": exitUsage, "--config " + absent: exitUsage, "--data-dir " + below: exitFailed},
		"status":          {"nope" + nowhere: exitUsage, nowhere: exitFailed},
		"sub":             {"t --from nope" + nowhere: exitUsage, "t" + nowhere: exitFailed},
		"token":           {"nope": exitUsage},
		"topic configure": {nowhere: exitUsage, "t" + nowhere: exitFailed},
		"topic create":    {nowhere: exitUsage, "t" + nowhere: exitFailed},
		"topic delete":    {nowhere: exitUsage, "t" + nowhere: exitFailed},
		"topic list":      {"a b" + nowhere: exitUsage, nowhere: exitFailed},
		"topic show":      {nowhere: exitUsage, "t" + nowhere: exitFailed},
		"version":         {"nope": exitUsage},
	}, func(args ...string) (int, string) {
		both := new(clitest.Output)
		code := run(t.Context(), args, strings.NewReader(""), both, both, func(string) string { return "" })
		return code, both.String()
	})
}
