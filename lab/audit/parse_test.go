package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// line writes a report as one line, to be compared by eye.
func line(r Report) string {
	var b strings.Builder
	put := func(name string, there bool, value any) {
		if there {
			fmt.Fprintf(&b, " %s=%v", name, value)
		}
	}
	if r.Count != nil {
		put("count", true, *r.Count)
	}
	if r.Errors != nil {
		put("errors", true, *r.Errors)
	}
	if r.Dropped != nil {
		put("dropped", true, *r.Dropped)
	}
	if r.Rate != nil {
		put("rate", true, fmt.Sprintf("%.2f", *r.Rate))
	}
	if r.Elapsed != nil {
		put("took", true, *r.Elapsed)
	}
	for _, l := range Levels() {
		d, ok := r.Quantiles[l]
		put(l.String(), ok, d)
	}
	if r.Max != nil {
		put("max", true, *r.Max)
	}
	if r.Mean != nil {
		put("mean", true, *r.Mean)
	}
	return strings.TrimSpace(b.String())
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A person read each file and typed its values here. They are not the parser's output.
var outputs = []struct{ file, tool, want string }{
	{"wrk-4.1.0.txt", "wrk", "count=25542 errors=0 rate=5097.91 took=5.01s max=502.8ms mean=24.09ms"},
	{
		"wrk-4.1.0-latency.txt", "wrk",
		"count=53672 errors=0 rate=5360.37 took=10.01s p50=1.57ms p75=1.99ms p90=3.92ms p99=451.34ms max=508.83ms " +
			"mean=24.59ms",
	},
	{
		"wrk-4.1.0-405.txt", "wrk",
		"count=5193 errors=5193 rate=4993.19 took=1.04s p50=208µs p75=1.36ms p90=6.8ms p99=43.33ms max=57.33ms " +
			"mean=3.05ms",
	},
	{
		"wrk2-documented.txt", "wrk2",
		"count=4002 errors=0 rate=200.01 took=20.01s p50=1.9ms p75=2.41ms p90=17.9ms p99=452.35ms p99.9=498.17ms " +
			"max=503.55ms mean=27.66ms",
	},
	{"wrk2-documented-short.txt", "wrk2", "error: invalid_argument: the output of wrk2 has no response times"},
	{"hey-0.1.5.txt", "hey", "count=3680 errors=0 rate=183.74 took=20.028s p50=2.2ms p75=2.7ms p90=3.7ms p95=5.2ms " +
		"p99=453ms max=461.5ms mean=7.4ms"},
	{
		"hey-0.1.5-405.txt", "hey",
		"count=20 errors=20 rate=861.16 took=23.2ms p50=400µs p75=2.7ms p90=6.6ms p95=6.9ms max=6.9ms mean=1.9ms",
	},
	{"hey-0.1.5-closed.txt", "hey", "error: invalid_argument: none of the 20 requests of hey was answered"},
	{"h2load-1.52.0.txt", "h2load", "count=4000 errors=0 rate=196.38 took=20.37s max=558.67ms mean=9.01ms"},
	{
		"h2load-1.52.0.log", "h2load",
		"count=500 errors=0 p50=2.256ms p75=2.862ms p90=4.294ms p95=6.442ms p99=69.947ms p99.9=558.219ms " +
			"max=558.219ms mean=7.849308ms",
	},
	{"h2load-1.52.0-405.txt", "h2load", "count=20 errors=20 rate=1477.43 took=13.54ms max=1.95ms mean=925µs"},
	{
		"h2load-1.68.0-documented.txt", "h2load",
		"count=4000 errors=1 rate=199.80 took=20.02s p50=1.3ms p95=1.57ms p99=456ms max=556ms mean=5.9ms",
	},
	{
		"vegeta-12.13.0.txt", "vegeta",
		"count=4000 errors=0 rate=200.05 took=19.997s p50=1.729ms p90=19.314ms p95=257.116ms p99=458.153ms " +
			"max=509.271ms mean=27.528ms",
	},
	{
		"vegeta-12.13.0.json", "vegeta",
		"count=4000 errors=0 rate=200.05 took=19.996565574s p50=1.728588ms p90=19.314097ms p95=257.115728ms " +
			"p99=458.153177ms max=509.270921ms mean=27.527713ms",
	},
	{
		"vegeta-12.13.0-405.txt", "vegeta",
		"count=50 errors=50 rate=51.66 took=968.813ms p50=1.115ms p90=5.529ms p95=11.124ms p99=21.189ms max=21.189ms " +
			"mean=2.563ms",
	},
	{
		"vegeta-12.13.0-closed.txt", "vegeta",
		"count=50 errors=50 rate=51.00 took=980.872ms p50=500.428µs p90=816.375µs p95=885.348µs p99=1.381ms " +
			"max=1.381ms mean=551.867µs",
	},
	{
		"fortio-1.68.2.txt", "fortio",
		"count=4000 errors=0 rate=199.97 took=20.002985322s p50=1.99095ms p75=2.59659ms p90=2.96222ms p95=3.91391ms " +
			"p99=14ms p99.9=489.747ms max=494.163552ms mean=6.968551ms",
	},
	{
		"fortio-1.68.2.json", "fortio",
		"count=4000 errors=0 rate=199.97 took=20.002985322s p50=1.990953ms p75=2.596587ms p90=2.962218ms " +
			"p95=3.913907ms p99=14ms p99.9=489.747197ms max=494.163552ms mean=6.968551ms",
	},
	{
		"fortio-1.68.2-grpc.txt", "fortio",
		"count=1000 errors=0 rate=199.93 took=5.001767625s p50=1.29981ms p75=1.77419ms p90=2.47692ms p99=8.12853ms " +
			"p99.9=8.7069ms max=8.771163ms mean=1.513536ms",
	},
	{
		"ghz-0.121.0.txt", "ghz",
		"count=2000 errors=0 rate=199.48 took=10.03s p50=390µs p75=540µs p90=1.1ms p95=2.32ms p99=11.76ms " +
			"max=43.79ms " +
			"mean=930µs",
	},
	{
		"ghz-0.121.0.json", "ghz",
		"count=1000 errors=0 rate=199.80 took=5.004966681s p50=369.039µs p75=489.61µs p90=708.138µs p95=942.019µs " +
			"p99=2.702531ms max=12.300537ms mean=501.739µs",
	},
	{"ghz-0.121.0-errors.txt", "ghz", "count=20 errors=20 rate=2202.36 took=9.08ms max=0s mean=5.74ms"},
	{"k6-1.8.1.txt", "k6", "count=1808 errors=0 dropped=191 rate=176.82 took=10.2s p50=1.5ms p90=2.99ms p95=8.11ms " +
		"max=499.33ms mean=8.95ms"},
	{
		"k6-1.8.1-errors.txt", "k6",
		"count=201 errors=201 rate=200.63 p50=388.52µs p90=606.42µs p95=865.66µs max=4.7ms mean=480.9µs",
	},
	{
		"k6-1.8.1-export.json", "k6",
		"count=1808 errors=0 dropped=191 rate=176.82 p50=1.507909ms p90=2.998431ms p95=8.117739ms max=499.336392ms " +
			"mean=8.953651ms",
	},
	{
		"k6-1.8.1-trend.txt", "k6",
		"count=910 errors=0 dropped=91 rate=181.78 p50=1.46ms p75=1.56ms p90=1.86ms p95=2.25ms p99=416.73ms " +
			"p99.9=497.7ms max=502.81ms mean=6.86ms",
	},
	{
		"k6-1.8.1-trend.json", "k6",
		"count=910 errors=0 dropped=91 rate=181.78 p50=1.467419ms p75=1.561618ms p90=1.866962ms p95=2.252519ms " +
			"p99=416.730157ms p99.9=497.708268ms max=502.818887ms mean=6.864347ms",
	},
	{"oha-1.16.0.txt", "oha", "count=3998 errors=0 rate=199.92 took=20.0078197s p50=1.6259ms p75=2.449ms p90=6.148ms " +
		"p95=11.0684ms p99=451.5942ms p99.9=501.6206ms max=518.3635ms mean=7.8366ms"},
	{
		"oha-1.16.0-corrected.json", "oha",
		"count=2000 errors=0 rate=200.02 took=9.998752356s p50=1.525544ms p75=1.687519ms p90=26.56945ms " +
			"p95=267.282712ms p99=456.569079ms p99.9=502.096115ms max=502.949535ms mean=27.987759ms",
	},
	{
		"oha-1.16.0-405.txt", "oha",
		"count=20 errors=20 rate=2648.41 took=7.5517ms p50=79µs p75=266.5µs p90=659.6µs p95=1.3275ms p99=1.3275ms " +
			"p99.9=1.3275ms max=1.3275ms mean=190.5µs",
	},
	{"oha-1.16.0-closed.txt", "oha", "error: invalid_argument: none of the 20 requests of oha was answered"},
}

func TestParse(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range outputs {
		seen[c.file] = true
		text := read(t, c.file)
		// The marks in the output decide, whichever stream has them.
		for where, o := range map[string]Output{
			"stdout": {Stdout: text}, "stderr": {Stderr: text},
			"file": {File: text, Stdout: "Done.\n"},
		} {
			p, ok := ParserOfOutput(o)
			if !ok || p.Name != c.tool {
				t.Errorf("%s on %s is taken for %q", c.file, where, p.Name)
				continue
			}
			r, err := p.Parse(o)
			got := line(r)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != c.want {
				t.Errorf("%s on %s:\n got %s\nwant %s", c.file, where, got, c.want)
			}
		}
	}
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if base := filepath.Base(f); !seen[base] && base != "README.md" && base != "fuzz" {
			t.Errorf("no case reads %s", f)
		}
	}
}

