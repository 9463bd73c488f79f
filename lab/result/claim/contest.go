package claim

// Contest is every arm's figure of one metric, each pair of arms compared: who
// is first by it, and who cannot be told apart from the first.
type Contest struct {
	// Metric is the id of one of the metrics, or [rank.StoredRate] or [rank.PipelineCPU].
	Metric string  `json:"metric"`
	Alpha  float64 `json:"alpha"`
	// Entrants are the arms, one for each of the plan's.
	Entrants []Entry `json:"arms"`
	// All is who is first of all; Durable who is of those that answer only when an
	// entry would outlive a power cut, nil where all that were ranked do.
	All     Leaders  `json:"all"`
	Durable *Leaders `json:"durable,omitempty"`
}

// Entry is one arm in a contest.
type Entry struct {
	Name     string   `json:"name"`
	Estimate Estimate `json:"estimate"`
	// Durable is [result.Result.Durable] of it.
	Durable bool `json:"durable"`
	// Behind is its difference from the first arm of Contest.All; nil in that arm
	// and in those without a figure.
	Behind *Difference `json:"behind,omitempty"`
}

// Leaders is what may be said of who is first.
type Leaders struct {
	State LeadersState `json:"state"`
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

// LeadersState is what sort of a first place there is.
type LeadersState string

// The states.
const (
	LeadersNone   LeadersState = "nobody"         // no arm has a figure
	LeaderAlone   LeadersState = "alone"          // one arm has, and there is nothing to compare with
	LeaderClear   LeadersState = "first"          // one arm is proved better than each other
	LeadersAlike  LeadersState = "alike"          // the first are equivalent, each to each
	LeadersShared LeadersState = "undecided"      // the first cannot be told apart
	LeadersFew    LeadersState = "too few rounds" // no claim: nobody is ranked
)
