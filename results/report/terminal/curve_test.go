package terminal_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/terminal"
)

// rated are results of curves and capacities: as they should be, with an arm
// that nothing is known of, and with names too long.
func rated() map[string]*result.Result {
	spoilt := resulttest.Curve([]resulttest.Server{
		{Name: "grpc", Protocol: "grpc", Rate: 500},
		{Name: "late", Protocol: "connect", Rate: 500},
	},
		[]float64{50, 100, 200, 300, 400, 500, 1000}, 10)
	for n := range spoilt.Rounds {
		for i := range spoilt.Rounds[n].Trials {
			if t := &spoilt.Rounds[n].Trials[i]; t.Arm == 1 {
				calls := t.Wake.Count()
				t.Wake.Reset()
				t.Wake.RecordN(3e9, calls)
				t.Lag = t.Wake.Clone()
			}
		}
	}
	bounds := resulttest.Search([]resulttest.Server{
		{Name: "grpc", Protocol: "grpc", Rate: 500},
		{Name: "http1-json", Protocol: "http1-json", Rate: 300},
	}, "p50<500us", 2)
	bounds.Capacity.Short = true
	long := resulttest.Search([]resulttest.Server{
		{Name: "grpc", Protocol: "grpc", Rate: 500},
		{Name: "http1-json,server=net/http,connections=4,inject=spin", Protocol: "http1-json", Rate: 500},
		{Name: "connect", Protocol: "connect", Rate: 700},
	}, "p50<20ms,p90<30ms,p99<50ms,mean<30ms,errors<0.1%", 7)
	return map[string]*result.Result{
		"curve": resulttest.Curves(), "curve-spoilt": spoilt, "capacity": resulttest.Capacity(),
		"capacity-bounds": bounds, "capacity-long": long,
	}
}

func TestRatedGolden(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	escape := regexp.MustCompile("\x1b\\[[0-9]*m")
	for name, r := range rated() {
		a := analyse.Result(r)
		for suffix, style := range map[string]terminal.Style{
			"-64": {Width: 64}, "-80": {Width: 80},
			"-140": {Width: 140},
		} {
			var got, color strings.Builder
			if err := terminal.WriteAnalysed(&got, r, &a, style); err != nil {
				t.Fatal(err)
			}
			style.Color = true
			if err := terminal.WriteAnalysed(&color, r, &a, style); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(got.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > style.Width {
					t.Errorf("%s: %d columns in %d: %s", name, n, style.Width, line)
				}
			}
			bare := regexp.MustCompile(`(?m) +$`).ReplaceAllString(escape.ReplaceAllString(color.String(), ""), "")
			if bare != got.String() {
				t.Errorf("%s%s: colour changes the text", name, suffix)
			}
			if style.Width == 64 && (name == "curve" || name == "capacity-long") {
				golden(t, name+suffix, got.String())
			}
		}
	}
}
