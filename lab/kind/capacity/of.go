package capacity

import (
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// Of is what an analysis says of capacities: nothing where there was no search.
func Of(a *claim.Analysis) claim.CapacityAnalysis {
	if a.Capacity == nil {
		return claim.CapacityAnalysis{}
	}
	return *a.Capacity
}

// SearchOf is a result's search for capacities: nothing where there was none.
func SearchOf(r *result.Result) result.Capacity {
	if r.Capacity == nil {
		return result.Capacity{}
	}
	return *r.Capacity
}
