package calls

import (
	"fmt"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// The bounds of what a trial has of steps.
const (
	stepsMost = 64
	stepName  = 64 // bytes
)

// stepFlaws checks that each step has the time of each right call.
func stepFlaws(path string, t *result.Trial, _ plan.Load, add func(path, format string, args ...any)) {
	if len(t.Steps) > stepsMost {
		add(path+".steps", "%d steps; a chain has at most %d", len(t.Steps), stepsMost)
		return
	}
	for i, s := range t.Steps {
		at := fmt.Sprintf("%s.steps[%d]", path, i)
		if s.Name == "" || len(s.Name) > stepName {
			add(at+".name", "%.80q is no name of a step", s.Name)
		}
		if s.Times.Count() != t.OK {
			add(at+".times", "it holds %d times, %d calls were right", s.Times.Count(), t.OK)
		}
	}
}
