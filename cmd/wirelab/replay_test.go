package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"wirelab/cli"
	"wirelab/plan"
	"wirelab/result"
	"wirelab/result/resulttest"
)

// A replay runs the plan again with its seed, stores what it measured, and an
// original of two rounds, which concludes nothing, gives it nothing to hold.
func TestReplay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := begin(t, compared(t).dir, "replay", "latest", "--rounds", "1", "--json", "-q")
	p.want(exitNoWord)
	var said replayed
	if err := json.Unmarshal(p.stdout.Bytes(), &said); err != nil {
		t.Fatalf("%v\n%s", err, p.stdout.String())
	}
	if said.Original == said.Here || said.Here == "" || said.Sentence != "The original concludes nothing, so there is nothing to hold." || said.Agreement.Environment != nil {
		t.Errorf("%+v", said)
	}
	s := &shell{t, map[string]string{"WIRELAB_STORE": p.mark}}
	var here struct{ Result result.Result }
	if err := json.Unmarshal([]byte(s.run("results", "export", said.Here).stdout), &here); err != nil {
		t.Fatal(err)
	}
	if here.Result.Plan.Seed != 11 || len(here.Result.Rounds) != 1 || here.Result.Plan.Slices != 2 {
		t.Errorf("seed %d, %d rounds of %d slices", here.Result.Plan.Seed, len(here.Result.Rounds), here.Result.Plan.Slices)
	}
	s.run("replay", "latest", "--rounds", "-1").wants(t, exitUsage, nil, []string{"--rounds"})
	s.run("replay", "r-1999").wants(t, exitUsage, nil, []string{"no result"})
	s.run("replay").wants(t, exitUsage, nil, []string{"one id or file"})
	// What was measured with other libraries than there are here cannot be run.
	foreign := resulttest.Closed()
	foreign.Plan.Requests, foreign.Plan.Arms[1].Server = "", "grpc-c++"
	s.run("replay", resultFile(t, foreign)).wants(t, exitUsage, nil, []string{"grpc-c++", "known"})
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
	vague := resulttest.Make(resulttest.Setting{Arms: resulttest.Arms(), Loads: was.Plan.Loads, Rounds: 10, Seed: 1, Noise: 0.5})
	for name, c := range map[string]struct {
		was, here *result.Result
		code      int
		says      string
	}{
		"all hold":       {was, was, exitOK, "All 4 primary conclusions hold here."},
		"contradicted":   {was, resulttest.Make(resulttest.Setting{Arms: other, Loads: was.Plan.Loads, Rounds: 10, Seed: 1}), exitFailed, "2 contradicted"},
		"too vague":      {was, vague, exitNoWord, "not decided"},
		"too short":      {was, resulttest.Short(5), exitNoWord, "4 not decided"},
		"no conclusions": {resulttest.Short(5), was, exitNoWord, "concludes nothing"},
	} {
		var out bytes.Buffer
		a := &app{Terminal: cli.Terminal{Stdout: &out}, getenv: func(string) string { return "" }}
		code := exitOK
		if err := a.tellAgreement(c.was, c.here, false); err != nil {
			code = exitCodeOf(err)
		}
		if code != c.code || !bytes.Contains(out.Bytes(), []byte(c.says)) {
			t.Errorf("%s: exit code %d, want %d:\n%s", name, code, c.code, out.String())
		}
	}
}
