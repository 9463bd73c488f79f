package experiment

import (
	"slices"
	"testing"

	"wirelab/lab/plan"
)

// A driver of messages is run against a null broker once for each pace, whatever the scenario. Calls have a floor for
// each load.
func TestFloorLoads(t *testing.T) {
	t.Parallel()
	fast := plan.Load{Scenario: plan.Live, InFlight: 60, Size: 100, Batch: 1, Groups: 1}
	slow, large := fast, fast
	slow.Scenario, slow.Delay = plan.Slow, plan.Duration(1)
	large.Size = 1000
	for name, c := range map[string]struct {
		loads []plan.Load
		of    []int
	}{
		"calls":     {[]plan.Load{{InFlight: 1}, {InFlight: 1}}, []int{0, 1}},
		"scenarios": {[]plan.Load{slow, fast, large, slow}, []int{0, 0, 1, 0}},
	} {
		asked, of := floorLoads(plan.Plan{Operation: "Publish", Loads: c.loads})
		if !slices.Equal(of, c.of) {
			t.Errorf("%s: %v of %d, want %v", name, of, len(asked), c.of)
		}
		for _, l := range asked {
			if l.Kind() == plan.Messages && (l.Scenario != plan.Live || l.Delay != 0) {
				t.Errorf("%s: a null broker is asked for %+v", name, l)
			}
		}
	}
}
