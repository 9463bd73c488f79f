package plan_test

import (
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/plan"
)

// JSON is a subset of YAML, and programs that write JSON may escape characters. Escapes are read in every kind of
// field.
func TestParseReadsEscapes(t *testing.T) {
	t.Parallel()
	p, err := plan.Parse("plan.json", []byte(`{"workload":"routeguide","operation":"GetFeature","about":"5 \u00b5s",
		"arms":[{"protocol":"gr\u0070c"}],"slice":"5\u0030ms",
		"loads":[{"recording":{"gaps":["1\u00b5s","2\u03bcs"]}}],
		"published":[{"source":"x","machine":"y","arm":"grpc","mean":"49.005\u00b5s"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	gaps := p.Loads[0].Recording.Gaps
	if p.About != "5 µs" || p.Arms[0].Protocol != "grpc" || time.Duration(p.Slice) != 50*time.Millisecond ||
		time.Duration(p.Published[0].Mean) != 49005 || time.Duration(gaps[0]) != 1000 ||
		time.Duration(gaps[1]) != 2000 {
		t.Errorf("read as %+v", p)
	}
}

// Every error about a plan's file gives the line and the field.
func TestErrorsOfPlansNameLineAndField(t *testing.T) {
	t.Parallel()
	const head = "workload: routeguide\noperation: GetFeature\n"
	for text, want := range map[string][]string{
		head + "pin: autto\narms: [{protocol: grpc}]\n": {
			"[3:",
			`unknown pin "autto"`,
		},
		head + "arms:\n- protocol: grpc\n- protocol: http1-json\n  connections: 99999\n": {
			"[6:",
			"arms[1].connections",
		},
		head + "arms:\n- protocol: grpc\n- protocol: http1-json\n  driver: rww\n": {
			"[6:",
			"arms[1]", `unknown driver "rww"`,
		},
		head + "arms:\n- {protocol: grpc}\n- {client: x}\n": {
			"[5:",
			"arms[1].protocol is missing",
		},
		head + "seed: -5\narms: [{protocol: grpc}]\n": {
			"[3:",
			"plan.seed",
		},
		head + "arms: [{protocol: grpc}]\nloads:\n- in_flight: 18446744073709551615\n": {
			"[5:",
			"plan.loads[0].in_flight",
		},
		head + "arms: [{protocol: grpc}]\nloads:\n- in_flight: 1\n- rate: 5\n": {
			"[6:",
			"loads[1]",
		},
		head + "arms: [{protocol: grpc}]\nexplain: {from: grpc, to: rest}\n": {
			"[4:",
			"explain.to",
		},
		head + "arms: [{protocol: grpc}]\nrounds:\n  min: 9\n  max: 3\n": {
			"[5:",
			"rounds.min",
		},
		head + "arms: [{protocol: grpc}]\nslice: 1ms\n": {
			"[4:",
			"slice",
		},
		head + "arms: [{protocol: grpc}]\nprimary: throuput\n": {
			"[4:",
			"throuput",
		},
		head + "arms: [{protocol: grpc}]\npublished:\n- source: x\n  machine: y\n  arm: rest\n  mean: 1ms\n": {
			"[7:",
			"published[0].arm",
		},
	} {
		p, err := plan.Parse("my.yaml", []byte(text))
		if err == nil {
			if _, err = p.Complete(); err == nil {
				t.Errorf("taken: %s", text)
				continue
			}
			err = plan.At("my.yaml", []byte(text), err)
		}
		if wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.HasPrefix(err.Error(), "my.yaml: ") &&
			!strings.Contains(err.Error(), "my.yaml: ") {
			t.Errorf("%q: %v", text, err)
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: error without %q:\n%v", text, part, err)
			}
		}
	}
	// A missing field has no line.
	p, err := plan.Parse("my.yaml", []byte("arms: [{protocol: grpc}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Complete()
	if err = plan.At("my.yaml", []byte("arms: [{protocol: grpc}]\n"), err); !strings.Contains(err.Error(),
		"my.yaml: workload is missing") {
		t.Errorf("%v", err)
	}
}
