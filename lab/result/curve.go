package result

// Calibrated is how many calls an arm answered in the closed loop before a
// curve was measured: one short look, to choose rates by, and no claim.
type Calibrated struct {
	Arm      int     `json:"arm"`
	InFlight int     `json:"in_flight"`
	Rate     float64 `json:"rate"` // calls per second
}
