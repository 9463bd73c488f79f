package result

import (
	"wirelab/lab/plan"
)

// Remade is a round that counts for nothing, since the machine was not there for it: another was run in its place.
// What its arms did is kept, and nobody looked at it to decide. Only gates on the machine were asked, so that no
// round is made again for what came out of it.
type Remade struct {
	Place int `json:"place"` // of the round that it was to be, from 0
	// Gate failed: Value was read, where Limit is the most. Both are shares; of [Throttling], microseconds.
	Gate  Gate    `json:"gate"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Round Round   `json:"round"`
}

// RemadeMost is how many rounds of an experiment are made again at most: half as many as it has at least. A machine
// that needs more is no quiet one with a moment's noise, and its gates say so.
func RemadeMost(p plan.Plan) int { return (p.Rounds.Min + 1) / 2 }
