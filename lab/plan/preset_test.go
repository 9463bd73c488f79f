package plan_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
)

// tables has the tables of the published documents, by the preset that has all their rows, as "row or arm, load,
// quantity value". They were typed a second time from the documents, since a typing error in one list would be
// believed.
var tables = map[string][]string{
	"hermes-seed-protocols": {
		"gRPC, load 0, rate 977.32", "REST, load 0, rate 842.68", "GraphQL, load 0, rate 830.43",
		"ALL, load 0, rate 909.53",
	},
	"hermes-seed-optimized": {
		"gRPC (Baseline), load 1, rate 977.32", "gRPC (Optimized), load 1, rate 1352.56",
		"gRPC (Stress), load 2, rate 1604.96",
	},
	"ledger-balance": {
		"REST, load 1, rate 6806", "gRPC, load 1, rate 6496", "REST, load 1, p99 4.36", "gRPC, load 1, p99 3.13",
		"REST, load 2, rate 9076", "gRPC, load 2, rate 10652", "REST, load 2, p99 15.43", "gRPC, load 2, p99 13.17",
		"REST, load 3, rate 7546", "gRPC, load 3, rate 8912", "REST, load 3, p99 40.05", "gRPC, load 3, p99 31.24",
	},
	"ledger-stream": {
		"REST (SSE), load 1, rate 100", "gRPC, load 1, rate 100", "REST (SSE), load 1, gap 11.28",
		"gRPC, load 1, gap 11.03",
		"REST (SSE), load 2, rate 2465", "gRPC, load 2, rate 2485", "REST (SSE), load 2, gap 3.5",
		"gRPC, load 2, gap 3.18",
		"REST (SSE), load 3, rate 9023", "gRPC, load 3, rate 9055", "REST (SSE), load 3, gap 2.05",
		"gRPC, load 3, gap 2.19",
	},
	"ledger-langs": {
		"Go, load 0, rate 10652", "Rust (about), load 0, rate 10500", "Python (about), load 0, rate 3000",
		"Go, load 0, p99 13.17", "Rust (about), load 0, p99 13", "Python (about), load 0, p99 35",
	},
	"ms-1000x50": {
		"http as published, load 0, rate 4923.34", "rabbit as published, load 0, rate 2643.52",
		"grpc as published, load 0, rate 7778.22",
		"http as published, load 0, mean 9.703734 from 0.74 to 44.76",
		"rabbit as published, load 0, mean 18.469035 from 6.14 to 38.79",
		"grpc as published, load 0, mean 5.985075 from 0.68 to 17.25",
	},
	"hermes-pooled-60":       {"gRPC, connections reused, load 0, rate 1438.29"},
	"hermes-pooled-150":      {"gRPC, connections reused, load 0, rate 1720.4"},
	"hermes-seed-batched-60": {"gRPC (Optimized), load 0, rate 1352.56"},
	"hermes-seed-stress-150": {"gRPC (Stress), load 0, rate 1604.96"},
	"hermes-consistent-120":  {"consistent, load 0, rate 4284"},
	"route-serial": {
		"HTTP/1, load 0, mean 0.049005", "gRPC, load 0, mean 0.056548",
		"HTTP/2 TLS, load 0, mean 0.071318", "HTTP/2 h2c, load 0, mean 0.072107",
	},
	"person-local": persons(
		2567.182, 490.607, 6417.909, 333.242, 3716.135, 208.849,
		4352.536, 101.832, 7345.886, 148.966, 4778.613, 242.627,
		3535.380, 69.672, 5604.365, 108.714, 3812.347, 250.107,
		3766.406, 62.676, 6106.618, 114.832, 4424.835, 162.293,
		422.560, 30.245, 818.099, 17.076, 501.256, 43.743,
	),
	"person-gcp": persons(
		599.976, 43.344, 7366.238, 825.910, 2090.695, 147.251,
		680.914, 52.230, 7924.244, 980.973, 2771.051, 253.325,
		713.296, 43.999, 3708.267, 444.061, 1821.527, 123.062,
		690.897, 76.741, 5486.742, 465.748, 2002.270, 178.043,
		73.471, 10.356, 608.205, 63.402, 231.998, 14.091,
	),
}

