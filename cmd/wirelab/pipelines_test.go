package main

import (
	"maps"
	"slices"
	"testing"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// pathsAreFollowed checks the arms that TestAbsentArm measures. Paths through the pipeline
// are arms: every entry that was accepted is followed by its id until it is stored, and
// the cost is that of all processes, each told apart (ms-M01, ms-M15, R1, R2, R11). A call
// to the logger itself is followed too, by its replies. What the machine was too busy for
// does not matter here.
func pathsAreFollowed(t *testing.T, r *result.Result) {
	t.Helper()
	parts := [][]string{
		{"gateway", "logger"},
		{"gateway", "listener-nats", "logger", "nats"},
		{"gateway", "logger"},
		{"gateway", "hermes", "listener-hermes", "logger"},
		{"logger"},
	}
	for _, x := range r.Rounds[0].Trials {
		name := r.ArmName(x.Arm)
		f := x.Followed
		if f == nil || f.Sent == 0 || f.Missing+f.Stray+f.Lost+f.Refused > 0 || f.Stored != f.Sent ||
			f.Confirmed != f.Sent {
			t.Errorf("%s: %+v", name, f)
			continue
		}
		if f.StoredAfter.Count() != f.Stored || f.StoredAfter.Min() <= 0 {
			t.Errorf("%s: stored after %d ns at least, %d times", name, f.StoredAfter.Min(), f.StoredAfter.Count())
		}
		var sum plan.Duration
		for _, used := range x.Parts {
			sum += used
		}
		if got := slices.Sorted(maps.Keys(x.Parts)); !slices.Equal(got, parts[x.Arm]) || sum != x.Server.CPU ||
			sum == 0 {
			t.Errorf("%s: parts %v used %v, the server %v", name, x.Parts, sum, x.Server.CPU)
		}
	}
	// The published client throws its connection away with each reply's body (ms-M03).
	for _, x := range r.Rounds[0].Trials {
		thrown := x.Connections > x.Sent/2
		if thrown != (x.Arm == 2) {
			t.Errorf("%s opened %d connections for %d calls", r.ArmName(x.Arm), x.Connections, x.Sent)
		}
	}
}

// A queue is a setting of a path that has one, and a mistake in it is told before
// anything is started.
func TestQueuesOfArms(t *testing.T) {
	s := newShell(t)
	for arm, want := range map[string]string{
		"grpc,queue=quorum":       "leads through none",
		"log-http,queue=classic":  "leads through none",
		"log-rabbit,queue=qourum": `unknown word of a queue "qourum"`,
	} {
		s.run("compare", arm, "log-grpc", "-w", "logging.WriteLog", "--print-plan").wants(t, desk.ExitUsage, nil,
			[]string{want})
	}
	s.run("compare", "log-rabbit,queue=classic+unconfirmed", "log-grpc", "-w", "logging.WriteLog", "--print-plan").
		wants(t, desk.ExitOK, []string{`"queue": "classic+unconfirmed"`}, nil)
	s.run("serve", "logging", "log-grpc").wants(t, desk.ExitUsage, nil, []string{"wirelab up logging"})
}
