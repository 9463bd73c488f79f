package claim

// Contest is every arm's figure of one metric, each pair of arms compared: who
// is first by it, and who cannot be told apart from the first.
type Contest struct {
	// Metric is the id of one of the metrics, or [rank.StoredRate] or [rank.PipelineCPU].
	Metric string  `json:"metric"`
	Alpha  float64 `json:"alpha"`
	// Entrants are the arms, one for each of the plan's.
	Entrants []Entrant `json:"arms"`
	// All is who is first of all; Durable who is of those that answer only when an
	// entry would outlive a power cut, nil where all that were ranked do.
	All     Podium  `json:"all"`
	Durable *Podium `json:"durable,omitempty"`
}

// Entrant is one arm in a contest.
type Entrant struct {
	Name     string   `json:"name"`
	Estimate Estimate `json:"estimate"`
	// Durable is [result.Result.Durable] of it.
	Durable bool `json:"durable"`
	// Behind is its difference from the first arm of Contest.All; nil in that arm
	// and in those without a figure.
	Behind *Difference `json:"behind,omitempty"`
}

// Podium is what may be said of who is first.
type Podium struct {
	State PodiumState `json:"state"`
	// First are the arms that are first: one where it is proved better than each
	// other, else all that nothing in the podium is proved better than. The one with the best
	// figure comes before the others, which claims nothing.
	First []int `json:"first"`
	// Next is the arm with the best figure behind a clear first, and Lead its
	// difference from it; nil where nobody is first alone.
	Next int         `json:"next"`
	Lead *Difference `json:"lead,omitempty"`
	// Needed is how many rounds a claim needs, where there are too few.
	Needed int `json:"needed,omitempty"`
}

// PodiumState is what sort of a first place there is.
type PodiumState string

// The states.
const (
	PodiumEmpty  PodiumState = "nobody"         // no arm has a figure
	PodiumAlone  PodiumState = "alone"          // one arm has, and there is nothing to compare with
	PodiumClear  PodiumState = "first"          // one arm is proved better than each other
	PodiumAlike  PodiumState = "alike"          // the first are equivalent, each to each
	PodiumShared PodiumState = "undecided"      // the first cannot be told apart
	PodiumFew    PodiumState = "too few rounds" // no claim: nobody is ranked
)