// persons returns the rows of five operations over three stacks, each with a rate and its half-width.
func persons(values ...float64) []string {
	var rows []string
	for i := 0; i < len(values); i += 2 {
		arm := []string{"http1-json", "grpc", "grpc-avro"}[i/2%3]
		rows = append(rows, fmt.Sprintf("%s, load 0, rate %v ± %v", arm, values[i], values[i+1]))
	}
	return rows
}

// rowOf writes a published figure in the form of [tables].
func rowOf(f plan.Published) string {
	name := f.Row
	if name == "" {
		name = f.Arm
	}
	text := fmt.Sprintf("%s, load %d, ", name, f.Load)
	ms := func(d plan.Duration) float64 { return math.Round(float64(d)) / float64(time.Millisecond) }
	switch {
	case f.Rate != 0 && f.PlusMinus != 0:
		return text + fmt.Sprintf("rate %v ± %v", f.Rate, f.PlusMinus)
	case f.Rate != 0:
		return text + fmt.Sprintf("rate %v", f.Rate)
	case f.P99 != 0:
		return text + fmt.Sprintf("p99 %v", ms(f.P99))
	case f.GapP99 != 0:
		return text + fmt.Sprintf("gap %v", ms(f.GapP99))
	case f.Max != 0:
		return text + fmt.Sprintf("mean %v from %v to %v", ms(f.Mean), ms(f.Min), ms(f.Max))
	}
	return text + fmt.Sprintf("mean %v", ms(f.Mean))
}

// Each table of a published document is one preset, with all its rows, exact to the digit.
func TestPublishedTablesArePresets(t *testing.T) {
	t.Parallel()
	for name, want := range tables {
		p, err := plan.Preset(name)
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, f := range p.Published {
			got = append(got, rowOf(f))
			if f.Software == "" || len(f.Flaws) == 0 && f.Missing == "" {
				t.Errorf("%s: %s does not say what was measured, or names no flaw", name, rowOf(f))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has\n%s\npublished was\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// The make targets run presets that exist.
func TestPresetsOfMake(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	called := regexp.MustCompile(`\(call PRESETS,([^)]+)\)`).FindAllStringSubmatch(string(text), -1)
	for _, c := range called {
		for _, name := range strings.Fields(strings.ReplaceAll(c[1], "\\", " ")) {
			p, err := plan.Preset(name)
			if err == nil {
				_, err = p.Complete()
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if len(called) < 5 {
		t.Errorf("make runs presets in %d targets", len(called))
	}
}

// There is a preset for every experiment that the published documents describe. If something cannot be repeated here,
// the preset says so.
func TestEveryPublishedExperimentIsAPreset(t *testing.T) {
	t.Parallel()
	for _, name := range strings.Fields(`ms-1000x50 ms-default
		hermes-seed-grpc-60 hermes-seed-rest-60 hermes-seed-graphql-60 hermes-seed-all-60 hermes-seed-batched-60
		hermes-seed-stress-150
		hermes-pooled-60 hermes-pooled-150 hermes-seed-scenarios hermes-leader-kill
		hermes-consistent-120 hermes-consistent-60 hermes-eventual-60 hermes-performance-60
		hermes-eventual-stream-1 hermes-performance-stream-100 hermes-eventual-sustained hermes-local-eventual
		ledger-balance-10 ledger-balance-50 ledger-balance-100 ledger-stream-100x1 ledger-stream-500x5 ledger-stream-1000x10
		ledger-ladder ledger-replay ledger-langs person-local person-gcp route-serial route-serial-30s`) {
		p, err := plan.Preset(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(p.Notes) == 0 {
			t.Errorf("%s has no notes: what must a reader of its figures know?", name)
		}
		for _, f := range p.Published {
			if f.Arm == "" && !strings.Contains(f.Missing, " ") {
				t.Errorf("%s: %s has no arm, and does not say why", name, f.Row)
			}
		}
	}
}

// Messages of mode performance reach no group, so they cannot be tracked. No preset has such an arm, and presets
// named after the mode say so.
func TestNoPresetSendsWhatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	for _, p := range plan.Presets() {
		for _, a := range p.Arms {
			if strings.Contains(a.Queue, "performance") {
				t.Errorf("%s has arm %s", p.Name, a)
			}
		}
		if strings.Contains(p.Name, "performance") &&
			!strings.Contains(strings.Join(p.Notes, " "), "no arm in mode performance") {
			t.Errorf("%s does not say that it has no arm in that mode", p.Name)
		}
	}
}
