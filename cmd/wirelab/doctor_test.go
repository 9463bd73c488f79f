package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"wirelab/doctor"
)

// The doctor looks at this very machine, whatever it is like.
func TestDoctor(t *testing.T) {
	t.Parallel()
	p := begin(t, t.TempDir(), "doctor", "--json")
	code := p.end()
	var e doctor.Examination
	if err := json.Unmarshal(p.stdout.Bytes(), &e); err != nil {
		t.Fatalf("%v: %s", err, p.stdout.String())
	}
	if want := map[bool]int{true: exitOK, false: exitFailed}[e.Fit]; code != want {
		t.Errorf("exit code %d, want %d of a machine that is fit: %v", code, want, e.Fit)
	}
	if len(e.Findings) < 20 || e.Watched.Wakes.Count == 0 || e.Machine.Clock.Cost == 0 || len(e.Machine.Allowed) == 0 {
		t.Errorf("%d findings, %d wake-ups, clock %+v", len(e.Findings), e.Watched.Wakes.Count, e.Machine.Clock)
	}
	if !strings.Contains(p.said.String(), "watching the machine") {
		t.Errorf("no word of what takes so long: %q", p.said.String())
	}
	p.wantNoneLeft()
}

func TestDoctorIsInterrupted(t *testing.T) {
	t.Parallel()
	p := begin(t, t.TempDir(), "doctor")
	p.until("watching the machine")
	_ = p.command.Process.Signal(os.Interrupt)
	p.want(exitNoWord, "interrupted")
}
