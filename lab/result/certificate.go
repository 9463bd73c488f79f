package result

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Certificate is what a machine can tell apart, from a comparison of a thing
// with itself: two equal arms, whose differences are all the machine's.
type Certificate struct {
	Made time.Time `json:"made"`
	// Environment is the machine's when it was made; it holds for no other.
	Environment Environment `json:"environment"`
	// What says what was compared with itself: "http1-proto, raw driver, 1 in flight".
	What string `json:"what"`
	// Rounds is how many rounds the burst had, and Round how long one took.
	Rounds int           `json:"rounds"`
	Round  plan.Duration `json:"round"`
	Noise  Noise         `json:"noise"` // the worst of the rounds
	// Metrics are the resolutions, in the order of [Metrics].
	Metrics []Resolution `json:"metrics"`
}

// Resolution is how small a difference of a metric can be told.
type Resolution struct {
	Metric string `json:"metric"` // id
	// Deviation is the standard deviation of the logarithm of the two arms'
	// ratio from round to round.
	Deviation float64 `json:"deviation"`
	// Within gives it for stretches of wall time.
	Within []Within `json:"within"`
}

// Within is what can be told in a stretch of wall time, both as shares.
type Within struct {
	Time plan.Duration `json:"time"`
	// HalfWidth is of the 95 % interval; Detectable is the smallest difference
	// found in 8 of 10 repeats, (t.975 + t.80) * Deviation / sqrt(rounds).
	HalfWidth  float64 `json:"half_width"`
	Detectable float64 `json:"detectable"`
}

// Stretches are the times that a certificate tells what can be told in.
func Stretches() []time.Duration {
	return []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute}
}

// Certify makes a certificate of a comparison of a thing with itself: a result
// of two arms under one load whose differences are all the machine's. It is
// arithmetic alone, so that it can be checked against the stored result. An
// error says why there is none: another kind of result, an arm that failed, or
// fewer than [MinRounds] rounds. A metric that the rounds were too short for
// is left out.
//
// What a stretch of time can tell follows from the rounds that fit into it, if
// they keep the spread they had. Stretches that hold fewer than MinRounds are
// left out: no claim can come from them.
func Certify(r *Result) (*Certificate, error) {
	if len(r.Plan.Arms) != 2 || len(r.Plan.Loads) != 1 || unlike(r.Plan.Arms[0], r.Plan.Arms[1]) {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "a certificate needs two equal arms under one load")
	}
	g := newGrid(r)
	for a := range g.arms() {
		for _, c := range armState(g, 0, a).Checks {
			if !c.OK && (c.Gate == InPlay || c.Gate == Answers || c.Gate == Accounts) {
				return nil, wirelab.Errorf(wirelab.InvalidArgument, "no certificate: %s: %s", r.ArmName(a), c.Detail)
			}
		}
	}
	pairs, _ := g.pairs(0, 0, 1)
	took := r.Ended.Sub(r.Began)
	if len(pairs) < MinRounds || took <= 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"no certificate: %d rounds have both arms, it needs %d", len(pairs), MinRounds)
	}
	c := &Certificate{
		Made: r.Ended, Environment: r.Environment, What: what(r),
		Rounds: len(pairs), Round: plan.Duration(took / time.Duration(len(pairs))), Noise: Worst(r.Rounds), Metrics: []Resolution{},
	}
	for _, m := range metrics() {
		if !m.Under(r.Plan.Loads[0]) || m.Counted {
			continue
		}
		if e, none := effect(g, 0, m, 0, 1, stat.DefaultAlpha); none == nil {
			c.Metrics = append(c.Metrics, c.resolution(m.ID, e.LogSD))
		}
	}
	return c, nil
}

// unlike reports whether two arms differ in more than their names.
func unlike(a, b plan.Arm) bool {
	a.Name, b.Name = "", ""
	return a != b
}

// what says what was compared with itself.
func what(r *Result) string {
	driver := "client"
	if r.Plan.Arms[0].Raw() {
		driver = "raw"
	}
	return r.Plan.Arms[0].Protocol + ", " + driver + " driver, " + r.Plan.Loads[0].String()
}

// Worst is the noise of the worst rounds, each kind for itself.
func Worst(rounds []Round) Noise {
	var worst Noise
	for i, r := range rounds {
		n := r.Noise
		if i == 0 {
			worst = n
			continue
		}
		worst = Noise{
			Steal: max(worst.Steal, n.Steal), Others: max(worst.Others, n.Others),
			CPUPressure: max(worst.CPUPressure, n.CPUPressure), IOPressure: max(worst.IOPressure, n.IOPressure),
			Throttled: max(worst.Throttled, n.Throttled),
		}
	}
	return worst
}

// resolution is what a spread from round to round lets one tell.
func (c *Certificate) resolution(metric string, deviation float64) Resolution {
	r := Resolution{Metric: metric, Deviation: deviation, Within: []Within{}}
	for _, t := range Stretches() {
		if w, ok := c.within(deviation, t); ok {
			r.Within = append(r.Within, w)
		}
	}
	return r
}

