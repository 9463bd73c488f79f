package experiment_test

import (
	"slices"
	"testing"

	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// The order of a run's slices follows from its seed alone, with and without floors, and also after an arm was taken
// out. Otherwise a result could not be checked.
func TestOrdersFollowFromTheSeed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct {
		name, floor string
		arms        []string
		dies        bool
	}{
		{"two arms", plan.FloorNone, []string{"a", "b"}, false},
		{"with floors", plan.FloorAuto, []string{"a", "b", "c"}, false},
		{"one arm taken out", plan.FloorNone, []string{"a", "b", "c"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench()
			run := runner(t, b, 4, c.arms...)
			run.Plan.Floor = c.floor
			if c.dies {
				run.Observe = func(e experiment.Event) {
					if e.Phase == experiment.Measuring && e.Arm == "c" {
						b.killServer("c")
					}
				}
			}
			r, err := run.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			checked := 0
			for n, round := range r.Rounds {
				want := experiment.Orders(r.Plan, n, experiment.OutBefore(r, n))
				for _, trial := range round.Trials {
					if !slices.Equal(trial.Order, want[trial.Arm][trial.Load]) {
						t.Errorf("round %d, arm %d, load %d: ran at %v, the seed gives %v", n, trial.Arm, trial.Load,
							trial.Order, want[trial.Arm][trial.Load])
					}
					checked++
				}
			}
			if checked < 12 {
				t.Errorf("only %d trials were looked at", checked)
			}
			if c.dies && !slices.Equal(experiment.OutBefore(r, 3), []bool{false, false, true}) {
				t.Errorf("out before the last round: %v, failures %v", experiment.OutBefore(r, 3), failuresOf(r))
			}
		})
	}
}

func failuresOf(r *result.Result) (all [][]result.Failure) {
	for _, round := range r.Rounds {
		all = append(all, round.Failures)
	}
	return all
}
