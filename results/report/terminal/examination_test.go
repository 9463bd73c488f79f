package terminal_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"wirelab/lab/doctor"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/terminal"
)

// ill is an examination of a machine with something wrong of every kind.
func ill() doctor.Examination {
	m := probe.Machine{
		Environment: result.Environment{
			Host: "lab", OS: "linux/amd64", Kernel: "6.1.0", CPU: "Example CPU at 2.40GHz", CPUs: 2,
			MemoryBytes: 8 << 30,
			Governor:    "powersave", ClockSource: "hpet", Go: "go1.26.8", Virtual: "kvm",
		},
		Allowed: []int{0, 1}, Shared: [][]int{{0, 1}}, ClockSources: []string{"tsc", "hpet"}, Available: 6 << 30,
		Files: 1024, MTU: 65536, Ports: 28232,
		Clock: probe.ClockReading{Cost: 900, Step: 900},
	}
	w := probe.Watched{
		For:   plan.Duration(3 * time.Second),
		Noise: result.Noise{Steal: 0.03, Others: 0.2, CPUPressure: 0.2},
		Tasks: []probe.Task{
			{PID: 4242, Name: "a-compiler-with-a-long-name", Share: 0.15},
			{PID: 777, Name: "indexer", Share: 0.05},
		},
		Wakes: probe.Wakes{Count: 200, P50: 30_000, P99: 90_000, Worst: 200_000},
	}
	e := doctor.Examine(m, w, result.Placement{DriverCPUs: []int{0}, ServerCPUs: []int{1}})
	e.Certificate = resulttest.Certified().Certificate
	return e
}

// Every finding is there, those that are not fine with what to do; commands
// stand alone on their lines, whole, so that they can be copied.
func TestExamination(t *testing.T) {
	t.Parallel()
	e := ill()
	for _, columns := range []int{0, 64, 140} {
		var plain, color strings.Builder
		if err := errors.Join(terminal.Examination(&plain, e, terminal.Style{Width: columns}),
			terminal.Examination(&color, e, terminal.Style{Width: columns, Color: true})); err != nil {
			t.Fatal(err)
		}
		if columns == 0 {
			columns = 80
		}
		if !strings.Contains(plain.String(), "12 rounds") ||
			!regexp.MustCompile(`(?m)^server CPU/req +(±[0-9.]+ % +)?[0-9.]+ %`).MatchString(plain.String()) {
			t.Errorf("the certificate is not shown:\n%s", plain.String())
		}
		commands := map[string]bool{}
		for _, f := range e.Findings {
			commands[f.Command] = true
			if !strings.Contains(plain.String(), f.Name) ||
				f.Command != "" && !strings.Contains(plain.String(), "  "+f.Command+"\n") {
				t.Errorf("%s or its command %q is not shown in %d columns", f.ID, f.Command, columns)
			}
		}
		for line := range strings.Lines(plain.String()) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > columns && !commands[strings.TrimSpace(line)] {
				t.Errorf("%d columns in %d: %q", utf8.RuneCountInString(line), columns, line)
			}
		}
		bare := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(color.String(), "")
		if bare = regexp.MustCompile(`(?m) +$`).ReplaceAllString(bare, ""); bare != plain.String() ||
			bare == color.String() {
			t.Error("colour changes more than colours")
		}
	}
	var none strings.Builder
	e.Certificate, e.Uncertified = nil, "9 rounds have both arms, it needs 10"
	if err := terminal.Examination(&none, e, terminal.Style{}); err != nil ||
		!strings.Contains(none.String(), e.Uncertified) {
		t.Errorf("why there is no certificate is not said: %v", err)
	}
	if err := terminal.Examination(broken{}, e, terminal.Style{}); err == nil {
		t.Error("the writer's error is lost")
	}
}
