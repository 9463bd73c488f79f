package result

// Calibrated is the rate of an arm in the closed loop before a curve was measured. It comes from one short look to
// choose rates, and is not a claim.
type Calibrated struct {
	Arm      int     `json:"arm"`
	InFlight int     `json:"in_flight"`
	Rate     float64 `json:"rate"` // calls per second
}
