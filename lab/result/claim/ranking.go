package claim

// Ranking has every arm's figure of one metric, with each pair of arms compared. It says which arm is first, and
// which cannot be distinguished from the first.
type Ranking struct {
	// Metric is the id of one of the metrics, or [rank.StoredRate] or [rank.PipelineCPU].
	Metric string  `json:"metric"`
	Alpha  float64 `json:"alpha"`
	// Entrants are the arms, one for each of the plan's.
	Entrants []Entry `json:"arms"`
	// All ranks all arms. Durable ranks those that answer only when an entry would survive a power failure. It is nil
	// if all ranked arms do.
	All     Leaders  `json:"all"`
	Durable *Leaders `json:"durable,omitempty"`
}

// Entry is one arm in a ranking.
type Entry struct {
	Name     string   `json:"name"`
	Estimate Estimate `json:"estimate"`
	// Durable is [result.Result.Durable] of the arm.
	Durable bool `json:"durable"`
	// Behind is its difference from the first arm of Ranking.All. It is nil for that arm, and for arms without a
	// figure.
	Behind *Difference `json:"behind,omitempty"`
}

// Leaders says which arms are first.
type Leaders struct {
	State LeadersState `json:"state"`
	// First are the arms that are first: one arm if it is proved better than each other, or else all arms that none
	// is proved better than. The one with the best figure is listed first, which is no claim.
	First []int `json:"first"`
	// Next is the arm with the best figure after a clear first, and Lead its difference from it. Lead is nil if no
	// single arm is first.
	Next int         `json:"next"`
	Lead *Difference `json:"lead,omitempty"`
	// Needed is the number of rounds that a claim needs, if there are too few.
	Needed int `json:"needed,omitempty"`
}

// LeadersState says what is known about the first place.
type LeadersState string

// The states.
const (
	LeadersNone   LeadersState = "nobody"         // no arm has a figure
	LeaderAlone   LeadersState = "alone"          // one arm has a figure, and there is nothing to compare with
	LeaderClear   LeadersState = "first"          // one arm is proved better than each other
	LeadersAlike  LeadersState = "alike"          // the first ones are equivalent, each to each
	LeadersShared LeadersState = "undecided"      // the first ones cannot be distinguished
	LeadersFew    LeadersState = "too few rounds" // no claim: there is no ranking
)
