package plan_test

import (
	"strings"
	"testing"

	"wirelab/lab/plan"
)

func TestHarmless(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é😀 <b>":         "plain é😀 <b>",
		"\x1b[31mred\x1b[0m":   "␛[31mred␛[0m",
		"a\u009b31m":           "a\ufffd31m",
		"gpj\u202etxt.exe":     "gpj\ufffdtxt.exe",
		"two\nlines\tand\rone": "two␊lines␉and␍one",
		"\x7f\x00":             "␡␀",
		"\xff":                 "\ufffd",
		"می\u200cخواهم":        "می\u200cخواهم",
	} {
		if got := plan.Harmless(text, false); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := plan.Harmless("two\nlines\tand\rone", true); got != "two\nlines\tand␍one" {
		t.Errorf("with lines: %q", got)
	}
}

// A name that is invisible, or that hides or reverses the text around it, is refused.
func TestNamesAreSeen(t *testing.T) {
	t.Parallel()
	for name, right := range map[string]bool{
		"before cache": true, "می\u200cخواهم": true, "👩\u200d💻": true, "<b>|`": true,
		"\u200b": false, "gpj\u202etxt": false, "a\u200bb": false, "\u3164": false, "\u2800": false, "a\u2066b": false,
		"\ufeffa":  false,
		"a\x1b[1m": false, "a\u009bm": false, "a\nb": false,
	} {
		p := plan.Plan{
			Name: name, Workload: "routeguide", Operation: "GetFeature",
			Arms: []plan.Arm{{Protocol: "grpc"}, {Protocol: "http1-json"}},
		}
		if _, err := p.Complete(); (err == nil) != right {
			t.Errorf("%q: %v", name, err)
		}
		p.Name, p.Arms[0].Name = "", name
		if _, err := p.Complete(); (err == nil) != right {
			t.Errorf("%q as an arm's: %v", name, err)
		}
	}
}

// Some programs write NaN as null. It must not be read as 0.
func TestNullIsNoGap(t *testing.T) {
	t.Parallel()
	_, err := plan.ParseRecording("x.json", []byte(`{"inter_arrival_ms":[5,null,7]}`))
	if err == nil || !strings.Contains(err.Error(), "inter_arrival_ms[1] is null") {
		t.Error(err)
	}
}
