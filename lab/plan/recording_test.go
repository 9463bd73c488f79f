package plan_test

import (
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/plan"
)

func TestParseRecording(t *testing.T) {
	t.Parallel()
	const ms = plan.Duration(time.Millisecond)
	for name, c := range map[string]struct {
		text string
		want []plan.Duration
	}{
		"the published form":    {`{"topic_id":"0.0.1","message_count":3,"inter_arrival_ms":[1.5, 0],"stats":{"min_ms":0}}`, []plan.Duration{ms * 3 / 2, 0}},
		"one column":            {"1.5\n0\n", []plan.Duration{ms * 3 / 2, 0}},
		"a column among others": {"n,inter_arrival_ms\n1,250\n2,0.001\n", []plan.Duration{250 * ms, ms / 1000}},
		"times in seconds": {
			"timestamp\n1700000000.25\n1700000000.5\n1700000001\n",
			[]plan.Duration{250 * ms, 500 * ms},
		},
		"times of RFC 3339": {
			"timestamp,x\n2026-11-21T10:00:00Z,a\n2026-11-21T10:00:00.2Z,b\n",
			[]plan.Duration{200 * ms},
		},
		"a mark of byte order, remarks": {"\ufeff# made by hand\n5\n", []plan.Duration{5 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := plan.ParseRecording("dir/trace.csv", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if r.Name != "trace.csv" || len(r.Gaps) != len(c.want) {
				t.Fatalf("%+v, want gaps %v", r, c.want)
			}
			for i := range c.want {
				if r.Gaps[i] != c.want[i] {
					t.Errorf("gap %d is %v, want %v", i, r.Gaps[i], c.want[i])
				}
			}
		})
	}
}

func TestWhatIsNoRecordingIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                {"", "no gaps"},
		"no such field":          {`{"gaps":[1]}`, "no gaps"},
		"text":                   {"hello\n", "line 1: \"hello\" is not a number"},
		"a negative gap":         {"1\n-1\n", "line 2: -1 ms is outside 0 to 1h"},
		"a gap beyond bounds":    {`{"inter_arrival_ms":[1e12]}`, "inter_arrival_ms[0]"},
		"not a number":           {"NaN\n", "outside 0 to 1h"},
		"several columns":        {"1,2\n3,4\n", "several columns"},
		"time that goes back":    {"timestamp\n5\n4\n", "line 3"},
		"a time of another kind": {"timestamp\nyesterday\n", "line 2"},
		"everything at once":     {"0\n0\n", "a gap above 0"},
		"a single time":          {"timestamp\n5\n", "no gaps"},
		"cut short":              {`{"inter_arrival_ms":[1,`, "unexpected end"},
	} {
		_, err := plan.ParseRecording("trace", []byte(c.text))
		if wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want InvalidArgument with %q", name, err, c.want)
		}
	}
}

func FuzzParseRecording(f *testing.F) {
	for _, seed := range []string{
		`{"inter_arrival_ms":[1,2]}`, "1\n2\n", "timestamp\n1.5\n2026-01-01T00:00:00Z\n",
		"a,inter_arrival_ms\n\"1\n\",2", "#",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := plan.ParseRecording("x", data)
		if err != nil {
			return
		}
		p := plan.Plan{
			Workload: "w", Operation: "O", Arms: []plan.Arm{{Protocol: "grpc"}},
			Loads: []plan.Load{{Recording: r, Arrivals: plan.Sampled, Rate: 5}},
		}
		if _, err := p.Complete(); err != nil {
			t.Errorf("a recording that was read is not taken by a plan: %v", err)
		}
	})
}

func TestLoadsWithRecordings(t *testing.T) {
	t.Parallel()
	recording := plan.Recording{
		Name: "t.csv",
		Gaps: []plan.Duration{0, plan.Duration(100 * time.Millisecond), plan.Duration(200 * time.Millisecond)},
	}
	base := plan.Plan{Workload: "directory", Operation: "GetPerson", Arms: []plan.Arm{{Protocol: "grpc"}}}
	complete := func(l plan.Load) (plan.Plan, error) {
		p := base
		p.Loads = []plan.Load{l}
		return p.Complete()
	}
	p, err := complete(plan.Load{Recording: recording})
	if err != nil {
		t.Fatal(err)
	}
	// At its recorded rate, one slice is the whole recording. At three times the rate it is a third as long.
	if l := p.Loads[0]; l.Rate != 10 || l.Arrivals != plan.Recorded ||
		p.SliceOf(l) != plan.Duration(300*time.Millisecond) || p.Slice != 0 {
		t.Errorf("rate %v, arrivals %s, slice %v of the load, %v of the plan", l.Rate, l.Arrivals, p.SliceOf(l),
			p.Slice)
	}
	if p, err = complete(plan.Load{Recording: recording, Rate: 30}); err != nil ||
		p.SliceOf(p.Loads[0]) != plan.Duration(100*time.Millisecond) {
		t.Errorf("three times as fast: %v, %v", p, err)
	}
	if p, err = complete(plan.Load{Recording: recording, Arrivals: plan.Sampled}); err != nil ||
		p.SliceOf(p.Loads[0]) != p.Slice || p.Slice == 0 {
		t.Errorf("sampled: %v, %v", p, err)
	}
	if p, err = complete(plan.Load{Rate: 10, Arrivals: plan.LogNormal}); err != nil || p.Loads[0].Spread != 2 {
		t.Errorf("log-normal: %v, %v", p, err)
	}
	for name, c := range map[string]struct {
		load plan.Load
		want string
	}{
		"recorded without a recording": {plan.Load{Rate: 5, Arrivals: plan.Recorded}, "recording is missing"},
		"a recording and another law": {
			plan.Load{Recording: recording, Arrivals: plan.Poisson},
			"since there is a recording",
		},
		"a recording and stages": {plan.Load{
			Recording: recording,
			Stages:    []plan.Stage{{For: plan.Duration(time.Second), From: 1, To: 1}},
		}, "left out with a recording"},
		"spread of another law": {plan.Load{Rate: 5, Spread: 2}, "left out unless arrivals is log-normal"},
		"too slow for a slice":  {plan.Load{Recording: recording, Rate: 0.1, Arrivals: plan.Recorded}, ""},
		"too fast for a slice":  {plan.Load{Recording: recording, Rate: 10_000}, "a slice is all of it"},
		"a file nobody read":    {plan.Load{Recording: plan.Recording{File: "x.csv"}}, "it must be read"},
	} {
		_, err := complete(c.load)
		if c.want == "" && err != nil ||
			c.want != "" && (wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v; want %q", name, err, c.want)
		}
	}
}
