package result

import (
	"cmp"
	"math"
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Calibrated is how many calls an arm answered in the closed loop before a
// curve was measured: one short look, to choose rates by, and no claim.
type Calibrated struct {
	Arm      int     `json:"arm"`
	InFlight int     `json:"in_flight"`
	Rate     float64 `json:"rate"` // calls per second
}

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
	Why  string `json:"why,omitempty"`
	Gate Gate   `json:"gate,omitempty"`
}

// LeastLevels is how many rates make a curve.
const LeastLevels = 3

// Limits of what a curve tells.
const (
	// shortShare is how much less than what arrives must be answered to be
	// called overload: calls that cross the ends of a slice make some per mille.
	shortShare = 0.01
	// fallShare is how much less than at a lower rate is a collapse.
	fallShare = 0.05
)

// Curves returns the curves of a result: the open loads at constant rates of
// one operation, one law and one number of calls in flight at most, where
// there are at least three. [Analyse] has them too. It is pure.
func Curves(r *Result) []Curve {
	g := newGrid(r)
	return curves(g, func(l, a int) ArmState { return armState(g, l, a) })
}

// curves finds them; state gives the gates of an arm under a load.
func curves(g grid, state func(load, arm int) ArmState) []Curve {
	var all []Curve
	for l := range g.trials {
		load := g.result.Plan.Loads[l]
		if !load.Open() || len(load.Stages) > 0 || load.Streaming() || load.Fails() {
			continue // what is done to a broker in a fault is not the rate's
		}
		of := Curve{Operation: g.result.Plan.OperationOf(load), Arrivals: cmp.Or(load.Arrivals, plan.Poisson), InFlight: load.InFlight}
		i := slices.IndexFunc(all, func(c Curve) bool {
			first := g.result.Plan.Loads[c.Levels[0].Load]
			return c.Operation == of.Operation && c.Arrivals == of.Arrivals && c.InFlight == of.InFlight &&
				g.result.Plan.RequestsOf(first) == g.result.Plan.RequestsOf(load) && sameMessages(first, load)
		})
		if i < 0 {
			all, i = append(all, of), len(all)
		}
		all[i].Levels = append(all[i].Levels, Level{Load: l, Offered: load.Rate})
	}
	all = slices.DeleteFunc(all, func(c Curve) bool { return len(c.Levels) < LeastLevels })
	for i := range all {
		c := &all[i]
		slices.SortStableFunc(c.Levels, func(a, b Level) int { return cmp.Compare(a.Offered, b.Offered) })
		for a := range g.arms() {
			c.Arms = append(c.Arms, armCurve(g, c, a, state))
		}
	}
	return all
}

// sameMessages reports whether two loads send the same messages in the same
// scenario, so that only the rate tells them apart; of calls it is true.
func sameMessages(a, b plan.Load) bool {
	return a.Scenario == b.Scenario && a.Size == b.Size && a.Batch == b.Batch && a.Groups == b.Groups && a.Delay == b.Delay
}

func armCurve(g grid, c *Curve, arm int, state func(load, arm int) ArmState) ArmCurve {
	found := ArmCurve{Name: g.result.ArmName(arm)}
	w := walk{curve: c, trials: make([][]*Trial, len(c.Levels))}
	for i, level := range c.Levels {
		w.trials[i] = g.trials[level.Load][arm]
		s := state(level.Load, arm)
		found.Points = append(found.Points, point(g.of(level.Load, arm), &s))
	}
	w.points = found.Points
	found.Saturation = w.saturation()
	found.MostLevel, found.Most = w.most()
	found.Knee = w.knee()
	found.Collapse = w.collapse(found.MostLevel)
	return found
}

// point takes the figures of an arm at a level.
func point(trials []*Trial, s *ArmState) Point {
	p := Point{Planned: s.Planned}
	if len(trials) == 0 {
		p.Why = "not measured"
		return p.refuse(p.Why)
	}
	all := sum(trials)
	if all.planned > 0 {
		p.Failed = 1 - float64(min(all.ok, all.planned))/float64(all.planned)
		p.Waited = float64(min(all.late, all.planned)) / float64(all.planned)
	}
	p.AtLeast = p.Failed > 0
	p.take(trials)
	if c := refusal(s, trials, plan.ServerCPU); c != nil {
		p.Why, p.Gate = c.Detail, c.Gate // whole arms: wrong replies, counts that do not add up
		return p.refuse(c.Detail)
	}
	p.Overloaded = p.Share.Interval() && p.Share.High < 1 && p.Share.Value <= 1-shortShare
	for _, of := range []struct {
		into   *Estimate
		metric string
	}{{&p.Achieved, plan.Throughput}, {&p.Mean, plan.ResponseMean}, {&p.P50, plan.ResponseP50}, {&p.P99, plan.ResponseP99}} {
		if c := refusal(s, trials, of.metric); c != nil {
			p.Why, p.Gate = cmp.Or(p.Why, c.Detail), cmp.Or(p.Gate, c.Gate)
			*of.into = of.into.refuse(c.Detail)
		}
	}
	if !p.Achieved.Known {
		p.Share, p.Overloaded = p.Share.refuse(p.Achieved.Why), false
	}
	return p
}

