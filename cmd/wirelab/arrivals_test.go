package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/loads"
	"wirelab/lab/plan"
)

// The recording that comes with wirelab can be shown and replayed, sequentially
// and sampled, and a plan names a file of its own.
func TestArrivalsAreShownMadeAndReplayed(t *testing.T) {
	t.Parallel()
	const sample = "../../docs/arrivals-bursty.json"
	s := newShell(t)
	s.run("arrivals", "show", sample).wants(t, desk.ExitOK, []string{"arrivals      401", "spread"}, nil)

	made := filepath.Join(t.TempDir(), "made.json")
	s.run("arrivals", "make", made, "--rate", "1k", "--spread", "0.5", "--count", "50").wants(t, desk.ExitOK, nil,
		[]string{"has 51 arrivals"})
	s.run("arrivals", "make", made).wants(t, desk.ExitUsage, nil, []string{"exists"})
	shown := decode[loads.File](t, s.run("arrivals", "show", made, "--json").stdout)
	if shown.Count != 51 || shown.Rate < 500 || shown.Rate > 2000 {
		t.Errorf("made 50 gaps at 1000/s, shown as %+v", shown)
	}

	compare := func(more ...string) plan.Plan {
		t.Helper()
		args := append([]string{"compare", "grpc", "-w", "directory.GetPerson", "--print-plan", "--arrivals", sample},
			more...)
		return decode[plan.Plan](t, s.run(args...).stdout)
	}
	own := compare()
	fast := compare("--speed-up", "2")
	if l := fast.Loads[0]; l.Arrivals != plan.Recorded || len(l.Recording.Gaps) != 400 ||
		l.Rate/own.Loads[0].Rate < 1.999 ||
		fast.SliceOf(l) > own.SliceOf(own.Loads[0])/2+plan.Duration(time.Microsecond) {
		t.Errorf("twice as fast is %v, a slice of %v; as recorded %v", l.Rate, fast.SliceOf(l), own.Loads[0].Rate)
	}
	if l := compare("--replay", "sampled", "--rate", "50,100").Loads[1]; l.Arrivals != plan.Sampled || l.Rate != 100 {
		t.Errorf("sampled at 100/s: %+v", l.Pace())
	}

	file := filepath.Join(filepath.Dir(made), "plan.yaml")
	text := "workload: directory\noperation: GetPerson\narms: [{protocol: grpc}]\nloads: [{recording: {file: " +
		"made.json}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read := decode[plan.Plan](t, s.run("run", file, "--print-plan").stdout)
	if l := read.Loads[0]; len(l.Recording.Gaps) != 50 || l.Recording.File != "" {
		t.Errorf("the plan's own file was not read: %+v", l.Pace())
	}
}

func TestArrivalsThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	sample := "../../docs/arrivals-bursty.json"
	for want, args := range map[string][]string{
		"no file":               {"--arrivals", "uniform", "--rate", "5"},
		"give --rate too":       {"--arrivals", "log-normal"},
		"both say how fast":     {"--arrivals", sample, "--rate", "5", "--speed-up", "2"},
		"need a recording":      {"--rate", "5", "--speed-up", "2"},
		"want sequential or":    {"--arrivals", sample, "--replay", "backwards"},
		"want a number above 0": {"--arrivals", sample, "--speed-up", "-1"},
		"a slice is all of it":  {"--arrivals", sample, "--rate", "0.1"},
	} {
		o := s.run(append([]string{"compare", "grpc", "-w", "directory.GetPerson", "--print-plan"}, args...)...)
		if o.code == desk.ExitOK || !strings.Contains(o.stderr, want) {
			t.Errorf("%v: exit code %d, said %q; want %q", args, o.code, o.stderr, want)
		}
	}
}
