// Package benchmark converts a result into the format of the ledger's first benchmark: a run for each arm under each
// load, with the figures of the report or the reasons why there are none, and a random sample of its calls. Stores
// and API make their rows from it, so that they agree. It must not know a database or an address.
package benchmark

import (
	"maps"
	"slices"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// Run is one arm under one load, over all rounds.
type Run struct {
	Arm, Load int
	Rounds    []int // the number of each trial's round, from 1
	Trials    []*result.Trial
}

// Gather returns the runs of a result, by load and arm. If two trials have the same place, the first counts, as in an
// analysis.
func Gather(r *result.Result) []*Run {
	found := map[[2]int]*Run{}
	for i := range r.Rounds {
		for j := range r.Rounds[i].Trials {
			t := &r.Rounds[i].Trials[j]
			key := [2]int{t.Load, t.Arm}
			u := found[key]
			if u == nil {
				u = &Run{Arm: t.Arm, Load: t.Load}
				found[key] = u
			}
			if n := len(u.Rounds); n == 0 || u.Rounds[n-1] != i+1 {
				u.Rounds, u.Trials = append(u.Rounds, i+1), append(u.Trials, t)
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(found), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	all := make([]*Run, len(keys))
	for i, key := range keys {
		all[i] = found[key]
	}
	return all
}

// Pooled returns the merged histogram of the run's trials.
func (u *Run) Pooled(of func(*result.Trial) *stat.Histogram) *stat.Histogram {
	all := &stat.Histogram{}
	for _, t := range u.Trials {
		all.Merge(of(t))
	}
	return all
}

// Totals are sums over the trials of a run. They are counts, which no check refuses.
type Totals struct {
	Window              time.Duration
	Sent, OK, Completed uint64
	Resident            float64 // memory of the driver in bytes at the end of rounds, on average
	Peak                uint64  // the largest such value
}

// Totals returns the sums over the run.
func (u *Run) Totals() (all Totals) {
	for _, t := range u.Trials {
		all.Window += time.Duration(t.Window)
		all.Sent, all.OK, all.Completed = all.Sent+t.Sent, all.OK+t.OK, all.Completed+t.Completed
		all.Resident += float64(t.Driver.ResidentBytes) / float64(len(u.Trials))
		all.Peak = max(all.Peak, t.Driver.ResidentBytes)
	}
	return all
}

// Wall returns how long the driver's use was observed in a trial.
func Wall(t *result.Trial) time.Duration {
	if t.Driver.Wall > 0 {
		return time.Duration(t.Driver.Wall)
	}
	return time.Duration(t.Window)
}
