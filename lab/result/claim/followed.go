package claim

// EntryState counts an arm's entries over all rounds: see [result.Followed].
type EntryState struct {
	Sent       uint64 `json:"sent"`
	Accepted   uint64 `json:"accepted"`
	Confirmed  uint64 `json:"confirmed"`
	Stored     uint64 `json:"stored"`
	Missing    uint64 `json:"missing"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
}

// PartState is the use of one process of an arm's pipeline.
type PartState struct {
	Name  string  `json:"name"`
	CPU   float64 `json:"cpu,omitempty"`   // ns per request
	Share float64 `json:"share,omitempty"` // of the whole pipeline
	// Refused holds both if the arm's server CPU is refused.
	Refused Refusals `json:"refused,omitempty"`
}
