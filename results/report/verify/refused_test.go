package verify_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wirelab/lab/result/resulttest"
)

// asWrittenBefore puts refused values back where documents had them before they stood
// apart, and takes those away that had no place.
func asWrittenBefore(v any) {
	switch one := v.(type) {
	case map[string]any:
		apart, _ := one["refused"].(map[string]any)
		delete(one, "refused")
		for key, member := range apart {
			if value, ok := member.(map[string]any); ok {
				one[key] = value["value"]
			}
		}
		for key := range one {
			asWrittenBefore(one[key])
		}
	case []any:
		for i := range one {
			asWrittenBefore(one[i])
		}
	}
}

// A document that was written before refused values stood apart holds as it did, and one
// in which such a value was edited does not, before or after.
func TestRefusedValuesOfBefore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	r := resulttest.Streams() // an arm of it loses events
	found := func(edit func(analysis map[string]any)) []string {
		all := document(t, r, "cpu/event > +3%")
		analysis, _ := all["analysis"].(map[string]any)
		edit(analysis)
		var paths []string
		for _, d := range check(t, all).Differences {
			if d.Part() == "analysis" {
				paths = append(paths, d.Path)
			}
		}
		return paths
	}
	arm := func(analysis map[string]any) map[string]any {
		of, _ := at(analysis, "loads", 0, "arms", 2, "streams").(map[string]any)
		return of
	}
	if paths := found(func(analysis map[string]any) { asWrittenBefore(analysis) }); len(paths) > 0 {
		t.Errorf("a document of before does not hold: %v", paths)
	}
	for name, edit := range map[string]func(map[string]any){
		"before": func(a map[string]any) { asWrittenBefore(a); arm(a)["achieved"] = json.Number("12345") },
		"after": func(a map[string]any) {
			at(arm(a), "refused", "achieved").(map[string]any)["value"] = json.Number("12345")
		},
		"plainly": func(a map[string]any) { arm(a)["achieved"] = json.Number("12345") },
	} {
		if paths := found(edit); len(paths) != 1 || !strings.Contains(fmt.Sprint(paths), "achieved") {
			t.Errorf("edited %s: %v", name, paths)
		}
	}
}
