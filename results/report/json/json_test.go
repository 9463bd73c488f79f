package json_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	report "wirelab/results/report/json"
)

func TestReadAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, r := range map[string]*result.Result{
		"closed": resulttest.Closed(), "troubled": resulttest.Troubled(),
		"nothing": {},
	} {
		var once, twice strings.Builder
		if err := report.Write(&once, r); err != nil {
			t.Fatal(name, err)
		}
		var back report.Document
		if err := json.Unmarshal([]byte(once.String()), &back); err != nil {
			t.Fatal(name, err)
		}
		if back.Schema != result.Schema || back.Result.ID != r.ID || len(back.Result.Rounds) != len(r.Rounds) {
			t.Errorf("%s: read as %d, %q, %d rounds", name, back.Schema, back.Result.ID, len(back.Result.Rounds))
		}
		// A document that was read gives the same bytes, so nothing is lost and the order is stable.
		if err := report.Write(&twice, back.Result); err != nil {
			t.Fatal(name, err)
		}
		if once.String() != twice.String() {
			t.Errorf("%s: written again it differs", name)
		}
	}
}

// The names of the fields are what programs depend on.
func TestFields(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := report.Write(&out, resulttest.Short(1)); err != nil {
		t.Fatal(err)
	}
	var all struct {
		Analysis struct {
			Loads []struct {
				Arms []map[string]any
				Rows []struct {
					Cells []struct{ Estimate, Difference map[string]any }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &all); err != nil {
		t.Fatal(err)
	}
	cell := all.Analysis.Loads[0].Rows[0].Cells[1]
	if cell.Estimate["known"] != true || cell.Estimate["value"] == nil ||
		cell.Difference["verdict"] != "too few rounds" || cell.Difference["more_rounds"] != 9.0 {
		t.Errorf("%v, %v", cell.Estimate, cell.Difference)
	}
	if checks, ok := all.Analysis.Loads[0].Arms[0]["checks"].([]any); !ok ||
		!reflect.DeepEqual(checks[1].(map[string]any)["gate"], "answers") {
		t.Errorf("%v", all.Analysis.Loads[0].Arms[0])
	}
	if at := []int{
		strings.Index(out.String(), `"schema"`), strings.Index(out.String(), `"result"`),
		strings.Index(out.String(), `"analysis"`),
	}; at[0] >= at[1] || at[1] >= at[2] {
		t.Errorf("fields at %v", at)
	}
}
