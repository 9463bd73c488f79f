package claim

// StepState is how long one call of a chain takes, over all rounds.
type StepState struct {
	Name string   `json:"name"`
	P50  Estimate `json:"p50"` // ns
	P90  Estimate `json:"p90"`
	P99  Estimate `json:"p99"`
	// Share is the step's part of the chains' service time, over all steps and calls. The difference to 1 is time in
	// the generator, between a reply and the next request.
	Share Estimate `json:"share"`
}
