package svg_test

import (
	"slices"
	"strings"
	"testing"

	"wirelab/results/report/svg"
)

// Text that is broken into lines fits, and nothing is lost except the part that an ellipsis replaces.
func TestWrapFits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "grpc", "http1-proto,client=net/http,connections=16", "two words",
		strings.Repeat("x", 80), "日本語の名前,client=grpc-go", "a b c d e f g h i j k l m n",
	} {
		for _, room := range []float64{20, 60, 140, 600} {
			lines := svg.Wrap(text, 11, room, 2)
			if len(lines) == 0 || len(lines) > 2 {
				t.Errorf("%q in %v: %q", text, room, lines)
			}
			for _, line := range lines {
				if svg.Width(line, 11) > room {
					t.Errorf("%q in %v: %q is %v wide", text, room, line, svg.Width(line, 11))
				}
			}
			if room == 600 && strings.Join(lines, "") != text {
				t.Errorf("%q became %q though there is room", text, lines)
			}
		}
	}
}

// A figure is not parted from its percent sign, where one line has room for both.
func TestWrapKeepsPercent(t *testing.T) {
	t.Parallel()
	for room := 60.0; room < 260; room++ {
		for _, line := range svg.Wrap("grpc costs 41 % less than http1-json (40 to 51 %).", 11, room, 9) {
			if strings.HasPrefix(line, "%") {
				t.Errorf("in %v a line begins with its sign: %q", room, line)
			}
		}
	}
}

// Where one line has no room for a number and its unit, they are parted at the space and not within.
func TestWrapPartsUnit(t *testing.T) {
	t.Parallel()
	if got, want := svg.Wrap("12.5 ms", 11, svg.Width("12.5", 11), 2),
		[]string{"12.5", "ms"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Labels of ticks touch neither each other nor anything beyond the axis.
func TestSpaced(t *testing.T) {
	t.Parallel()
	for _, wide := range []float64{40, 120, 900} {
		scale := svg.Linear(0, 1000, 0, wide)
		label := func(float64) string { return "+1,000 %" }
		ticks := svg.Spaced(scale.Ticks(50), scale.At, label, 11, 0, wide)
		for i, a := range ticks {
			half := svg.Width(a.Label, 11) / 2
			if a.At-half < -3 || a.At+half > wide+3 || i > 0 && ticks[i-1].At+half > a.At-half {
				t.Errorf("width %v: %+v", wide, ticks)
			}
		}
	}
}

// Scales take any values without a coordinate that is none.
func TestScalesTakeAnything(t *testing.T) {
	t.Parallel()
	for _, s := range []svg.Scale{
		svg.Linear(0, 0, 0, 100), svg.Linear(5, 1, 0, 100), svg.Log(0, 0, 0, 100),
		svg.Log(1e-300, 1e300, 100, 0), svg.Log(3, 3, 0, 100),
	} {
		for _, v := range []float64{0, -1, 1, 1e308} {
			if at := s.At(v); !(at >= 0 && at <= 100) {
				t.Errorf("%+v takes %v to %v", s, v, at)
			}
		}
		if n := len(s.Ticks(6)); n > 60 {
			t.Errorf("%+v has %d ticks", s, n)
		}
	}
	d := svg.New("x", "c", `<&"title`, "desc", 10)
	d.Text(1, 1, 11, svg.Start, "</svg><script>")
	if text := string(d.HTML()); strings.Contains(text, "<script") || strings.Contains(text, `<&"`) {
		t.Errorf("not escaped: %s", text)
	}
}
