package terminal_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/terminal"
)

var update = flag.Bool("update", false,
	"write the present output into testdata; understand the difference before committing it")

// examples are what every form of report is tested with.
func examples() map[string]*result.Result {
	return map[string]*result.Result{
		"closed": resulttest.Closed(), "open": resulttest.Open(), "troubled": resulttest.Troubled(),
		"messages": resulttest.Messages(), "scenarios": resulttest.MessageScenarios(),
		"streams": resulttest.Streams(), "absent": resulttest.Absent(), "chained": resulttest.Chained(),
		"ledger": resulttest.Ledger(), "ledger-elsewhere": resulttest.LedgerElsewhere(),
		"short": resulttest.Short(3), "none": resulttest.Short(0), "one-arm": resulttest.OneArm(),
		"many-arms": resulttest.Many(), "long-names": resulttest.LongNames(),
	}
}

// Layouts are equal to the reviewed ones: many columns, long names, marks and refused figures, an account, a wide page.
// The words of reports are tested with the blocks of package report.
func TestGolden(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	all := examples()
	for name, width := range map[string]int{
		"closed": 140, "long-names": 80, "many-arms": 80, "messages": 80, "troubled": 80,
	} {
		var got strings.Builder
		if err := terminal.Write(&got, all[name], terminal.Style{Width: width}); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("%s-%d", name, width), got.String())
	}
}

// golden holds a text against a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s differs (%v); -update writes:\n%s", file, err, got)
	}
}

// Whatever the width, no line is longer, and nothing but colour is added by colour.
func TestWidthAndColor(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	escape := regexp.MustCompile("\x1b\\[[0-9]*m")
	for _, name := range []string{"troubled", "one-arm", "long-names", "scenarios"} {
		r := examples()[name]
		for _, columns := range []int{0, 64, 110} {
			var plain, color strings.Builder
			if err := errors.Join(terminal.Write(&plain, r, terminal.Style{Width: columns}),
				terminal.Write(&color, r, terminal.Style{Width: columns, Color: true})); err != nil {
				t.Fatal(err)
			}
			if columns == 0 {
				columns = 80
			}
			for line := range strings.Lines(plain.String()) {
				line = strings.TrimSuffix(line, "\n")
				if n := utf8.RuneCountInString(line); n > columns {
					t.Errorf("%s: %d columns in %d: %q", name, n, columns, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("%s: a line ends in spaces: %q", name, line)
				}
			}
			if strings.Contains(plain.String(), "\x1b") {
				t.Errorf("%s: colour that was not asked for", name)
			}
			bare := escape.ReplaceAllString(color.String(), "")
			if bare = regexp.MustCompile(`(?m) +$`).ReplaceAllString(bare, ""); bare != plain.String() ||
				bare == color.String() {
				t.Errorf("%s: colour changes more than colours", name)
			}
		}
	}
}

// No figure of an arm that failed a gate reaches the page.
func TestInvalidArmsHaveNoFigures(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := terminal.Write(&out, resulttest.Troubled(), terminal.Style{Width: 200}); err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(out.String(), "── 1 call in flight")
	tables, _, _ = strings.Cut(tables, "* difference")
	lines := 0
	for line := range strings.Lines(tables) {
		for _, arm := range []string{"grpc ", "h2c-proto ", "http3-proto "} {
			if rest, ok := strings.CutPrefix(line, arm); ok {
				lines++
				if strings.ContainsAny(rest, "0123456789") {
					t.Errorf("%s is invalid and has figures: %q", arm, line)
				}
			}
		}
	}
	if lines < 6 {
		t.Errorf("only %d lines looked at", lines)
	}
}

func TestMadeUpResultsDoNotBreakIt(t *testing.T) {
	t.Parallel()
	for _, r := range []*result.Result{
		{},
		{Rounds: make([]result.Round, 3)},
		{Plan: resulttest.Closed().Plan},
		{Plan: resulttest.Closed().Plan, Rounds: []result.Round{{Trials: []result.Trial{{}, {Arm: 77}, {Load: -1}}}}},
	} {
		if err := terminal.Write(&strings.Builder{}, r, terminal.Style{}); err != nil {
			t.Error(err)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	t.Parallel()
	if err := terminal.Write(broken{}, resulttest.Closed(), terminal.Style{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}
