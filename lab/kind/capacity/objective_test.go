package capacity_test

import (
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/kind/capacity"
)

func TestParseObjective(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"p99<10ms":                            "p99<10ms,errors<0.1%",
		"p99 < 10ms , errors < 0.5%":          "p99<10ms,errors<0.5%",
		"errors<0%,p99.9<=1.5s,p50<500us":     "p50<500us,p99.9<1.5s,errors<0%",
		"mean<2ms,p90≤3ms":                    "p90<3ms,mean<2ms,errors<0.1%",
		"p99<500µs":                           "p99<500us,errors<0.1%",
		"p50<1ms,p90<2ms,p99<3ms,errors<0.1%": "p50<1ms,p90<2ms,p99<3ms,errors<0.1%",
	} {
		o, err := capacity.ParseObjective(text)
		if err != nil || o.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, o.String(), err, want)
		}
	}
	for text, says := range map[string]string{
		"":                   "is no bound",
		"p99":                "is no bound",
		"p99>10ms":           "is no bound",
		"p99<10":             "is no bound",
		"p99<-1ms":           "is no bound",
		"p99<1e3ms":          "is no bound",
		"p99<10ms,":          "is no bound",
		"p99<10m":            "10m is no time",
		"p99<1us":            "1us is no time of 10us to 1m0s",
		"p99<10%":            "10% is no time",
		"p100<10ms":          "is no percentile",
		"errors<0.1%":        "no time is bounded",
		"p99<1ms,errors<60%": "no percentage of 0 to 50",
		"p99<1ms,errors<1ms": "no percentage of 0 to 50",
		"p99<1ms,p99<2ms":    "bounded twice",
		"p99<1ms;p50<1ms":    "is no bound",
	} {
		_, err := capacity.ParseObjective(text)
		if wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "write for example") {
			t.Errorf("%q: %v, want %q and an example", text, err, says)
		}
	}
	o, err := capacity.ParseObjective("p50<2ms,p99<30ms")
	if err != nil || o.Tail() != 0.99 || o.Tightest() != 2*time.Millisecond || o.Loosest() != 30*time.Millisecond {
		t.Errorf("%+v, %v", o, err)
	}
}

// FuzzParseObjective: anything gets an objective that reads back as itself, or
// an error for people.
func FuzzParseObjective(f *testing.F) {
	for _, text := range []string{
		"p99<10ms,errors<0.1%", "mean<1s", "p99.9<=2us", ",,,", "errors<%",
		"p50<99999999999ms",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := capacity.ParseObjective(text)
		if err != nil {
			if wirelab.CodeOf(err) != wirelab.InvalidArgument || len(err.Error()) > 1500 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := capacity.ParseObjective(o.String())
		if err != nil || again.String() != o.String() || len(o.Times) == 0 || o.Errors < 0 || o.Errors > 0.5 {
			t.Fatalf("%q reads as %q, and that as %q, %v", text, o, again, err)
		}
	})
}
