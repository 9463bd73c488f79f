package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"wirelab/cmd/internal/desk"
)

// The short form, as a user runs it. Where the machine is too busy for the
// checks to let numbers out, that is said and not held against wirelab: a
// number that is wrong, or a fault that is not seen, is.
func TestSelfTest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := begin(t, t.TempDir(), "selftest", "-q").within(10 * time.Minute)
	code := p.end()
	t.Log(p.stdout.String())
	if code != desk.ExitOK && code != desk.ExitNoWord {
		t.Errorf("exit code %d: %s", code, p.said.String())
	}
	if left := p.processes(""); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	s := newShell(t)
	s.env["WIRELAB_STORE"] = p.mark
	s.run("results", "list", "--name", "selftest").wants(t, desk.ExitOK, []string{"selftest"}, nil)
	list := s.run("results", "list", "--name", "selftest", "--json")
	var summaries []struct{ ID string }
	if err := json.Unmarshal([]byte(list.stdout), &summaries); err != nil || len(summaries) != 1 {
		t.Fatalf("%v: %s", err, list.stdout)
	}
	if show := s.run("results", "show", summaries[0].ID); !strings.HasPrefix(show.stdout, "self-test, short form: ") ||
		show.stdout != p.stdout.String() {
		t.Errorf("the stored report is not what was printed:\n%s", show.stdout)
	}
	s.run("verify", summaries[0].ID).wants(t, desk.ExitOK, nil, nil)
}

func TestSelfTestNames(t *testing.T) {
	s := newShell(t)
	s.run("selftest", "--only", "tooth").wants(t, desk.ExitUsage, nil,
		[]string{`unknown test "tooth"; known: derivation, drift,`})
	s.run("selftest", "--list").wants(t, desk.ExitOK, []string{"NAME", "truth", "stopped"}, nil)
	if all := s.run("selftest", "--gates", "--list").stdout; strings.Count(all, "\ngates ") != 1 {
		t.Errorf("each is listed once: %s", all)
	}
	s.run("selftest", "--list", "--json").wants(t, desk.ExitOK, []string{`"Name": "truth"`}, nil)
}

// A server with a known delay can be selected, and mistakes in its description are errors.
func TestInjectedArms(t *testing.T) {
	s := newShell(t)
	for arm, want := range map[string]string{
		"grpc,inject=constnat 20ms":                      `(inject) "constnat 20ms"; did you mean "constant 20ms"?`,
		"grpc,inject=frozen 1ms 5s 500ms":                "no call of 1ms fits between two stretches of 5s",
		"grpc,inject=spin 2us,target=127.0.0.1:1":        "has both inject and target",
		"grpc,inject=bimodal 10ms 50ms 2":                "SHARE is",
		"grpc,inject=constant 20ms,inject=constant 20ms": "sets inject twice",
	} {
		s.run("compare", arm, "grpc", "-w", "routeguide.GetFeature", "--print-plan").wants(t, desk.ExitUsage, nil,
			[]string{want})
	}
	s.run("serve", "routeguide", "grpc", "--inject", "spin").wants(t, desk.ExitUsage, nil, []string{"want spin TIME"})
	s.run("serve", "routeguide", "http1-json", "--null", "--inject", "spin 2us").wants(t, desk.ExitUsage, nil,
		[]string{"do not go together"})
}
