package terminal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/report/terminal"
	"wirelab/result"
	"wirelab/result/resulttest"
)

func TestJudgement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		r   *result.Result
		has []string
	}{
		"closed":     {resulttest.Closed(), []string{"Fail (", " grpc     1 in flight   +31.6 %  [+30.4, +32.9]  fail\n"}},
		"troubled":   {resulttest.Troubled(), []string{"Invalid (", "· cpu/req > +3%, grpc (1 in flight): 3 of"}},
		"long names": {resulttest.LongNames(), []string{"…  50 in flight  +32.3 %"}},
	} {
		a := result.Analyse(c.r)
		var all []result.Threshold
		for _, text := range []string{"cpu/req > +3%", "errors > 0.1%"} {
			one, err := result.ParseThreshold(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
		j := result.Judge(c.r, &a, all)
		for _, width := range []int{64, 80, 140} {
			var plain, coloured strings.Builder
			if err := terminal.WriteJudgement(&plain, c.r, &j, terminal.Style{Width: width}); err != nil {
				t.Fatal(err)
			}
			if err := terminal.WriteJudgement(&coloured, c.r, &j, terminal.Style{Width: width, Color: true}); err != nil {
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