// take takes the figures, whatever the checks say of them.
func (p *Point) take(trials []*Trial) {
	p.ServerCPU = meanOf(trials, func(t *Trial) (float64, bool) { return MustMetric(plan.ServerCPU).Value(t) })
	p.Cores = meanOf(trials, func(t *Trial) (float64, bool) {
		if t.Server == nil || t.Server.Wall <= 0 {
			return 0, false
		}
		return float64(t.Server.CPU) / float64(t.Server.Wall), t.Server.CPU > 0
	})
	p.Achieved, p.Share, p.Mean = meanOf(trials, answered), meanOf(trials, share), meanOf(trials, meanWaiting)
	p.P50 = waiting(trials, MustMetric(plan.ResponseP50).Quantile)
	p.P99 = waiting(trials, MustMetric(plan.ResponseP99).Quantile)
}

// refusal tells why a metric of an arm at a level is no number. It differs
// from [ArmState.Why] in what overload does to an arm: calls that fail, that
// cannot be made, a queue that is never steady. There it is what a curve is to
// show, and so only what the generator or the machine spoiled is refused, and
// what wrong replies make worthless.
func refusal(s *ArmState, trials []*Trial, metric string) *Check {
	m := MustMetric(metric)
	for i := range s.Checks {
		c := &s.Checks[i]
		if c.OK || !c.covers(m) {
			continue
		}
		switch c.Gate {
		case Steady, Settled, Overload:
			continue
		case Answers:
			if !slices.ContainsFunc(trials, func(t *Trial) bool { return t.Errors[WrongReply] > 0 }) {
				continue
			}
		}
		return c
	}
	return nil
}

// MustMetric is [MetricByID] for the ids of room plan, which a test keeps known.
func MustMetric(id string) Metric {
	m, _ := MetricByID(id)
	return m
}

// meanOf is the geometric mean of what rounds give, with a t interval.
func meanOf(trials []*Trial, of func(*Trial) (float64, bool)) Estimate {
	var values []float64
	for _, t := range trials {
		if v, ok := of(t); ok && v > 0 && !math.IsInf(v, 1) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return Estimate{Why: "no round tells it"}
	}
	e, err := stat.GeometricMean(values, stat.DefaultAlpha)
	if err != nil { // one round
		total := 0.0
		for _, v := range values {
			total += v
		}
		return Estimate{Known: true, Value: total / float64(len(values)), Rounds: len(values)}
	}
	return Estimate{Known: true, Value: e.Value, Low: e.Low, High: e.High, Rounds: len(values)}
}

// answered is calls answered rightly per second of a trial's window.
func answered(t *Trial) (float64, bool) {
	if t.Window <= 0 {
		return 0, false
	}
	return float64(t.Completed) / time.Duration(t.Window).Seconds(), true
}

func share(t *Trial) (float64, bool) {
	return float64(t.Completed) / float64(t.Planned), t.Planned > 0
}

// waits are the times of all that was due: answered, failed and given up.
func waits(t *Trial) *stat.Histogram {
	if t.Failed == nil || t.Failed.Count() == 0 {
		return t.Response
	}
	all := &stat.Histogram{}
	all.Merge(t.Response)
	all.Merge(t.Failed)
	return all
}

func meanWaiting(t *Trial) (float64, bool) {
	h := waits(t)
	return h.Mean(), h.Count() > 0
}

// waiting is a quantile of the times of all that was due, with its jackknife
// interval over rounds.
func waiting(trials []*Trial, q float64) Estimate {
	rounds := make([]*stat.Histogram, len(trials))
	for i, t := range trials {
		rounds[i] = waits(t)
	}
	m := Metric{Quantile: q}
	if why := tooShort(m, rounds); why != "" {
		return Estimate{Why: why}
	}
	e, err := stat.QuantileInterval(rounds, q, stat.DefaultAlpha)
	if err == nil {
		return Estimate{Known: true, Value: e.Value, Low: e.Low, High: e.High, Rounds: e.Rounds}
	}
	all := &stat.Histogram{}
	for _, h := range rounds {
		all.Merge(h)
	}
	return Estimate{Known: true, Value: float64(all.Quantile(q)), Rounds: len(rounds)}
}
