package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/resulttest"
	"wirelab/results/measure"
	"wirelab/results/store"
	"wirelab/results/store/sqlite"
)

// telling waits until an experiment tells what is wanted of it.
func (p *program) telling(s store.Store, wanted func(store.Running) bool) (told store.Running) {
	p.t.Helper()
	p.eventually("what it was to tell in the store", func() bool {
		all, err := s.Running(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		i := slices.IndexFunc(all, wanted)
		if i >= 0 {
			told = all[i]
		}
		return i >= 0
	})
	return told
}

// An experiment that has a store tells it how far it is and what stands so far. Ctrl-C
// keeps the complete rounds, says so, and ends with 3; the result is then there instead.
// It has the certificate that was there, which its report shows, and of an open loop the
// calls that its rate plans, with their lag. A child that is killed costs its arm the
// round, not the experiment: one round has no server of one arm, and one no load generator.
func TestExperimentTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	made := time.Now().Add(-time.Minute).UTC().Truncate(time.Microsecond)
	s := openTestStore(t, filepath.Join(dir, "results.db"))
	// the program is this test's binary
	if err := s.Put(t.Context(), equals(t, probe.Environment(), made)); err != nil {
		t.Fatal(err)
	}
	p := begin(t, dir, "compare", "grpc", "http1-json", "-w", "routeguide.GetFeature", "--rate", "400",
		"--rounds", "1000", "--slices", "1", "--slice", "50ms", "--certificate", "auto", "--full")
	p.untilRound(1)
	killOne(t, p, "serve")
	p.untilRound(3)
	killOne(t, p, "drive")
	p.untilRound(5)
	r := p.telling(s, func(r store.Running) bool { return r.Standing != nil && r.Round > 1 })
	if r.Workload != "routeguide" || r.RoundsMin != 1000 || r.Phase == "" || r.Elapsed <= 0 || r.Stale ||
		r.Host == "" ||
		len(r.ArmNames) != 2 || r.ArmNames[0] != "grpc" || len(r.LoadNames) != 1 {
		t.Errorf("told %+v", r)
	}
	var standing claim.Analysis
	if err := json.Unmarshal(r.Standing.Analysis, &standing); err != nil || standing.Rounds != r.Standing.Round ||
		len(standing.Loads) != 1 {
		t.Errorf("stands %+v, %v", standing, err)
	}
	p.interrupt()
	p.want(desk.ExitNoWord, "interrupted; stored as r-", "complete round")
	all, err := s.Running(t.Context())
	if err != nil || len(all) != 0 {
		t.Errorf("when it is over: %+v, %v", all, err)
	}
	got := p.stored()
	if got.ID != r.ID || got.Ending != result.Interrupted || len(got.Rounds) < r.Standing.Round ||
		len(got.Rounds) >= 1000 {
		t.Errorf("stored as %s with %d rounds, ending %q; told of as %s in round %d", got.ID, len(got.Rounds),
			got.Ending, r.ID, r.Round)
	}
	failures, watched, right := 0, uint64(0), uint64(0)
	for _, round := range got.Rounds {
		for _, f := range round.Failures {
			failures++
			if !strings.Contains(f.Why, "killed") {
				t.Errorf("the failure says %q, want that it was killed", f.Why)
			}
		}
		for _, trial := range round.Trials {
			watched, right = watched+trial.Watched, right+trial.OK
			if trial.Planned == 0 || trial.Sent != trial.Planned || trial.Lag.Count() != trial.Sent ||
				trial.Watched < trial.OK {
				t.Errorf("planned %d, sent %d, lag of %d, watched %d, right %d",
					trial.Planned, trial.Sent, trial.Lag.Count(), trial.Watched, trial.OK)
			}
		}
	}
	if watched <= right { // no call may be due in the head of one slice, but not in that of all
		t.Errorf("%d calls were watched and %d are recorded: no slice has a head", watched, right)
	}
	if failures != 2 {
		t.Errorf("%d failures of %d rounds, want 2", failures, len(got.Rounds))
	}
	if strings.Contains(p.said.String(), "with itself") {
		t.Errorf("a burst was made although there was a certificate:\n%s", p.said.String())
	}
	if got.Certificate == nil || !got.Certificate.Made.Equal(made) ||
		!strings.Contains(p.stdout.String(), "here      60 s can resolve ") {
		t.Errorf("certificate %+v in\n%s", got.Certificate, p.stdout.String())
	}
}

// One that is killed leaves no process behind and the store whole, and is told of until
// its news is old.
func TestKilledExperimentGoesStale(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	p := begin(t, t.TempDir(), "compare", "grpc", "http1-json", "-w", "routeguide.GetFeature",
		"--rounds", "1000", "--slices", "1", "--slice", "50ms", "-q")
	s, err := sqlite.Open(t.Context(), p.mark)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r := p.telling(s, func(r store.Running) bool { return r.Round > 1 })
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.end()
	p.wantNoneLeft()
	all, err := s.Running(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != r.ID {
		t.Fatalf("after it was killed: %+v, %v", all, err)
	}
	all[0].Reported = all[0].Reported.Add(-store.StaleAfter)
	if err := s.Report(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	if all, err = s.Running(t.Context()); err != nil || len(all) != 1 || !all[0].Stale {
		t.Errorf("after a while: %+v, %v", all, err)
	}
	begin(t, p.command.Dir, "results", "list").want(desk.ExitOK)
}

// Intermediate analyses take at most their share of the time.
func TestLooksHaveABudget(t *testing.T) {
	t.Parallel()
	r := resulttest.Make(resulttest.Setting{
		Name: "many", Rounds: 12, Seed: 1, Loads: []plan.Load{{InFlight: 1}},
		Arms: []resulttest.Arm{{Name: "a", Protocol: "grpc", ServerCPU: 1e4, ClientCPU: 1e4, Response: 1e5}},
	})
	n := &measure.News{Spent: 2 * time.Second}
	if n.Look(experiment.Event{Elapsed: 100 * time.Second, Result: r}) || n.Running.Standing != nil {
		t.Error("a look, though 2 of 100 s went into looks")
	}
	if !n.Look(experiment.Event{Elapsed: 300 * time.Second, Result: r, Round: 12}) || n.Running.Standing.Round != 12 ||
		n.Spent <= 2*time.Second {
		t.Errorf("no look, though there is time: %v", n.Spent)
	}
}