// within is what a stretch of time lets one tell; false where it is too short.
func (c *Certificate) within(deviation float64, t time.Duration) (Within, bool) {
	if c.Round <= 0 || int64(t)/int64(c.Round) < MinRounds {
		return Within{}, false
	}
	e := stat.Effect{LogSD: deviation, Rounds: int(min(int64(t)/int64(c.Round), 1<<30)), Alpha: stat.DefaultAlpha}
	return Within{Time: plan.Duration(t), HalfWidth: min(math.Expm1(e.HalfWidth(stat.DefaultAlpha)), math.MaxFloat64), Detectable: e.MDE()}, true
}

// Of returns what is told of a metric; false if nothing is.
func (c *Certificate) Of(metric string) (Resolution, bool) {
	for _, r := range c.Metrics {
		if r.Metric == metric {
			return r, true
		}
	}
	return Resolution{}, false
}

// In returns what can be told of a metric in one of the [Stretches].
func (c *Certificate) In(metric string, t time.Duration) (Within, bool) {
	r, _ := c.Of(metric) // without one there is nothing within
	for _, w := range r.Within {
		if time.Duration(w.Time) == t {
			return w, true
		}
	}
	return Within{}, false
}

// certificateAge is how long a certificate holds: what else a machine does
// changes from hour to hour.
const certificateAge = time.Hour

// Stale tells why a certificate does not hold now and on a machine; "" if it does.
func (c *Certificate) Stale(env Environment, now time.Time) string {
	is := c.Environment
	for _, same := range []struct {
		what     string
		had, has any
	}{
		{"host", is.Host, env.Host},
		{"CPU", is.CPU, env.CPU},
		{"number of CPUs", is.CPUs, env.CPUs},
		{"kernel", is.Kernel, env.Kernel},
		{"governor", is.Governor, env.Governor},
		{"clock source", is.ClockSource, env.ClockSource},
		{"Go", is.Go, env.Go},
		{"commit", is.Commit, env.Commit},
	} {
		if same.had != same.has {
			return fmt.Sprintf("another %s: %v, now %v", same.what, same.had, same.has)
		}
	}
	switch age := now.Sub(c.Made); {
	case age < 0:
		return "made in the future"
	case age > certificateAge:
		return fmt.Sprintf("made %v ago", age.Round(time.Minute))
	}
	return ""
}

// Loudness says a noise in a word: "loud" is what the gates do not let pass,
// "quiet" what nobody would notice, "some" is between.
func (n Noise) Loudness() string {
	switch {
	case n.Steal > stealShare || n.Others > neighbourLimit:
		return "loud"
	case n.Steal > 0.005 || n.Others > 0.03 || n.Throttled > 0:
		return "some"
	}
	return "quiet"
}

// Wanting tells what a complete plan asks for that the machine will probably
// not give in the plan's time; "" if it will, or if nothing can be told. Open
// loops are not judged: their quantiles depend on the rate.
func (c *Certificate) Wanting(p plan.Plan) string {
	if len(p.Loads) == 0 || len(p.Arms) < 2 || p.Loads[0].Open() {
		return ""
	}
	m := Primary(p, p.Loads[0])
	r, ok := c.Of(m.ID)
	if !ok || c.Round <= 0 {
		return ""
	}
	// The burst had two arms and one load; more of either share the time.
	share := float64(len(p.Arms)*len(p.Loads)) / 2
	t := planned(p)
	w, ok := c.within(r.Deviation, time.Duration(float64(t)/share))
	if !ok {
		return ""
	}
	e := stat.Effect{LogSD: r.Deviation, Rounds: MinRounds, Alpha: alpha(p, true)}
	needs := func(rounds int) string {
		return roughly(time.Duration(min(float64(rounds)*float64(c.Round)*share, float64(1000*time.Hour)))).String()
	}
	switch {
	case p.Until > 0 && w.HalfWidth > p.Until:
		return fmt.Sprintf("%s to ±%s is asked for, and this machine gives about ±%s in %v; %s might do",
			m.Short, precise(p.Until), precise(w.HalfWidth), roughly(t), needs(e.RoundsNeeded(p.Until)))
	case p.Until == 0 && p.Practical > 0 && w.Detectable > p.Practical:
		// An interval of a third of the difference finds it nearly always.
		return fmt.Sprintf("differences of less than %s in %s will probably stay undecided in %v, where %s matters; %s might do",
			precise(w.Detectable), m.Short, roughly(t), precise(p.Practical), needs(e.RoundsNeeded(p.Practical*2/3)))
	}
	return ""
}

// startTime is about what it takes to start a server and a driver.
const startTime = 200 * time.Millisecond

// planned is about how long a closed-loop plan takes at most.
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

// roughly rounds a time to what an estimate is worth.
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
