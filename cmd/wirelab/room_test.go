package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/probe"
	"wirelab/results/measure"
)

// More connections than a process may have are refused before anything runs, with the numbers
// and what to do, by every command that measures; a limit without thresholds is no threshold crossed.
func TestTooFewDescriptorsAreRefusedFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		code int
	}{
		{"compare http1-json -w routeguide.GetFeature --in-flight 500", desk.ExitFailed},
		{"compare http1-json -w routeguide.GetFeature --in-flight 500 --fail-if p99>1s", desk.ExitNoWord},
		{"compare grpc,connections=500 -w routeguide.GetFeature --in-flight 500", desk.ExitFailed},
		{"curve http1-json -w routeguide.GetFeature", desk.ExitFailed},
		{"curve http1-json -w routeguide.GetFeature --rates 10,20,30", desk.ExitFailed},
		{"capacity http1-json -w routeguide.GetFeature --slo p99<10ms", desk.ExitFailed},
	} {
		var stdout, stderr bytes.Buffer
		a := with(newApp(cli.Terminal{Stdout: &stdout, Stderr: &stderr, Clock: clitest.Still{}}, nil,
			func(name string) string {
				return map[string]string{
					"WIRELAB_STORE":        filepath.Join(t.TempDir(), "results.db"),
					measure.CertificateEnv: measure.CertificateNone,
				}[name]
			}), func(a *app) { a.Limits = func() probe.Limits { return probe.Limits{Descriptors: 64} } })
		code := a.Execute(t.Context(), newRootCommand(a), strings.Fields(c.args),
			cli.Ending{Code: desk.ExitCodeOf, Describe: a.DescribeError, Last: a.Databases.Close})
		said := stderr.String()
		for _, want := range []string{
			"open files in one process, and the limit is 64 (ulimit -Hn)", "--ulimit nofile=",
			"fewer calls in flight",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q lacks %q", c.args, said, want)
			}
		}
		if code != c.code || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, %s", c.args, code, stdout.String())
		}
	}
}
