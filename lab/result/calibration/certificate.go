package calibration

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"wirelab"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/grid"
	"wirelab/lab/stat"
)

// Certify makes a calibration from an A/A test: a result of two equal arms under one load, whose differences are all
// due to the machine. It is pure arithmetic, so it can be checked against the stored result. An error says why there
// is no calibration: another kind of result, an arm that failed, or fewer than [claim.MinRounds] rounds. Metrics for
// which the rounds were too short are left out.
//
// The resolution after a wall time follows from the number of rounds that fit into it, if their spread stays the
// same. Times with fewer than MinRounds are left out, since no claim can come from them.
func Certify(r *result.Result) (*result.Certificate, error) {
	if len(r.Plan.Arms) != 2 || len(r.Plan.Loads) != 1 || unlike(r.Plan.Arms[0], r.Plan.Arms[1]) {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "a certificate needs two equal arms under one load")
	}
	g := grid.NewGrid(r)
	for a := range g.Arms() {
		for _, c := range kinds.StateOf(g, 0, a).Checks {
			if !c.OK && (c.Gate == result.InPlay || c.Gate == result.Answers || c.Gate == result.Accounts) {
				return nil, wirelab.Errorf(wirelab.InvalidArgument, "no certificate: %s: %s", r.ArmName(a), c.Detail)
			}
		}
	}
	pairs, _ := g.Pairs(0, 0, 1)
	took := r.Ended.Sub(r.Began)
	if len(pairs) < claim.MinRounds || took <= 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"no certificate: %d rounds have both arms, it needs %d", len(pairs), claim.MinRounds)
	}
	c := &result.Certificate{
		Made: r.Ended, Environment: r.Environment, What: what(r),
		Rounds: len(pairs), Round: plan.Duration(took / time.Duration(len(pairs))), Noise: result.Worst(r.Rounds),
		Metrics: []result.Resolution{},
	}
	for _, m := range kinds.Known() {
		if !kinds.Under(m, r.Plan.Loads[0]) || m.Counted {
			continue
		}
		if e, none := effect.Paired(g, 0, m, 0, 1, stat.DefaultAlpha); none == nil {
			c.Metrics = append(c.Metrics, resolution(c, m.ID, e.LogSD))
		}
	}
	return c, nil
}

// unlike reports whether two arms differ in more than their names.
func unlike(a, b plan.Arm) bool {
	a.Name, b.Name = "", ""
	return a != b
}

// what describes the arm that was compared with itself.
func what(r *result.Result) string {
	driver := "client"
	if r.Plan.Arms[0].Raw() {
		driver = "raw"
	}
	return r.Plan.Arms[0].Protocol + ", " + driver + " driver, " + r.Plan.Loads[0].String()
}

// resolution is the detectable difference for a spread from round to round.
func resolution(c *result.Certificate, metric string, deviation float64) result.Resolution {
	r := result.Resolution{Metric: metric, Deviation: deviation, Within: []result.Within{}}
	for _, t := range result.Stretches() {
		if w, ok := within(c, deviation, t); ok {
			r.Within = append(r.Within, w)
		}
	}
	return r
}

// within is the resolution after a wall time; false if it is too short.
func within(c *result.Certificate, deviation float64, t time.Duration) (result.Within, bool) {
	if c.Round <= 0 || int64(t)/int64(c.Round) < claim.MinRounds {
		return result.Within{}, false
	}
	e := stat.Effect{LogSD: deviation, Rounds: int(min(int64(t)/int64(c.Round), 1<<30)), Alpha: stat.DefaultAlpha}
	return result.Within{
		Time:      plan.Duration(t),
		HalfWidth: min(math.Expm1(e.HalfWidth(stat.DefaultAlpha)), math.MaxFloat64), Detectable: e.MDE(),
	}, true
}

// Loudness describes noise in a word: "loud" is what the gates refuse, "quiet" is negligible, "some" is in between.
func Loudness(n result.Noise) string {
	switch {
	case n.Steal > gate.StealShare || n.Others > gate.NeighbourLimit:
		return "loud"
	case n.Steal > 0.005 || n.Others > 0.03 || n.Throttled > 0:
		return "some"
	}
	return "quiet"
}

// Wanting says which precision a complete plan requires that the machine will probably not reach in the plan's time;
// "" if it will, or if that is unknown. Open loops are not judged, because their quantiles depend on the rate.
func Wanting(c *result.Certificate, p plan.Plan) string {
	if len(p.Loads) == 0 || len(p.Arms) < 2 || p.Loads[0].Open() {
		return ""
	}
	m := kinds.Primary(p, p.Loads[0])
	r, ok := c.Of(m.ID)
	if !ok || c.Round <= 0 {
		return ""
	}
	// The calibration run had two arms and one load; more of either share the time.
	share := float64(len(p.Arms)*len(p.Loads)) / 2
	t := planned(p)
	w, ok := within(c, r.Deviation, time.Duration(float64(t)/share))
	if !ok {
		return ""
	}
	e := stat.Effect{LogSD: r.Deviation, Rounds: claim.MinRounds, Alpha: effect.Alpha(p, true)}
	needs := func(rounds int) string {
		return roughly(time.Duration(min(float64(rounds)*float64(c.Round)*share, float64(1000*time.Hour)))).String()
	}
	switch {
	case p.Until > 0 && w.HalfWidth > p.Until:
		return fmt.Sprintf("%s to ±%s is asked for, and this machine gives about ±%s in %v; %s might do",
			m.Short, precise(p.Until), precise(w.HalfWidth), roughly(t), needs(e.RoundsNeeded(p.Until)))
	case p.Until == 0 && p.Practical > 0 && w.Detectable > p.Practical:
		// An interval of a third of the difference almost always detects it.
		return fmt.Sprintf("differences of less than %s in %s will probably stay undecided in %v, where %s matters; "+
			"%s might do",
			precise(w.Detectable), m.Short, roughly(t), precise(p.Practical), needs(e.RoundsNeeded(p.Practical*2/3)))
	}
	return ""
}

// startTime is the approximate time to start a server and a driver.
const startTime = 200 * time.Millisecond

// planned is the approximate maximum duration of a closed-loop plan.
func planned(p plan.Plan) time.Duration {
	if p.For > 0 {
		return time.Duration(p.For)
	}
	slices, each := p.Slices, startTime
	if p.Floor == plan.FloorAuto { // another server, and about two slices of each load
		slices, each = slices+2, each+startTime/2
	}
	for _, l := range p.Loads {
		each += time.Duration(p.WarmUp) + time.Duration(slices)*time.Duration(p.SliceOf(l))
	}
	rounds := p.Rounds.Min
	if p.Until > 0 {
		rounds = p.Rounds.Max
	}
	return time.Duration(rounds*len(p.Arms)) * each
}

// roughly rounds a time to the precision of an estimate.
func roughly(d time.Duration) time.Duration {
	switch {
	case d < time.Minute:
		return d.Round(time.Second)
	case d < time.Hour:
		return d.Round(10 * time.Second)
	}
	return d.Round(time.Minute)
}

// precise writes a share as a percentage with two digits.
func precise(share float64) string { return strconv.FormatFloat(100*share, 'g', 2, 64) + " %" }
