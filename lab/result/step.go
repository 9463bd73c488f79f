package result

import (
	"slices"

	"wirelab/lab/stat"
)

// Step is one call of a chain, with its times.
type Step struct {
	Name  string          `json:"name"`
	Times *stat.Histogram `json:"times"` // ns
}

// NewSteps returns steps without times. They need memory only for times that are added.
func NewSteps(names []string) []Step {
	all := make([]Step, len(names))
	for i, name := range names {
		all[i] = Step{Name: name, Times: &stat.Histogram{}}
	}
	return all
}

// AddSteps adds the steps of another slice. If the steps differ, they are of another chain and are ignored.
func AddSteps(to, more []Step) []Step {
	if to == nil {
		return more
	}
	if !SameSteps(to, more) {
		return to
	}
	for i := range more {
		if to[i].Times == nil {
			to[i].Times = &stat.Histogram{}
		}
		to[i].Times.Merge(more[i].Times)
	}
	return to
}

// SameSteps reports whether two chains have the same steps.
func SameSteps(a, b []Step) bool {
	return slices.EqualFunc(a, b, func(a, b Step) bool { return a.Name == b.Name })
}
