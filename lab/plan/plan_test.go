package plan_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/plan"
)

// least is the shortest valid plan.
const least = "workload: routeguide\noperation: GetFeature\narms: [{protocol: grpc}]\n"

func complete(t *testing.T, text string) plan.Plan {
	t.Helper()
	p, err := plan.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err = p.Complete()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	ms := func(n int) plan.Duration { return plan.Duration(time.Duration(n) * time.Millisecond) }
	closed := plan.Plan{
		Workload: "routeguide", Operation: "GetFeature",
		Arms:   []plan.Arm{{Name: "grpc", Protocol: "grpc"}},
		Loads:  []plan.Load{{InFlight: 1}},
		Rounds: plan.Rounds{Min: 10, Max: 100}, Slices: 10, Slice: ms(30), WarmUp: ms(200),
		Pin: "auto", Floor: "auto", Deadline: ms(10_000), Primary: "server-cpu", Practical: 0.01, Equivalent: 0.03,
	}
	open := closed
	open.Loads = []plan.Load{{InFlight: 256, Rate: 2000, Arrivals: "poisson"}}
	open.Slices, open.Slice, open.Primary = 3, ms(1000), "response-p99"
	staged := open
	staged.Slice = 0
	staged.Loads = []plan.Load{{
		InFlight: 256, Arrivals: "poisson",
		Stages: []plan.Stage{{For: ms(3000), From: 1, To: 9}},
	}}
	remote := closed
	remote.Primary = "throughput"
	remote.Arms = []plan.Arm{{Name: "grpc,target=[::1]:9000", Protocol: "grpc", Target: "[::1]:9000"}}

	for name, c := range map[string]struct {
		text string
		want plan.Plan
	}{
		"closed":             {least, closed},
		"a load without any": {least + "loads: [{}]", closed},
		"open":               {least + "loads: [{rate: 2000}]", open},
		"stages":             {least + "loads: [{stages: [{for: 3s, from: 1, to: 9}]}]", staged},
		"somebody's server":  {strings.Replace(least, "grpc}", "grpc, target: '[::1]:9000'}", 1), remote},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := complete(t, c.text)
			if got.Seed == 0 || got.Seed >= 1<<53 {
				t.Errorf("seed %d is not drawn, or not exact in JSON readers", got.Seed)
			}
			again, err := got.Complete()
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("completing again gives %+v, %v", again, err)
			}
			got.Seed = 0
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestRoundsFollowTheBoundThatIsGiven(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]plan.Rounds{
		"{}":              {Min: 10, Max: 100},
		"{min: 3}":        {Min: 3, Max: 100},
		"{min: 300}":      {Min: 300, Max: 300},
		"{max: 5}":        {Min: 5, Max: 5},
		"{max: 40}":       {Min: 10, Max: 40},
		"{min: 2,max: 2}": {Min: 2, Max: 2},
	} {
		if got := complete(t, least+"rounds: "+text).Rounds; got != want {
			t.Errorf("rounds: %s: %+v, want %+v", text, got, want)
		}
	}
}

