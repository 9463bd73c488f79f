package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"wirelab/experiment"
	"wirelab/plan"
	"wirelab/result"
	"wirelab/result/resulttest"
	"wirelab/store"
	"wirelab/store/sqlite"
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

// An experiment that has a store tells it how far it is and what stands so
// far; when it is over its result is there instead.
func TestExperimentTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := begin(t, t.TempDir(), "compare", "grpc", "http1-json", "-w", "routeguide.GetFeature",
		"--rounds", "1000", "--slices", "1", "--slice", "50ms", "-q")
	s, err := sqlite.Open(t.Context(), p.mark)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r := p.telling(s, func(r store.Running) bool { return r.Standing != nil && r.Round > 1 })
	if r.Workload != "routeguide" || r.RoundsMin != 1000 || r.Phase == "" || r.Elapsed <= 0 || r.Stale || r.Host == "" ||
		len(r.ArmNames) != 2 || r.ArmNames[0] != "grpc" || len(r.LoadNames) != 1 {
		t.Errorf("told %+v", r)
	}
	var standing result.Analysis
	if err := json.Unmarshal(r.Standing.Analysis, &standing); err != nil || standing.Rounds != r.Standing.Round || len(standing.Loads) != 1 {
		t.Errorf("stands %+v, %v", standing, err)
	}
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.want(exitNoWord, "interrupted")
	p.wantNoneLeft()
	all, err := s.Running(t.Context())
	if err != nil || len(all) != 0 {
		t.Errorf("when it is over: %+v, %v", all, err)
	}
	if got := p.stored(); got.ID != r.ID {
		t.Errorf("stored as %s, told of as %s", got.ID, r.ID)
	}
}

// One that is killed is told of until its news is old.
func TestKilledExperimentGoesStale(t *testing.T) {
	t.Parallel()
	p := begin(t, t.TempDir(), "compare", "grpc", "http1-json", "-w", "routeguide.GetFeature",
		"--rounds", "1000", "--slices", "1", "--slice", "50ms", "-q")
	s, err := sqlite.Open(t.Context(), p.mark)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r := p.telling(s, func(store.Running) bool { return true })
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
}

// Looks at what is measured so far take at most their share of the time.
func TestLooksHaveABudget(t *testing.T) {
	t.Parallel()
	r := resulttest.Make(resulttest.Setting{
		Name: "many", Rounds: 12, Seed: 1, Loads: []plan.Load{{InFlight: 1}},
		Arms: []resulttest.Arm{{Name: "a", Protocol: "grpc", ServerCPU: 1e4, ClientCPU: 1e4, Response: 1e5}},
	})
	n := &news{spent: 2 * time.Second}
	if n.look(experiment.Event{Elapsed: 100 * time.Second, Result: r}) || n.running.Standing != nil {
		t.Error("a look, though 2 of 100 s went into looks")
	}
	if !n.look(experiment.Event{Elapsed: 300 * time.Second, Result: r, Round: 12}) || n.running.Standing.Round != 12 || n.spent <= 2*time.Second {
		t.Errorf("no look, though there is time: %v", n.spent)
	}
}
