package result

import (
	"wirelab/lab/plan"
)

// Remade is a round that does not count, because the machine was not available to it. It was run again. Its
// measurements are kept, but did not influence that decision: only the gates on the machine did, so that no round is
// repeated because of its results.
type Remade struct {
	Place int `json:"place"` // the index of the round, from 0
	// Gate failed: Value was measured, and Limit is the maximum. Both are shares, or microseconds for [Throttling].
	Gate  Gate    `json:"gate"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Round Round   `json:"round"`
}

// RemadeMost is the maximum number of rounds that an experiment repeats: half of its minimum rounds, rounded up. If
// more are needed, the machine is not a quiet one with short disturbances, and its gates will show that.
func RemadeMost(p plan.Plan) int { return (p.Rounds.Min + 1) / 2 }
