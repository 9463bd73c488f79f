package claim

// StepState is how long one call of a chain takes, over all rounds.
type StepState struct {
	Name string   `json:"name"`
	P50  Estimate `json:"p50"` // ns
	P90  Estimate `json:"p90"`
	P99  Estimate `json:"p99"`
	// Share is the step's part of the chains' service time, all steps and all calls taken together. What is missing to
	// 1 passes in the generator, between one reply and the next request.
	Share Estimate `json:"share"`
}
