package report_test

import (
	"errors"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

func TestGist(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		r    *result.Result
		want report.Gist
	}{
		"well": {resulttest.Closed(), report.Gist{
			Arms: "http1-proto, grpc, connect", Loads: "1 and 50 calls in flight",
			Verdict:  "1 call in flight: server CPU/req against http1-proto: grpc +31.6 %",
			Validity: "all figures valid",
		}},
		"open": {resulttest.Open(), report.Gist{
			Arms: "http1-proto, grpc, connect", Loads: "2 loads",
			Verdict:  "2,000/s Poisson: response p99 against http1-proto: grpc +18 %",
			Validity: "2 of 18 figures not valid", Refused: true,
		}},
		"troubled": {resulttest.Troubled(), report.Gist{
			Arms: "http1-proto, grpc, connect and 3 more", Loads: "1 call in flight",
			Verdict: "no verdict", Validity: "8 of 20 figures not valid", Refused: true,
		}},
	} {
		a := analyse.Result(c.r)
		if got := report.GistOf(c.r, &a); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A gist is made once; what another program kept, or what cannot be read, is made again.
func TestListedGist(t *testing.T) {
	t.Parallel()
	made, kept := 0, ""
	get := func() (*result.Result, error) { made++; return resulttest.Closed(), nil }
	keep := func(text string) error { kept = text; return errors.New("read only") }
	first, err := report.ListedGist("", get, keep)
	if err != nil || first.Verdict == "" || made != 1 {
		t.Fatalf("%+v, %v, made %d times", first, err, made)
	}
	again, err := report.ListedGist(kept, get, keep)
	if err != nil || again != first || made != 1 {
		t.Errorf("%+v, %v, made %d times; want what was kept", again, err, made)
	}
	for _, old := range []string{"{", `{"by":"another","verdict":"x"}`} {
		if got, err := report.ListedGist(old, get, keep); err != nil || got != first {
			t.Errorf("%s: %+v, %v", old, got, err)
		}
	}
}
