package result

// Particulars are what a slice tells that only some kinds of load have. Each kind adds its own to a trial: see
// [wirelab/lab/kind.Kind].
type Particulars struct {
	Streams *Streams `json:"streams,omitempty"`
	// Followed is what became of what the calls handed over.
	Followed *Followed `json:"followed,omitempty"`
	// Messages is what became of those that were sent.
	Messages *Messages `json:"messages,omitempty"`
	// Told is that another program made the calls, and told of them; nil of our own drivers.
	Told *Told `json:"told,omitempty"`
	// Steps are the times of each call of a chain; nil where calls are single ones.
	Steps []Step `json:"steps,omitempty"`
}
