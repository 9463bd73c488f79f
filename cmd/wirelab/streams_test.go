package main

import (
	"strings"
	"testing"

	"wirelab/lab/plan"
)

// TestStreamFlags: what is typed becomes loads, a rate being that of all streams.
func TestStreamFlags(t *testing.T) {
	t.Parallel()
	rates := []plan.Load{{Rate: 1000}, {Rate: 10_000}}
	for _, c := range []struct {
		flags streamFlags
		rates []plan.Load
		want  string // the loads, or part of the error
	}{
		{streamFlags{}, rates, "1000/s; 10000/s"},
		{streamFlags{streams: 10}, rates, "10 streams at 1000/s in all; 10 streams at 10000/s in all"},
		{streamFlags{streams: 10, readers: []string{"50%"}}, rates[:1], "10 streams at 1000/s in all, read at 50 %"},
		{streamFlags{streams: 1, readers: []string{"100%", " 12.5% "}}, rates[:1], "1 stream at 1000/s; 1 stream at 1000/s, read at 12.5 %"},
		{streamFlags{streams: 10}, nil, "--streams needs --rate"},
		{streamFlags{streams: -1}, rates, "want 1 or more"},
		{streamFlags{readers: []string{"50%"}}, rates, "--reader needs streams"},
		{streamFlags{streams: 10, readers: []string{"0.5"}}, rates, "want a percentage"},
		{streamFlags{streams: 10, readers: []string{"0.5%"}}, rates, "want a percentage"},
		{streamFlags{streams: 10, readers: []string{"150%"}}, rates, "want a percentage"},
		{streamFlags{streams: 10, readers: []string{"5k%"}}, rates, "want a percentage"},
		{streamFlags{streams: 10, readers: []string{"99.5%"}}, rates, "1% to 99%"},
	} {
		loads, err := c.flags.loads(c.rates)
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
