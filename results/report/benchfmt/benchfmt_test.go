package benchfmt_test

import (
	"math"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	report "wirelab/results/report/benchfmt"
)

// parse reads a written report as benchstat does.
func parse(t *testing.T, r *result.Result) (results []*benchfmt.Result, units map[string]string) {
	t.Helper()
	var out strings.Builder
	if err := report.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	units = map[string]string{}
	reader := benchfmt.NewReader(strings.NewReader(out.String()), "out")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.Result:
			results = append(results, record.Clone())
		case *benchfmt.UnitMetadata:
			units[record.Unit] = record.Value
		case *benchfmt.SyntaxError:
			t.Errorf("%v", record)
		}
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	return results, units
}

func TestBenchstatReadsIt(t *testing.T) {
	t.Parallel()
	r := resulttest.Closed()
	results, units := parse(t, r)
	if len(results) != 30*3*2 {
		t.Fatalf("%d results, want %d", len(results), 30*3*2)
	}
	first := results[0]
	if got := string(first.Name); got != "GetFeature/arm=http1-proto/load=1-in-flight" {
		t.Errorf("name %q", got)
	}
	if _, parts := first.Name.Parts(); len(parts) != 2 || string(parts[0]) != "/arm=http1-proto" {
		t.Errorf("parts %q", parts)
	}
	if got := first.GetConfig("wirelab-result"); got != r.ID {
		t.Errorf("result %q", got)
	}
	trial := r.Rounds[0].Trials[0]
	if first.Iters != int(trial.OK) {
		t.Errorf("%d iterations, want %d", first.Iters, trial.OK)
	}
	// The reader turns ns into seconds.
	seconds, ok := first.Value("server-cpu-sec/op")
	if want := float64(trial.Server.CPU) / float64(trial.OK) / 1e9; !ok || math.Abs(seconds-want) > 1e-9*want {
		t.Errorf("server CPU %v, want %v; values %v", seconds, want, first.Values)
	}
	if v, ok := first.Value("wire-sent-B/op"); !ok || v != 212 ||
		benchunit.ClassOf("wire-sent-B/op") != benchunit.Binary {
		t.Errorf("bytes %v", v)
	}
	if p99, ok := first.Value("response-p99-sec"); !ok || p99 < 50e-6 || p99 > 1e-3 {
		t.Errorf("p99 %v", p99)
	}
	if units["req/s"] != "higher" || units["server-cpu-sec/op"] != "lower" {
		t.Errorf("units %v", units)
	}
}

func TestInvalidArmsHaveNoLine(t *testing.T) {
	t.Parallel()
	results, _ := parse(t, resulttest.Troubled())
	arms := map[string]int{}
	for _, one := range results {
		_, parts := one.Name.Parts()
		arms[string(parts[0])]++
	}
	if arms["/arm=grpc"]+arms["/arm=h2c-proto"]+arms["/arm=http3-proto"] > 0 || arms["/arm=http1-proto"] != 12 ||
		arms["/arm=connect"] != 9 {
		t.Errorf("%v", arms)
	}
	if results, _ := parse(t, &result.Result{}); len(results) > 0 {
		t.Error("lines of nothing")
	}
}

func TestNamesAreOneWord(t *testing.T) {
	t.Parallel()
	r := resulttest.Make(resulttest.Setting{
		Arms: resulttest.Arms()[:2], Rounds: 1, Seed: 1,
		Loads: []plan.Load{{Rate: 2000, Arrivals: plan.Poisson}},
	})
	r.Arms[0].Name, r.Arms[1].Name = "net/http, 2 connections", "grpc-8"
	r.Plan.Operation = "get feature"
	results, _ := parse(t, r)
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	if got := string(results[0].Name); got != "Get-feature/arm=net-http,-2-connections/load=2000-per-s-poisson" {
		t.Errorf("%q", got)
	}
	if _, parts := results[1].Name.Parts(); string(parts[0]) != "/arm=grpc-8." {
		t.Errorf("%q", parts)
	}
}

// Of an experiment over several operations each line names its own.
func TestOperations(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := report.Write(&out, resulttest.Operations()); err != nil {
		t.Fatal(err)
	}
	for _, operation := range []string{
		"CreatePerson", "GetPerson", "GetPersonLinks", "ListPersons",
		"ProgramComposition",
	} {
		if n := strings.Count(out.String(), "\nBenchmark"+operation+"/arm="); n != 3*12 {
			t.Errorf("%d lines of %s, 3 arms in 12 rounds are 36", n, operation)
		}
	}
}