// The parser of one tool refuses the output of another, instead of misreading it.
func TestParseRefusesOthers(t *testing.T) {
	t.Parallel()
	for _, c := range outputs {
		for _, p := range Parsers() {
			own := p.Name == c.tool || p.Name == "wrk2" && c.tool == "wrk" // one frame
			if _, err := p.Parse(Output{Stdout: read(t, c.file)}); err == nil && !own {
				t.Errorf("%s reads %s", p.Name, c.file)
			}
		}
	}
	for _, text := range []string{"", "Summary:\n", "{}", "{", "null", "Running", "hello, world\n"} {
		if p, ok := ParserOfOutput(Output{Stdout: text}); ok {
			t.Errorf("%q is taken for %s", text, p.Name)
		}
	}
}

func TestRemarks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, file, stderr, want string }{
		{"fortio", "fortio-1.68.2.txt", "", "9.52% of sleep were falling behind"},
		{"fortio", "fortio-1.68.2-grpc.txt", "", ""},
		{
			"k6", "k6-1.8.1.txt",
			`time="2026-11-21T16:24:40Z" level=warning msg="Insufficient VUs, reached 10 active VUs and cannot initialize more" executor=constant-arrival-rate scenario=steady`,
			"Insufficient VUs, reached 10 active VUs and cannot initialize more",
		},
	} {
		p, err := ParserNamed(c.tool)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Parse(Output{Stdout: read(t, c.file), Stderr: c.stderr})
		if got := strings.Join(r.Remarks, "; "); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.file, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range outputs {
		text, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range Parsers() {
			r, err := p.Parse(Output{Stdout: text})
			if err != nil {
				continue
			}
			if r.Count == nil || r.Errors != nil && *r.Errors > *r.Count {
				t.Errorf("%s: %s", p.Name, line(r))
			}
			for l, d := range r.Quantiles {
				if d < 0 || d > longest || !slices.Contains(Levels(), l) {
					t.Errorf("%s: %s of %v", p.Name, l, d)
				}
			}
			if r.Mean != nil && (*r.Mean < 0 || *r.Mean > longest) {
				t.Errorf("%s: mean %v", p.Name, *r.Mean)
			}
			if len(r.Quantiles) == 0 && r.Mean == nil {
				t.Errorf("%s: nothing to compare", p.Name)
			}
		}
	})
}
