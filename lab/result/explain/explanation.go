package explain

import (
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// Explanation is what a factorial experiment shows about why its arms differ: the effect of each factor, averaged
// over the others, which factors interact, and the share of each in the difference between two arms. All of it is
// computed from the result; see [Of].
type Explanation struct {
	// Factors are the factors in which the arms differ.
	Factors []Factor `json:"factors"`
	// From and To are the corners that were requested, now or by the plan: names of arms, or protocols. "" if they
	// were chosen.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Loads are those of the plan, in order.
	Loads []LoadExplanation `json:"loads"`
}

// Factor is a property in which arms differ.
type Factor struct {
	Name string `json:"name"` // "transport", "encoding", "TLS", "connections", "data"
	// Levels are its possible values, at least 2, with that of the first arm first.
	Levels []string `json:"levels"`
	// Of is the level of each of Plan.Arms, as an index into Levels.
	Of []int `json:"of"`
}

// LoadExplanation is the explanation of one load.
type LoadExplanation struct {
	Load    int    `json:"load"`
	Name    string `json:"name"`    // plan.Load.String
	Primary string `json:"primary"` // id of the metric that decides
	// Metrics are those that are explained, the primary one first.
	Metrics []MetricExplanation `json:"metrics"`
	// Notes are remarks on the design under this load.
	Notes []string `json:"notes,omitempty"`
}

// MetricExplanation is the effect of the factors on one metric.
type MetricExplanation struct {
	Metric  string `json:"metric"` // id
	Primary bool   `json:"primary,omitempty"`
	// Alpha is the probability that an interval misses, as in [claim.Row].
	Alpha float64 `json:"alpha"`
	// Arms are the arms that were used, and Left those that were not.
	Arms []int     `json:"arms"`
	Left []LeftArm `json:"left,omitempty"`
	// Rounds is the number of rounds that have all of these arms.
	Rounds int `json:"rounds"`
	// Why says why the fields below are empty; "" if they are not.
	Why string `json:"why,omitempty"`
	// Effects are the main effects, by factor and level, and Interactions
	// those of two factors.
	Effects      []FactorEffect `json:"effects,omitempty"`
	Interactions []FactorEffect `json:"interactions,omitempty"`
	// Explained is the share, 0 to 1, of the variation between arms that both together explain. The rest is noise and
	// interactions of three factors.
	Explained float64 `json:"explained,omitempty"`
	// Attributions split the differences between two arms.
	Attributions []Attribution `json:"attributions,omitempty"`
}

// LeftArm is an arm whose figures were not used, with the reason.
type LeftArm struct {
	Arm int `json:"arm"`
	// Gate is the check that refuses it; "" if the reason is not a check.
	Gate result.Gate `json:"gate,omitempty"`
	Why  string      `json:"why"`
}

// FactorEffect is the effect of a level of a factor, or of two factors together.
type FactorEffect struct {
	// Factors are one index into [Explanation.Factors], or two for an interaction. Levels and Against are indices of
	// their levels.
	Factors []int `json:"factors"`
	Levels  []int `json:"levels"`
	Against []int `json:"against"`
	// Difference is the metric at Levels divided by that at Against, with all other factors the same, averaged over
	// their levels. For an interaction it is a ratio of ratios: how many times larger the effect of the first factor
	// is if the second has Levels instead of Against. It is nil if the arms do not determine it.
	Difference *claim.Difference `json:"difference,omitempty"`
	// Assumes are the interactions, as indices of two factors, that must be zero for this to be the effect.
	Assumes [][2]int `json:"assumes,omitempty"`
	// Why says why the arms do not determine it.
	Why string `json:"why,omitempty"`
}

// Attribution splits the difference between two arms into shares.
type Attribution struct {
	From int `json:"from"` // arms
	To   int `json:"to"`
	// Where gives the levels of the factors that both arms share, if there are several such attributions: "data 100".
	Where string `json:"where,omitempty"`
	// Why says why the difference cannot be split: which arms are missing.
	Why string `json:"why,omitempty"`
	// Base is the metric of From. Points are shares of it.
	Base claim.Estimate `json:"base,omitzero"`
	// Total is the whole difference. Shares are its parts, in the order of the factors.
	Total  *Share  `json:"total,omitempty"`
	Shares []Share `json:"shares,omitempty"`
	// Notes say what else a share contains.
	Notes []string `json:"notes,omitempty"`
}

// Share is a factor's part of a difference: the average effect of changing it, over all orders in which the factors
// can be changed (the Shapley value).
type Share struct {
	// Factor is "transport", "framing", "encoding", "TLS", "connections" or "data"; "" for the whole. LevelFrom and
	// LevelTo are the levels before and after.
	Factor    string `json:"factor,omitempty"`
	LevelFrom string `json:"level_from,omitempty"`
	LevelTo   string `json:"level_to,omitempty"`
	// Difference is From's figure with only this share added, divided by From's figure. It may be below 0 if this
	// share subtracts much after another has added much.
	Difference *claim.Difference `json:"difference"`
	// Points are Difference's ratios minus 1: 0.1 is a tenth of From's figure, ten percentage points. The points of
	// all shares add up to those of the whole.
	Points Amount `json:"points"`
	// Amount is the same in the metric's unit, and adds up too. Its interval includes changes of the machine's speed
	// between rounds.
	Amount Amount `json:"amount"`
	// Times is the share on logarithms, as a factor: the product of all shares is the whole.
	Times Amount `json:"times"`
}

// Amount is a figure that may be negative, with its interval.
type Amount struct {
	Known bool    `json:"known"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
