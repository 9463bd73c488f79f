package report

import (
	"wirelab/lab/result"
)

// Trials returns the trials of an arm under a load, at most one for each round.
func Trials(r *result.Result, load, arm int) []*result.Trial {
	var all []*result.Trial
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if t := &r.Rounds[n].Trials[i]; t.Load == load && t.Arm == arm {
				all = append(all, t)
				break
			}
		}
	}
	return all
}
