package jmh_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/jmh"
)

// read writes a result and reads it as a viewer does: fields by their names.
func read(t *testing.T, r *result.Result) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	if err := jmh.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Viewers look for these fields, and for rawData by fork.
func TestFields(t *testing.T) {
	t.Parallel()
	r := resulttest.Operations()
	a := analyse.Result(r)
	all := read(t, r)
	if len(all) != 2*3*5 {
		t.Fatalf("%d entries, 2 modes of 3 arms under 5 loads are 30", len(all))
	}
	modes := map[any]int{}
	for _, e := range all {
		modes[e["mode"]]++
		for _, field := range []string{
			"jmhVersion", "benchmark", "mode", "threads", "forks", "jvm", "jvmArgs", "jdkVersion", "vmName",
			"vmVersion", "warmupIterations", "warmupTime", "warmupBatchSize",
			"measurementIterations", "measurementTime", "measurementBatchSize", "params", "primaryMetric",
			"secondaryMetrics",
		} {
			if _, ok := e[field]; !ok {
				t.Errorf("%v lacks %s", e["benchmark"], field)
			}
		}
		primary := e["primaryMetric"].(map[string]any)
		raw := primary["rawData"].([]any)
		if e["threads"] != 4.0 || e["forks"] != 12.0 || len(raw) != 12 || len(raw[0].([]any)) != 1 {
			t.Errorf("%v: %v threads, %v forks, %d values", e["benchmark"], e["threads"], e["forks"], len(raw))
		}
		low, high := primary["scoreConfidence"].([]any)[0].(float64), primary["scoreConfidence"].([]any)[1].(float64)
		if score := primary["score"].(float64); !(low < score && score < high) ||
			math.Abs(primary["scoreError"].(float64)/((high-low)/2)-1) > 1e-9 {
			t.Errorf("%v: %v is not within %v and %v", e["benchmark"], score, low, high)
		}
		if len(primary["scorePercentiles"].(map[string]any)) != 10 {
			t.Errorf("%v: percentiles %v", e["benchmark"], primary["scorePercentiles"])
		}
	}
	if modes["thrpt"] != 15 || modes["avgt"] != 15 {
		t.Errorf("modes %v", modes)
	}
	first := all[0]
	if first["benchmark"] != "wirelab.directory.http.CreatePerson" ||
		first["params"].(map[string]any)["arm"] != "http" {
		t.Errorf("the first is %v with %v", first["benchmark"], first["params"])
	}
	primary := first["primaryMetric"].(map[string]any)
	if want := a.Loads[0].Row("throughput").Cells[0].Estimate.Value; primary["score"] != want ||
		primary["scoreUnit"] != "ops/s" {
		t.Errorf("%v %v, the analysis has %v", primary["score"], primary["scoreUnit"], want)
	}
	mean := all[1]["primaryMetric"].(map[string]any)
	if want := a.Loads[0].Row("response-mean").Cells[0].Estimate.Value /
		1000; mean["score"].(float64)/want < 0.999999 || mean["scoreUnit"] != "us/op" {
		t.Errorf("%v %v, the analysis has %v", mean["score"], mean["scoreUnit"], want)
	}
}

// What a check refused is in no entry, and told.
func TestRefusedIsLeftOut(t *testing.T) {
	t.Parallel()
	r := resulttest.Troubled()
	for _, e := range read(t, r) {
		if arm := e["params"].(map[string]any)["arm"]; arm == "grpc" || arm == "h2c-proto" || arm == "http3-proto" {
			t.Errorf("%v was refused and is there", arm)
		}
		if e["params"].(map[string]any)["arm"] == "netrpc" {
			if _, ok := e["secondaryMetrics"].(map[string]any)["server-cpu"]; ok {
				t.Error("netrpc's server is not ours and has CPU time")
			}
		}
	}
	said := jmh.Refused(r)
	for _, want := range []string{
		"grpc, 1 in flight: 3 of", "server-cpu, server-allocs of netrpc",
		"h2c-proto, 1 in flight: no steady state",
	} {
		if !slices.ContainsFunc(said, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("%q is not told: %q", want, said)
		}
	}
	for _, e := range read(t, resulttest.Open()) {
		if e["mode"] != "avgt" {
			t.Errorf("an open loop has mode %v: its throughput is what was asked for", e["mode"])
		}
	}
	if all := read(t, resulttest.Short(0)); len(all) != 0 {
		t.Errorf("nothing was measured, and there are %d entries", len(all))
	}
	one := read(t, resulttest.Short(1))
	if len(one) == 0 || one[0]["primaryMetric"].(map[string]any)["scoreError"] != "NaN" {
		t.Error("one round has no interval: JMH writes NaN as text")
	}
}