func TestArmsGetNamesThatDiffer(t *testing.T) {
	t.Parallel()
	p, err := plan.Plan{Workload: "w", Operation: "O", Arms: []plan.Arm{
		{Protocol: "grpc"},
		{Protocol: "grpc"},
		{Protocol: "grpc", Name: "grpc #2"},
		{Protocol: "grpc", Client: "connect-go", Connections: 4},
		{Protocol: "grpc"},
	}}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range p.Arms {
		names = append(names, a.Name)
	}
	want := []string{"grpc", "grpc #3", "grpc #2", "grpc,client=connect-go,connections=4", "grpc #4"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
}

func TestCompleteLeavesItsReceiverAlone(t *testing.T) {
	t.Parallel()
	p := plan.Plan{Workload: "w", Operation: "O", Arms: []plan.Arm{{Protocol: "grpc"}}, Loads: []plan.Load{{Rate: 5}}}
	if _, err := p.Complete(); err != nil {
		t.Fatal(err)
	}
	if p.Arms[0].Name != "" || p.Loads[0].Arrivals != "" {
		t.Errorf("changed to %+v", p)
	}
}

func TestSliceOfIsTheSliceOrItsStages(t *testing.T) {
	t.Parallel()
	p := complete(t, least+"loads: [{rate: 5}, {stages: [{for: 2s, from: 0, to: 5}, {for: 3s, from: 5, to: 5}]}]")
	for i, want := range []time.Duration{time.Second, 5 * time.Second} {
		if got := p.SliceOf(p.Loads[i]); got != plan.Duration(want) {
			t.Errorf("load %d: %v, want %v", i, got, want)
		}
	}
}

func TestDurationText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "50ms": 50 * time.Millisecond, "1m40s": 100 * time.Second, "1.5s": 1500 * time.Millisecond,
		"49005ns": 49005, "49.005µs": 49005, "-3ms": -3 * time.Millisecond,
	} {
		var d plan.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d != plan.Duration(want) {
			t.Errorf("%q: %v, %v; want %v", text, d, err, want)
		}
		written, err := json.Marshal(plan.Duration(want))
		var back plan.Duration
		if err != nil || json.Unmarshal(written, &back) != nil || back != plan.Duration(want) {
			t.Errorf("%v is written %s and read back %v", want, written, back)
		}
	}
	for _, text := range []string{"", "50", "5 ms", "+5s", ".5s", "5S", "s", "ms", "1e3s", "99999999h", "inf"} {
		var d plan.Duration
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, d)
		} else if wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseArm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]plan.Arm{
		"grpc": {Protocol: "grpc"},
		"grpc,client=connect-go,connections=4,target=127.0.0.1:9000": {
			Protocol: "grpc", Client: "connect-go", Connections: 4, Target: "127.0.0.1:9000",
		},
		"http1-json,server=net/http,name=old, as published=1": {
			Protocol: "http1-json", Server: "net/http", Name: "old, as published=1",
		},
		"grpc,target=[::1]:80": {Protocol: "grpc", Target: "[::1]:80"},
	} {
		got, err := plan.ParseArm(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%q is written %q", text, got)
		}
	}
	for text, part := range map[string]string{
		"":             "protocol is missing",
		"GRPC":         `protocol is "GRPC"`,
		"grpc,":        "not a setting",
		"grpc,client":  "not a setting",
		"grpc,client=": "not a setting",
		"grpc,colour=red": "known: client, connections, data, db, driver, durability, inject, " +
			"name, pid, queue, server, target",
		"grpc,client=a,client=b":                 "client twice",
		"grpc,connections=0":                     "1 to 10000",
		"grpc,connections=-1":                    "1 to 10000",
		"grpc,connections=many":                  "1 to 10000",
		"grpc,connections=10001":                 "1 to 10000",
		"grpc,target=9000":                       "HOST:PORT",
		"grpc,target=host:0":                     "1 to 65535",
		"grpc,target=:9000":                      "HOST:PORT",
		"grpc,target=a:b:c":                      "HOST:PORT",
		"grpc,name= x":                           "printable",
		"grpc,client=" + strings.Repeat("x", 41): "at most 40",
	} {
		got, err := plan.ParseArm(text)
		if err == nil || !strings.Contains(err.Error(), part) || wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%q: %+v, error %v; want one with %q", text, got, err, part)
		}
	}
}

func TestParseUntilAndRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"2%": 0.02, "±2%": 0.02, "± 0.5 %": 0.005, "+-10%": 0.1, "0.1%": 0.001,
		"50%": 0.5,
	} {
		if got, err := plan.ParseUntil(text); err != nil || got != want {
			t.Errorf("until %q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2", "%", "0.02", "0%", "51%", "-2%", "2%%", "1e1%", "nan%", "0x2%"} {
		if got, err := plan.ParseUntil(text); err == nil {
			t.Errorf("until %q is read as %v", text, got)
		}
	}
	for text, want := range map[string]float64{
		"2k": 2000, "1500": 1500, "1.5k": 1500, "2M/s": 2e6, "0.1": 0.1,
		"300/s": 300,
	} {
		if got, err := plan.ParseRate(text); err != nil || got != want {
			t.Errorf("rate %q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "k", "-1", "2K", "2kk", "11M", "1e3", "inf", "0.01", "1 500"} {
		if got, err := plan.ParseRate(text); err == nil {
			t.Errorf("rate %q is read as %v", text, got)
		}
	}
}

// Every flaw that a preset names has a description.
func TestFlawsHaveWords(t *testing.T) {
	t.Parallel()
	for _, p := range plan.Presets() {
		for _, f := range p.Published {
			for _, id := range f.Flaws {
				if plan.Flaw(id) == id {
					t.Errorf("%s names flaw %s, which has no words", p.Name, id)
				}
			}
		}
	}
}

func TestPresetsAreCompleteable(t *testing.T) {
	t.Parallel()
	for _, p := range plan.Presets() {
		done, err := p.Complete()
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if done.About == "" {
			t.Errorf("%s does not say what it answers", p.Name)
		}
		if got, err := plan.Preset(p.Name); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("Preset(%q): %v", p.Name, err)
		}
	}
	_, err := plan.Preset("quik")
	if err == nil || !strings.Contains(err.Error(),
		`unknown preset "quik"; did you mean quick? wirelab presets lists all `) {
		t.Errorf("Preset of an unknown name: %v", err)
	}
}

// The published figures were typed by hand, and a typing error would be believed.
func TestRouteSerialShowsWhatWasPublished(t *testing.T) {
	t.Parallel()
	p, err := plan.Preset("route-serial")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]time.Duration{"http1-proto": 49005, "grpc": 56548, "http2-proto": 71318, "h2c-proto": 72107}
	for _, f := range p.Published {
		if time.Duration(f.Mean) != want[f.Arm] {
			t.Errorf("%s: %v, want %v", f.Arm, f.Mean, want[f.Arm])
		}
		delete(want, f.Arm)
	}
	if len(want) != 0 {
		t.Errorf("no figure for %v", want)
	}
}

func TestLoadString(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]plan.Load{
		"1 in flight":    {},
		"50 in flight":   {InFlight: 50},
		"2000/s poisson": {Rate: 2000, Arrivals: "poisson", InFlight: 256},
		"0.5/s":          {Rate: 0.5},
		"1/s to 2000000/s in 2s, then 5/s to 5/s in 1s": {Stages: []plan.Stage{
			{For: plan.Duration(2 * time.Second), From: 1, To: 2e6}, {For: plan.Duration(time.Second), From: 5, To: 5},
		}},
	} {
		if l.String() != want {
			t.Errorf("%+v is %q, want %q", l, l.String(), want)
		}
	}
}

// This checks the ledger's published figures. It also checks that no preset takes a stream's period for a latency, or
// the rate of one stream for the whole rate (docs/origins.md grb-M01, grb-M03): published gaps are named so, and
// rates are totals.
func TestLedgerPresetsShowWhatWasPublished(t *testing.T) {
	t.Parallel()
	ms := func(v float64) plan.Duration { return plan.Duration(math.Round(v * 1e6)) }
	for name, want := range map[string]struct {
		load      plan.Load
		rest, rpc [2]float64 // per second, and p99 in ms
	}{
		"ledger-balance-10":     {plan.Load{InFlight: 10}, [2]float64{6806, 4.36}, [2]float64{6496, 3.13}},
		"ledger-balance-50":     {plan.Load{InFlight: 50}, [2]float64{9076, 15.43}, [2]float64{10652, 13.17}},
		"ledger-balance-100":    {plan.Load{InFlight: 100}, [2]float64{7546, 40.05}, [2]float64{8912, 31.24}},
		"ledger-stream-100x1":   {plan.Load{Streams: 1, Rate: 100}, [2]float64{100, 11.28}, [2]float64{100, 11.03}},
		"ledger-stream-500x5":   {plan.Load{Streams: 5, Rate: 2500}, [2]float64{2465, 3.50}, [2]float64{2485, 3.18}},
		"ledger-stream-1000x10": {plan.Load{Streams: 10, Rate: 10_000}, [2]float64{9023, 2.05}, [2]float64{9055, 2.19}},
	} {
		p, err := plan.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if l := p.Loads[0]; l.InFlight != want.load.InFlight || l.Streams != want.load.Streams ||
			l.Rate != want.load.Rate {
			t.Errorf("%s has the load %s", name, l)
		}
		for _, f := range p.Published {
			theirs := want.rpc
			if f.Arm != "grpc" {
				theirs = want.rest
			}
			p99 := f.P99
			if want.load.Streams > 0 {
				p99 = f.GapP99
			}
			if f.Rate != theirs[0] && p99 != ms(theirs[1]) {
				t.Errorf("%s: %+v; published was %v", name, f, theirs)
			}
			for _, flaw := range f.Flaws {
				if plan.Flaw(flaw) == flaw {
					t.Errorf("%s names the flaw %s without words", name, flaw)
				}
			}
		}
		if len(p.Published) != 4 {
			t.Errorf("%s has %d published figures, want 4", name, len(p.Published))
		}
	}
}
