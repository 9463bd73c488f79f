package selftest

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
	"wirelab/results/report/json"
	"wirelab/results/report/verify"
)

// derivationTest edits exported results and checks that verification finds each edit.
func derivationTest() Test {
	return Test{
		Name:     "derivation",
		Shows:    "everything in an exported result follows from its raw data, so that an edit is found",
		Required: "the untouched export holds, and each edit of a figure, a claim or the raw data is found",
		Short:    1e9, Long: 1e9,
		run: func(_ context.Context, e Env) (finding, error) {
			exported, err := export(made())
			if err != nil {
				return finding{}, err
			}
			if err := derive(exported); err != nil {
				return finding{found: fmt.Sprintf("an untouched export does not hold: %v", err)}, nil
			}
			missed, made := []string{}, edits()
			for _, edit := range made {
				edited, err := edit.apply(exported)
				if err != nil {
					return finding{}, err
				}
				if derive(edited) == nil {
					missed = append(missed, edit.name)
				}
			}
			found := fmt.Sprintf("the untouched export holds, all %d edits are found", len(made))
			if len(missed) > 0 {
				found = "not found: " + strings.Join(missed, ", ")
			}
			return judged(found,
				result.Figure{Name: "edits not found", Unit: "edits", Found: float64(len(missed))}), nil
		},
	}
}

func export(r *result.Result) ([]byte, error) {
	var out bytes.Buffer
	err := json.Write(&out, r)
	return out.Bytes(), err
}

// derive verifies an exported document as "wirelab verify" does, and returns the parts that do not follow from its
// raw data.
func derive(exported []byte) error {
	raw, _, err := verify.Split(exported)
	if err != nil {
		return err
	}
	var r result.Result
	if err := stdjson.Unmarshal(raw, &r); err != nil {
		return err
	}
	v, err := verify.File(exported, &r, "")
	if err != nil {
		return err
	}
	if !v.Holds() {
		return fmt.Errorf("%d things do not follow from the raw data, first %v", v.Total(), v.Differences[0])
	}
	return nil
}

// edit is one way to tamper with an export.
type edit struct {
	name string
	path []any // keys and indices into the document
	to   any
}

func edits() []edit {
	row := []any{"analysis", "loads", 0, "rows", 0, "cells", 1}
	at := func(base []any, more ...any) []any { return append(append([]any{}, base...), more...) }
	return []edit{
		{"a figure", at(row, "estimate", "value"), 1.5},
		{"an interval", at(row, "difference", "low"), 0.5},
		{"a verdict", at(row, "difference", "verdict"), "better"},
		{"a count of calls", []any{"analysis", "requests"}, 7},
		{"raw CPU time", []any{"result", "rounds", 0, "trials", 1, "server", "cpu"}, "1ms"},
		{"a round left out", []any{"result", "rounds", 3, "trials"}, []any{}},
		{"the digest", []any{"digest"}, "sha256:0000"},
		{"a sentence", []any{"printed", "sentences", 0}, "All is well."},
	}
}

// apply returns the document with the edit made.
func (e edit) apply(exported []byte) ([]byte, error) {
	var document any
	decoder := stdjson.NewDecoder(bytes.NewReader(exported))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	value := document
	for _, step := range e.path[:len(e.path)-1] {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil, fmt.Errorf("edit %s: nothing is there", e.name)
			}
			value = list[step]
		}
	}
	switch last := e.path[len(e.path)-1].(type) {
	case string:
		object, ok := value.(map[string]any)
		if _, there := object[last]; !ok || !there {
			return nil, fmt.Errorf("edit %s: no %s is there", e.name, last)
		}
		object[last] = e.to
	case int:
		list, _ := value.([]any)
		if last >= len(list) {
			return nil, fmt.Errorf("edit %s: nothing is there", e.name)
		}
		list[last] = e.to
	}
	return stdjson.Marshal(document)
}

// made returns a computed result with the form that an experiment of two arms leaves.
func made() *result.Result {
	p := plan.Plan{
		Workload: "routeguide", Operation: "GetFeature", Seed: 1, Slices: 1,
		Slice: plan.Duration(100 * time.Millisecond),
		Arms:  []plan.Arm{{Name: "a", Protocol: "grpc"}, {Name: "b", Protocol: "http1-json"}},
	}
	p, err := p.Complete()
	if err != nil {
		panic(err) // the plan above is part of the source
	}
	r := &result.Result{Schema: result.Schema, ID: "r-20260101-000000-0000", Plan: p, Ending: result.RoundsDone}
	for _, arm := range p.Arms {
		r.Arms = append(r.Arms, result.Arm{Name: arm.Name, Protocol: arm.Protocol})
	}
	for round := range 10 {
		var done result.Round
		for arm := range p.Arms {
			h := stat.NewHistogram()
			h.RecordN(int64(100_000+1000*round+20_000*arm), 1000)
			done.Trials = append(done.Trials, result.Trial{
				Arm: arm, Steady: true, Window: plan.Duration(h.Mean() * 1000), Order: []int{arm},
				Sent: 1000, OK: 1000, Completed: 1000, Response: h, Service: h.Clone(), Lag: &stat.Histogram{},
				WireSent: 100_000, WireReceived: 120_000,
				Server: &result.Usage{CPU: plan.Duration(30e6 + 1e5*round + 5e6*arm)},
				Driver: &result.Usage{CPU: plan.Duration(40e6 + 2e5*round)},
			})
		}
		r.Rounds = append(r.Rounds, done)
	}
	return r
}
