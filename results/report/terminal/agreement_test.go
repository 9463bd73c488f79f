package terminal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/history"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/terminal"
)

func TestAgreement(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	was, here := resulttest.Closed(), resulttest.Short(8)
	other := resulttest.Arms()
	other[1].ServerCPU, other[2].ServerCPU = 20000, 24900 // grpc is cheaper here, connect dearer
	made := resulttest.Make(resulttest.Setting{
		Name: "elsewhere", Arms: other, Loads: was.Plan.Loads, Rounds: 12,
		Seed: 9,
	})
	made.Environment.CPU = "Other CPU"
	long := resulttest.LongNames()
	for name, c := range map[string]struct {
		was, here *result.Result
		has       []string
	}{
		"the same": {
			was, was,
			[]string{
				"All 4 primary conclusions hold here. All ", "the same machine and build", " holds\n",
				"hold are not shown (41)",
			},
		},
		"elsewhere": {
			was, made,
			[]string{
				"2 contradicted", "CPU: Example CPU at 2.40GHz, here Other CPU",
				"(50 in flight): contradicted:\n  the opposite is so here", "  contradicted\n",
			},
		},
		"too few rounds": {was, here, []string{"0 hold here, 0 contradicted, 4 not decided", "not decided here\n"}},
		"long names":     {long, long, []string{"…"}},
		"no conclusion":  {here, was, []string{"concludes nothing"}},
	} {
		a, b := analyse.Result(c.was), analyse.Result(c.here)
		agreement := history.Agree(&a, &b, c.was.Environment, c.here.Environment)
		for _, width := range []int{64, 80, 140} {
			var out strings.Builder
			if err := terminal.WriteAgreement(&out, c.was, c.here, &agreement,
				terminal.Style{Width: width}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && width >= 80 {
					t.Errorf("%s: %d columns of %d: %s", name, n, width, line)
				}
			}
			for _, want := range c.has {
				if width == 80 && !strings.Contains(out.String(), want) {
					t.Errorf("%s lacks %q", name, want)
				}
			}
			if width == 80 && testing.Verbose() {
				t.Logf("%s\n%s", name, out.String())
			}
		}
	}
}
