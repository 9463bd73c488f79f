package terminal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/result/threshold"
	"wirelab/results/report/terminal"
)

func TestJudgement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		r   *result.Result
		has []string
	}{
		"closed": {
			resulttest.Closed(),
			[]string{"Fail (", " grpc     1 in flight   +31.6 %  [+30.4, +32.9]  fail\n"},
		},
		"troubled":   {resulttest.Troubled(), []string{"Invalid (", "· cpu/req > +3%, grpc (1 in flight): 3 of"}},
		"long names": {resulttest.LongNames(), []string{"…  50 in flight  +32.3 %"}},
	} {
		a := analyse.Result(c.r)
		var all []threshold.Threshold
		for _, text := range []string{"cpu/req > +3%", "errors > 0.1%"} {
			one, err := threshold.ParseThreshold(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
		j := threshold.Judge(c.r, &a, all)
		for _, width := range []int{64, 80, 140} {
			var plain, coloured strings.Builder
			if err := terminal.WriteJudgement(&plain, c.r, &j, terminal.Style{Width: width}); err != nil {
				t.Fatal(err)
			}
			if err := terminal.WriteJudgement(&coloured, c.r, &j,
				terminal.Style{Width: width, Color: true}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(plain.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s: %d columns of %d: %s", name, n, width, line)
				}
			}
			for _, want := range c.has {
				if width == 80 && !strings.Contains(plain.String(), want) {
					t.Errorf("%s lacks %q:\n%s", name, want, plain.String())
				}
			}
			if strings.Contains(plain.String(), "\x1b") || !strings.Contains(coloured.String(), "\x1b") {
				t.Errorf("%s: colours where none were asked for, or none", name)
			}
		}
	}
}

// What "results check" prints has the answer in its first line and none that is too wide,
// with all outcomes, whatever the names.
func TestCheckFits(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*result.Result{
		"closed": resulttest.Closed(), "long names": resulttest.LongNames(),
		"streams": resulttest.Streams(),
	} {
		a := analyse.Result(r)
		one, err := threshold.ParseThreshold("errors > 0.1%")
		if err != nil {
			t.Fatal(err)
		}
		two := threshold.Threshold{
			Text: "primary > +3%", Metric: a.Loads[0].Primary, Relative: true, Limit: 1.03,
			LimitText: "+3%",
		}
		j := threshold.Judge(r, &a, []threshold.Threshold{one, two})
		for _, width := range []int{64, 80, 140} {
			var out strings.Builder
			if err := terminal.WriteCheck(&out, r, &j, terminal.Style{Width: width}); err != nil {
				t.Fatal(err)
			}
			first := true
			for line := range strings.Lines(out.String()) {
				if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > width {
					t.Errorf("%s at %d: %d columns: %s", name, width, utf8.RuneCountInString(line), line)
				}
				if first && !strings.HasPrefix(line, "Fail") && !strings.HasPrefix(line, "Inconclusive") &&
					!strings.HasPrefix(line, "Invalid") {
					t.Errorf("%s begins with %q, not with the answer", name, line)
				}
				first = false
			}
			for i := range j.Findings {
				if !strings.Contains(out.String(), string(j.Findings[i].Outcome)) {
					t.Errorf("%s at %d lacks %s", name, width, j.Findings[i].Outcome)
				}
			}
			if name == "closed" && width == 80 {
				t.Log("\n" + out.String())
			}
		}
	}
}
