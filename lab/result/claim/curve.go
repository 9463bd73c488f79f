package claim

import (
	"wirelab/lab/result"
)

// Curve is response time over offered rate for one operation. All arms have the same rates.
type Curve struct {
	Operation string `json:"operation"`
	Arrivals  string `json:"arrivals"` // the distribution of arrivals
	InFlight  int    `json:"in_flight"`
	// Levels are the loads of the curve, with ascending rates.
	Levels []Level    `json:"levels"`
	Arms   []ArmCurve `json:"arms"` // one for each of Plan.Arms
}

// Level is one rate of a curve.
type Level struct {
	Load    int     `json:"load"`    // index into Plan.Loads
	Offered float64 `json:"offered"` // calls per second, as planned
}

// ArmCurve is one arm of a curve.
type ArmCurve struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"` // one for each level
	// Knee is the rate with the most power: calls per second divided by mean response time (Kleinrock 1979).
	Knee Place `json:"knee"`
	// Saturation is the lowest rate that the arm does not keep up with. Collapse is the lowest rate at which it
	// answers fewer calls than at a lower rate.
	Saturation Place `json:"saturation"`
	Collapse   Place `json:"collapse"`
	// Most is the highest rate of answered calls, and MostLevel the level where it occurred.
	Most      Estimate `json:"most"`
	MostLevel int      `json:"most_level"`
}

// Place is a rate of a curve with some property.
type Place struct {
	// Known reports whether it was found. If not, Why says what is known instead.
	Known bool   `json:"known"`
	Level int    `json:"level,omitempty"` // index into Curve.Levels
	Why   string `json:"why,omitempty"`
	// Rate is that of the level. Low and High bound the levels that cannot be distinguished from it. Nothing was
	// measured between two levels.
	Rate float64 `json:"rate,omitempty"`
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// By is, for a collapse, the rate of answered calls there divided by the highest one.
	By Estimate `json:"by,omitzero"`
}

// Point is an arm at one level. Times are in ns, from when calls were due. For an overloaded arm they grow with the
// length of a slice, so they are only true for slices of this length.
type Point struct {
	// Planned is the actual arrivals per second. Achieved is the right replies per second. Share is achieved divided
	// by planned, round by round.
	Planned  float64  `json:"planned"`
	Achieved Estimate `json:"achieved"`
	Share    Estimate `json:"share"`
	Mean     Estimate `json:"mean"`
	P50      Estimate `json:"p50"`
	P99      Estimate `json:"p99"`
	// AtLeast reports that some calls failed or could not be made. Their times are taken as the time until then, so
	// the times are lower bounds.
	AtLeast bool `json:"at_least,omitempty"`
	// Failed is the share of arrivals that got no right answer, including those never sent. Waited is the share that
	// found InFlight calls in flight.
	Failed float64 `json:"failed,omitempty"`
	Waited float64 `json:"waited,omitempty"`
	// ServerCPU is the CPU time per request in ns. Cores is how many cores the server kept busy.
	ServerCPU Estimate `json:"server_cpu"`
	Cores     Estimate `json:"cores"`
	// Overloaded reports that fewer calls are answered than arrive, with statistical certainty.
	Overloaded bool `json:"overloaded,omitempty"`
	// Why is the first reason for which a figure is refused: the generator or the machine disturbed it. Gate is the
	// check that says so. Both are "" if none is refused.
	Why  string      `json:"why,omitempty"`
	Gate result.Gate `json:"gate,omitempty"`
}

// Refuse removes all measured values from a point.
func (p Point) Refuse(why string) Point {
	for _, e := range []*Estimate{&p.Achieved, &p.Share, &p.Mean, &p.P50, &p.P99, &p.ServerCPU, &p.Cores} {
		*e = e.Refuse(why)
	}
	return p
}
