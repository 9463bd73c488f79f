package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/doctor"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result/calibration"
	"wirelab/lab/result/claim"
)

// The doctor looks at this very machine, whatever it is like.
func TestDoctor(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := begin(t, t.TempDir(), "doctor", "--json", "--burst", "1s")
	code := p.end()
	var e doctor.Examination
	if err := json.Unmarshal(p.stdout.Bytes(), &e); err != nil {
		t.Fatalf("%v: %s", err, p.stdout.String())
	}
	if want := map[bool]int{true: desk.ExitOK, false: desk.ExitFailed}[e.Fit]; code != want {
		t.Errorf("exit code %d, want %d of a machine that is fit: %v", code, want, e.Fit)
	}
	if len(e.Findings) < 20 || e.Watched.Wakes.Count == 0 || e.Machine.Clock.Cost == 0 || len(e.Machine.Allowed) == 0 {
		t.Errorf("%d findings, %d wake-ups, clock %+v", len(e.Findings), e.Watched.Wakes.Count, e.Machine.Clock)
	}
	if !strings.Contains(p.said.String(), "watching the machine") {
		t.Errorf("no word of what takes so long: %q", p.said.String())
	}
	p.wantNoneLeft()
	switch {
	case e.Certificate == nil && e.Uncertified == "":
		t.Error("no certificate and no word of why")
	case e.Certificate == nil:
		t.Logf("a busy machine: %s", e.Uncertified)
	case e.Certificate.Rounds < claim.MinRounds || e.Result == "":
		t.Errorf("certificate %+v of result %q", e.Certificate, e.Result)
	default:
		if why := e.Certificate.Stale(probe.Environment(), time.Now()); why != "" {
			t.Errorf("the new certificate does not hold: %s", why)
		}
		if _, ok := e.Certificate.Of(plan.ServerCPU); !ok {
			t.Errorf("nothing about server CPU: %+v", e.Certificate)
		}
		again, err := calibration.Certify(p.stored())
		if err != nil || !reflect.DeepEqual(again.Metrics, e.Certificate.Metrics) {
			t.Errorf("it does not follow from the stored result: %v", err)
		}
	}
}

func TestDoctorLooksOnly(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := begin(t, t.TempDir(), "doctor", "--no-burst")
	if code := p.end(); code != desk.ExitOK && code != desk.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	for _, text := range []string{"it to measure on", "clock source", "open files"} {
		if !strings.Contains(p.stdout.String(), text) {
			t.Errorf("the report lacks %q:\n%s", text, p.stdout.String())
		}
	}
	if strings.Contains(p.stdout.String(), "tell apart") {
		t.Error("a certificate without a request for one")
	}
	begin(t, t.TempDir(), "doctor", "--burst", "1ms").want(desk.ExitUsage, "--burst 1ms")
}

func TestDoctorIsInterrupted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, when := range []string{"watching the machine", "comparing http1-proto with itself"} {
		interruptedAt(t, when, "doctor")
	}
}
