package claim

import (
	"wirelab/lab/result"
)

// Curve is response time over offered rate: what arms do of one operation at
// rates that are the same for all of them.
type Curve struct {
	Operation string `json:"operation"`
	Arrivals  string `json:"arrivals"` // the law
	InFlight  int    `json:"in_flight"`
	// Levels are the loads of the curve, their rates ascending.
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
	// Knee is where the arm does most for the time that it takes: the most
	// power, calls per second by mean response time (Kleinrock 1979).
	Knee Place `json:"knee"`
	// Saturation is the lowest rate that the arm does not keep up with, and
	// Collapse the lowest at which it does less than at a lower one.
	Saturation Place `json:"saturation"`
	Collapse   Place `json:"collapse"`
	// Most is the highest rate of calls answered, and at which level.
	Most      Estimate `json:"most"`
	MostLevel int      `json:"most_level"`
}

// Place is a rate of a curve at which something is so.
type Place struct {
	// Known tells whether it was found; if not, Why says what is known instead.
	Known bool   `json:"known"`
	Level int    `json:"level,omitempty"` // index into Curve.Levels
	Why   string `json:"why,omitempty"`
	// Rate is the level's, and Low and High bound the levels that cannot be
	// told from it; between two levels nothing was measured.
	Rate float64 `json:"rate,omitempty"`
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// By is, of a collapse, the calls answered there by the most that were.
	By Estimate `json:"by,omitzero"`
}

// Point is an arm at one level. Times are in ns, of calls that count from when
// they were due: of an overloaded arm they grow as long as a slice lasts, and
// are true of slices so long.
type Point struct {
	// Planned is arrivals per second as they fell, Achieved calls answered
	// rightly per second, and Share achieved by planned, round by round.
	Planned  float64  `json:"planned"`
	Achieved Estimate `json:"achieved"`
	Share    Estimate `json:"share"`
	Mean     Estimate `json:"mean"`
	P50      Estimate `json:"p50"`
	P99      Estimate `json:"p99"`
	// AtLeast: some calls failed or could not be made; with the time until
	// then taken for theirs, the times are lower bounds.
	AtLeast bool `json:"at_least,omitempty"`
	// Failed is the share of arrivals that got no right answer, those never
	// sent among them. Waited is the share that found InFlight calls in flight.
	Failed float64 `json:"failed,omitempty"`
	Waited float64 `json:"waited,omitempty"`
	// ServerCPU is CPU time per request in ns; Cores how many of them the
	// server kept busy.
	ServerCPU Estimate `json:"server_cpu"`
	Cores     Estimate `json:"cores"`
	// Overloaded: fewer calls are answered than arrive, beyond doubt.
	Overloaded bool `json:"overloaded,omitempty"`
	// Why is the first reason for which a figure is refused: the generator, or
	// the machine, spoiled it; Gate is the check that says so. "" if none is.
	Why  string      `json:"why,omitempty"`
	Gate result.Gate `json:"gate,omitempty"`
}

// Refuse takes everything measured out of a point.
func (p Point) Refuse(why string) Point {
	for _, e := range []*Estimate{&p.Achieved, &p.Share, &p.Mean, &p.P50, &p.P99, &p.ServerCPU, &p.Cores} {
		*e = e.Refuse(why)
	}
	return p
}
