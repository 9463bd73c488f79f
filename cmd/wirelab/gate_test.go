package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/result/threshold"
	"wirelab/results/store"
)

// resultFile writes a result as a file and returns its name.
func resultFile(t *testing.T, r *result.Result) string {
	t.Helper()
	text, err := store.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), r.ID+".json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Every outcome has the exit code that the help promises, and a wrong command
// line none of theirs.
func TestCheckExitCodes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := newShell(t)
	closed, troubled := resultFile(t, resulttest.Closed()), resultFile(t, resulttest.Troubled())
	interrupted := resultFile(t, resulttest.Short(12))
	for _, c := range []struct {
		name, file string
		thresholds []string
		code       int
		say        string // on standard output, on standard error of a usage error
	}{
		{"kept", closed, []string{"connect: cpu/req > +3%", "errors > 0.1%"}, desk.ExitOK, "Pass: all"},
		{"crossed", closed, []string{"cpu/req > +3%"}, 1, "Fail (2 of 4)"},
		{"undecided", closed, []string{"connect: p99.9 > +2% @ 50"}, 2, "inconclusive, +335 rounds"},
		{"spoiled", troubled, []string{"grpc: cpu/req > +3%"}, 3, "Invalid:"},
		{"crossed and spoiled", troubled, []string{"cpu/req > +3%", "http1-proto: throughput < 1M/s"}, 1, "Fail"},
		{"spoiled and undecided", troubled, []string{"cpu/req > +3%"}, 3, "inconclusive, +1 round"},
		{"interrupted", interrupted, []string{"connect: cpu/req > +50%"}, 3, "interrupted after 12 rounds"},
		{"no threshold", closed, nil, 64, "--fail-if"},
		{"no metric", closed, []string{"speed > +3%"}, 64, "did you mean throughput or p50?"},
		{"no such arm", closed, []string{"soap: p99 > 1s"}, 64, "known: connect, grpc, http1-proto"},
		{"no such file", closed + "x", []string{"p99 > 1s"}, 64, "there is no file or folder"},
		{"no such result", "r-2026", []string{"p99 > 1s"}, 64, "no result"},
	} {
		args := []string{"results", "check", c.file}
		for _, text := range c.thresholds {
			args = append(args, "--fail-if", text)
		}
		o := s.run(args...)
		where := o.stdout
		if c.code == 64 {
			where = o.stderr
		}
		if o.code != c.code || !strings.Contains(where, c.say) {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.name, o.code, c.code, o.stdout, o.stderr)
		}
		if c.code != 64 && o.stderr != "" {
			t.Errorf("%s: said twice: %s", c.name, o.stderr)
		}
		if asJSON := s.run(append(args, "--json")...); c.code != 64 {
			var j threshold.Judgement
			if err := json.Unmarshal([]byte(asJSON.stdout), &j); err != nil || asJSON.code != c.code ||
				(asJSON.stderr == "") != (c.code == 0) {
				t.Errorf("%s: as JSON: %v, exit code %d, %q", c.name, err, asJSON.code, asJSON.stderr)
			}
		}
	}
}

func TestGateFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s, dir := newShell(t), t.TempDir()
	file := resultFile(t, resulttest.Closed())
	comment, cases := filepath.Join(dir, "comment.md"), filepath.Join(dir, "junit.xml")
	s.run("results", "import", file).wants(t, desk.ExitOK, nil, nil)
	s.run("results", "check", "latest", "--fail-if", "cpu/req > +3%", "--markdown", comment, "--junit", cases).wants(t,
		1, []string{"Fail ("}, nil)
	if text, err := os.ReadFile(comment); err != nil || !bytes.HasPrefix(text, []byte("## wirelab: fail\n")) {
		t.Errorf("%v: %.200s", err, text)
	}
	text, err := os.ReadFile(cases)
	if err == nil {
		err = xml.Unmarshal(text, new(struct{}))
	}
	if err != nil || !bytes.Contains(text, []byte("<failure")) {
		t.Errorf("%v: %.200s", err, text)
	}
	// With "-" nothing else is on standard output, and the verdict on standard error.
	s.run("results", "check", "latest", "--fail-if", "cpu/req > +3%", "--markdown", "-").wants(t, 1,
		[]string{"## wirelab: fail"}, []string{"over the limit of +3%"})
	if o := s.run("results", "check", "latest", "--fail-if", "cpu/req > +3%", "--junit",
		"-"); !strings.HasPrefix(o.stdout, "<?xml") {
		t.Errorf("%.100s", o.stdout)
	}
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"--json", "--markdown", "-"}, desk.ExitUsage},
		{[]string{"--junit", "-", "--markdown", "-"}, desk.ExitUsage},
		// 1 would say that a threshold is crossed
		{[]string{"--junit", filepath.Join(dir, "no", "where")}, desk.ExitNoWord},
	} {
		s.run(append([]string{"results", "check", "latest", "--fail-if", "p99 > 1s"}, c.args...)...).wants(t, c.code,
			nil, nil)
	}
}

// A threshold that fits no plan is refused before anything is run.
func TestThresholdsAreCheckedFirst(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	compare := []string{"compare", "grpc", "connect", "--workload", "routeguide.GetFeature", "--print-plan"}
	s.run(append(compare, "--fail-if", "cpu/req > +3%")...).wants(t, desk.ExitOK, []string{`"protocol": "grpc"`}, nil)
	s.run(append(compare, "--fail-if", "graphql: cpu/req > +3%")...).wants(t, desk.ExitUsage, nil,
		[]string{"unknown arm", "known: connect, grpc"})
	s.run(append(compare, "--fail-if", "p99 > 20ms @ 7")...).wants(t, desk.ExitUsage, nil,
		[]string{`unknown load "7"`, "1 in flight"})
	s.run(append(compare, "--junit", "x.xml")...).wants(t, desk.ExitUsage, nil, []string{"--fail-if"})
	s.run("run", "quick", "--print-plan", "--fail-if", "throughput > +3%").wants(t, desk.ExitUsage, nil,
		[]string{"more is better"})
}

// With thresholds a server that does not start is no regression.
func TestCompareWithThresholdAndNoServer(t *testing.T) {
	t.Parallel()
	newShell(t).run("compare", "grpc,target=127.0.0.1:1", "connect", "--workload", "routeguide.GetFeature", "--fail-if",
		"p99 > 1s", "-q", "--certificate", "none").
		wants(t, desk.ExitNoWord, nil, []string{"nothing listens at 127.0.0.1:1"})
}
