package html_test

import (
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/html"
)

// A plot of differences in which none is known has the reasons, and no axis and no words about one.
func TestRefusedPlotHasNoAxis(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"known": true, "refused": false} {
		r := resulttest.Make(resulttest.Setting{
			Name: "one", Arms: resulttest.Arms()[:2],
			Loads: []plan.Load{{InFlight: 1}}, Rounds: 10, Seed: 0x0a15,
		})
		if name == "refused" {
			resulttest.Refuse(r)
		}
		var page strings.Builder
		if err := html.Write(&page, r); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(page.String(), `id="verdict"`)
		plot, _, _ := strings.Cut(rest, "</figure>")
		for _, part := range []string{`class="zero"`, `class="grid"`, "Dot: the difference from"} {
			if strings.Contains(plot, part) != want {
				t.Errorf("%s: %s is there: %v, want %v", name, part, !want, want)
			}
		}
	}
}
