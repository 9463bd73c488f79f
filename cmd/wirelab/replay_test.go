package main

import (
	"bytes"
	"testing"
	"time"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
)

// replays replays the latest result in a folder's store, of one round, and returns what
// was measured: by the plan and seed that it had, and stored as well. One round
// concludes nothing, which gives the replay nothing to hold.
func replays(t *testing.T, dir string, was *result.Result) *result.Result {
	t.Helper()
	p := begin(t, dir, "replay", "latest", "--rounds", "1", "--json", "-q")
	p.want(desk.ExitNoWord)
	said := decode[replayed](t, p.stdout.String())
	if said.Original != was.ID || said.Here == "" || said.Here == was.ID ||
		said.Sentence != "The original concludes nothing, so there is nothing to hold." ||
		said.Agreement.Environment != nil {
		t.Errorf("%+v", said)
	}
	here := p.stored()
	if here.ID != said.Here || here.Plan.Seed != was.Plan.Seed || len(here.Rounds) != 1 ||
		here.Plan.Slices != was.Plan.Slices {
		t.Errorf("%s: seed %d, %d rounds of %d slices", here.ID, here.Plan.Seed, len(here.Rounds), here.Plan.Slices)
	}
	return here
}

// A result that cannot be replayed is refused before anything is measured. A replay itself is part of
// TestCompareOverNetwork.
func TestReplayMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	s.run("replay", "latest", "--rounds", "-1").wants(t, desk.ExitUsage, nil, []string{"--rounds"})
	s.run("replay", "r-1999").wants(t, desk.ExitUsage, nil, []string{"no result"})
	s.run("replay").wants(t, desk.ExitUsage, nil, []string{"one id or file"})
	// What was measured with other libraries than there are here cannot be run.
	foreign := resulttest.Closed()
	foreign.Plan.Requests, foreign.Plan.Arms[1].Server = "", "grpc-c++"
	s.run("replay", resultFile(t, foreign)).wants(t, desk.ExitUsage, nil, []string{"grpc-c++", "known"})
}

func TestAgain(t *testing.T) {
	t.Parallel()
	p := plan.Plan{Rounds: plan.Rounds{Min: 10, Max: 100}, Until: 0.02, For: plan.Duration(time.Hour), Seed: 5}
	if same := again(p, 0, 0); same.Rounds != p.Rounds || same.Until != p.Until || same.For != p.For || same.Seed != 5 {
		t.Errorf("%+v", same)
	}
	if short := again(p, 12, 0); short.Rounds != (plan.Rounds{Min: 12, Max: 12}) || short.Until != 0 || short.For != 0 {
		t.Errorf("%+v", short)
	}
	if short := again(p, 0, time.Minute); short.For != plan.Duration(time.Minute) || short.Until != 0.02 {
		t.Errorf("%+v", short)
	}
}

// The exit code says whether the conclusions hold.
func TestAgreementCodes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	was := resulttest.Closed()
	other := resulttest.Arms()
	other[1].ServerCPU = 15000 // grpc is cheaper there
	vague := resulttest.Make(resulttest.Setting{
		Arms: resulttest.Arms(), Loads: was.Plan.Loads, Rounds: 10, Seed: 1,
		Noise: 0.5,
	})
	for name, c := range map[string]struct {
		was, here *result.Result
		code      int
		says      string
	}{
		"all hold": {was, was, desk.ExitOK, "All 4 primary conclusions hold here."},
		"contradicted": {
			was,
			resulttest.Make(resulttest.Setting{Arms: other, Loads: was.Plan.Loads, Rounds: 10, Seed: 1}),
			desk.ExitFailed, "2 contradicted",
		},
		"too vague":      {was, vague, desk.ExitNoWord, "not decided"},
		"too short":      {was, resulttest.Short(5), desk.ExitNoWord, "4 not decided"},
		"no conclusions": {resulttest.Short(5), was, desk.ExitNoWord, "concludes nothing"},
	} {
		var out bytes.Buffer
		a := newApp(cli.Terminal{Stdout: &out}, nil, func(string) string { return "" })
		code := desk.ExitOK
		if err := a.tellAgreement(c.was, c.here, false); err != nil {
			code = desk.ExitCodeOf(err)
		}
		if code != c.code || !bytes.Contains(out.Bytes(), []byte(c.says)) {
			t.Errorf("%s: exit code %d, want %d:\n%s", name, code, c.code, out.String())
		}
	}
}
