package main

import (
	"strings"
	"testing"

	"wirelab/lab/loads"
	"wirelab/lab/plan"
)

// TestStreamFlags: flags become loads, and a rate is that of all streams together.
func TestStreamFlags(t *testing.T) {
	t.Parallel()
	rates := []plan.Load{{Rate: 1000}, {Rate: 10_000}}
	for _, c := range []struct {
		flags loads.Streams
		rates []plan.Load
		want  string // the loads, or part of the error
	}{
		{loads.Streams{}, rates, "1000/s; 10000/s"},
		{loads.Streams{Count: 10}, rates, "10 streams at 1000/s in all; 10 streams at 10000/s in all"},
		{loads.Streams{Count: 10, Readers: []string{"50%"}}, rates[:1], "10 streams at 1000/s in all, read at 50 %"},
		{
			loads.Streams{Count: 1, Readers: []string{"100%", " 12.5% "}},
			rates[:1],
			"1 stream at 1000/s; 1 stream at 1000/s, read at 12.5 %",
		},
		{loads.Streams{Count: 10}, nil, "--streams needs --rate"},
		{loads.Streams{Count: -1}, rates, "want 1 or more"},
		{loads.Streams{Readers: []string{"50%"}}, rates, "--reader needs streams"},
		{loads.Streams{Count: 10, Readers: []string{"0.5"}}, rates, "want a percentage"},
		{loads.Streams{Count: 10, Readers: []string{"0.5%"}}, rates, "want a percentage"},
		{loads.Streams{Count: 10, Readers: []string{"150%"}}, rates, "want a percentage"},
		{loads.Streams{Count: 10, Readers: []string{"5k%"}}, rates, "want a percentage"},
		{loads.Streams{Count: 10, Readers: []string{"99.5%"}}, rates, "1% to 99%"},
	} {
		loads, err := c.flags.Loads(c.rates)
		var names []string
		for _, l := range loads {
			names = append(names, l.String())
		}
		got := strings.Join(names, "; ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q; want %q", c.flags, got, c.want)
		}
	}
}
