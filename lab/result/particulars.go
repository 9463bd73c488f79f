package result

// Particulars are the parts of a slice that only some kinds of load have. Each kind adds its own to a trial: see
// [wirelab/lab/kind.Kind].
type Particulars struct {
	Streams *Streams `json:"streams,omitempty"`
	// Followed is what happened to the entries that the calls handed over.
	Followed *Followed `json:"followed,omitempty"`
	// Messages is what happened to the messages that were sent.
	Messages *Messages `json:"messages,omitempty"`
	// Told is set if another program made the calls, and has its report; nil for our own drivers.
	Told *Told `json:"told,omitempty"`
	// Steps are the times of each call of a chain; nil for single calls.
	Steps []Step `json:"steps,omitempty"`
}
