package explain

import (
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// Explanation is what a factorial experiment tells of why its arms differ: how
// much each factor does on average over the others, which of them act together,
// and which share of the difference between two arms each has. All of it
// follows from the result; see [Of].
type Explanation struct {
	// Factors are those in which the arms differ.
	Factors []Factor `json:"factors"`
	// From and To are the corners that were asked for, now or by the plan: arms'
	// names, or protocols that stand for arms; "" where they were chosen.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Loads are those of the plan, in order.
	Loads []LoadExplanation `json:"loads"`
}

// Factor is something in which arms differ.
type Factor struct {
	Name string `json:"name"` // "transport", "encoding", "TLS", "connections", "data"
	// Levels are what it may be, at least 2, that of the first arm first.
	Levels []string `json:"levels"`
	// Of is the level of each of Plan.Arms, as an index into Levels.
	Of []int `json:"of"`
}

// LoadExplanation is what was found under one load.
type LoadExplanation struct {
	Load    int    `json:"load"`
	Name    string `json:"name"`    // plan.Load.String
	Primary string `json:"primary"` // id of the metric that decides
	// Metrics are those of interest, the primary one first.
	Metrics []MetricExplanation `json:"metrics"`
	// Notes are things to know of the design under this load.
	Notes []string `json:"notes,omitempty"`
}

// MetricExplanation is what the factors do to one metric.
type MetricExplanation struct {
	Metric  string `json:"metric"` // id
	Primary bool   `json:"primary,omitempty"`
	// Alpha is the probability that an interval misses, as in [claim.Row].
	Alpha float64 `json:"alpha"`
	// Arms are the arms that were used, and Left those that were not.
	Arms []int     `json:"arms"`
	Left []LeftArm `json:"left,omitempty"`
	// Rounds is how many rounds have all of them.
	Rounds int `json:"rounds"`
	// Why says in words why there is nothing below; "" if there is.
	Why string `json:"why,omitempty"`
	// Effects are the main effects, by factor and level, and Interactions
	// those of two factors.
	Effects      []FactorEffect `json:"effects,omitempty"`
	Interactions []FactorEffect `json:"interactions,omitempty"`
	// Explained is the share, 0 to 1, of the variation between the arms that
	// both together account for; the rest is noise and interactions of three.
	Explained float64 `json:"explained,omitempty"`
	// Attributions take the differences between two arms apart.
	Attributions []Attribution `json:"attributions,omitempty"`
}

// LeftArm is an arm whose figures were not used, and why.
type LeftArm struct {
	Arm int `json:"arm"`
	// Gate is the check that refuses it, "" where that is no check's.
	Gate result.Gate `json:"gate,omitempty"`
	Why  string      `json:"why"`
}

// FactorEffect is what a level of a factor does, or of two factors together.
type FactorEffect struct {
	// Factors are one index into [Explanation.Factors], or two of an
	// interaction; Levels and Against index the levels of each.
	Factors []int `json:"factors"`
	Levels  []int `json:"levels"`
	Against []int `json:"against"`
	// Difference is the metric at Levels by that at Against, with all other
	// factors the same and on average over their levels. Of an interaction it
	// is a ratio of ratios: how many times more the first factor's step does
	// where the second has Levels than where it has Against. nil if the arms do
	// not tell it.
	Difference *claim.Difference `json:"difference,omitempty"`
	// Assumes are the interactions, as indices of two factors, that must be none for
	// it to be what it is called.
	Assumes [][2]int `json:"assumes,omitempty"`
	// Why says in words why the arms do not tell it.
	Why string `json:"why,omitempty"`
}

// Attribution takes the difference between two arms apart.
type Attribution struct {
	From int `json:"from"` // arms
	To   int `json:"to"`
	// Where says at which levels of the factors that both share, where there is
	// more than one such attribution: "data 100".
	Where string `json:"where,omitempty"`
	// Why says in words why it cannot be taken apart: arms that are missing.
	Why string `json:"why,omitempty"`
	// Base is the metric of From, which points are shares of.
	Base claim.Estimate `json:"base,omitzero"`
	// Total is the whole difference, and Shares its parts, in the order of the
	// factors.
	Total  *Share  `json:"total,omitempty"`
	Shares []Share `json:"shares,omitempty"`
	// Notes say what a share has in it beside its name.
	Notes []string `json:"notes,omitempty"`
}

// Share is a factor's part in a difference: what changing it does, on average
// over all orders in which the factors can be changed (the Shapley value).
type Share struct {
	// Factor is "transport", "framing", "encoding", "TLS", "connections",
	// "data"; "" of the whole. LevelFrom and LevelTo are what changes.
	Factor    string `json:"factor,omitempty"`
	LevelFrom string `json:"level_from,omitempty"`
	LevelTo   string `json:"level_to,omitempty"`
	// Difference is what From's figure would be with this share alone added, by
	// that figure. What takes much away after something else added much may be
	// below 0.
	Difference *claim.Difference `json:"difference"`
	// Points are Difference's ratios less 1: 0.1 is a tenth of From's figure, ten
	// percent points. Those of all shares add up to those of the whole.
	Points Amount `json:"points"`
	// Amount is the same in the metric's unit, adding up too; its interval holds
	// what the machine's speed did from round to round.
	Amount Amount `json:"amount"`
	// Times is the share on logarithms, as a factor: the product of all is that
	// of the whole.
	Times Amount `json:"times"`
}

// Amount is a figure that may be negative, with its interval.
type Amount struct {
	Known bool    `json:"known"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
