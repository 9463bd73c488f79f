package capacity

import (
	"fmt"
	"math"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// CapacityRounds is how many rounds a claim about capacities needs. Their
// number is fixed beforehand, so that fewer will do than where an experiment
// may stop on what it sees ([claim.MinRounds]); but the sign-flip test, which must
// agree, needs six for two arms: see [stat.RoundsForFamily].
const CapacityRounds = 5

// Complete adds to the analysis of a result what its search for capacities found, in the place of loads: that of its
// plan is only where the search began. Of a result without a search it leaves the analysis alone.
func Complete(r *result.Result, all *claim.Analysis) {
	if r.Capacity == nil {
		return
	}
	found := Analyse(r)
	all.Capacity = &found
	all.Rounds, all.Requests = len(r.Capacity.Rounds), found.Requests
	all.Loads = all.Loads[:0]
}

// Analyse says what may be said of a result's capacities; r.Capacity
// must not be nil. Every probe is judged again and every search made again.
// It is pure, takes any result, and never panics.
func Analyse(r *result.Result) claim.CapacityAnalysis {
	c := r.Capacity
	o, err := ParseObjective(c.Objective)
	found := claim.CapacityAnalysis{Objective: c.Objective, Arms: []claim.ArmCapacity{}}
	arms := min(len(r.Plan.Arms), grid.LimitArms)
	values := make([]map[int]float64, arms) // by round
	for a := range arms {
		if err != nil {
			found.Arms = append(found.Arms,
				claim.ArmCapacity{
					Name: r.ArmName(a), Kind: claim.CapacityUnknown, Why: wirelab.Public(err).Message,
					Rounds: []claim.RoundFound{},
				})
			continue
		}
		arm, of := armCapacity(r, o, a)
		found.Arms, values[a] = append(found.Arms, arm), of
	}
	for _, round := range c.Rounds {
		for i := range round.Searches {
			for j := range round.Searches[i].Probes {
				found.Requests += round.Searches[i].Probes[j].Trial.OK
				found.Probes++
			}
		}
	}
	compareCapacities(r, found.Arms, values)
	return found
}

// armCapacity is what was found of one arm, and its value in each round that
// found one.
func armCapacity(r *result.Result, o Objective, a int) (claim.ArmCapacity, map[int]float64) {
	c := r.Capacity
	arm := claim.ArmCapacity{Name: r.ArmName(a), Kind: claim.CapacityUnknown, Rounds: []claim.RoundFound{}}
	values := map[int]float64{}
	var closed, most []float64
	wrong := uint64(0)
	for n := range c.Rounds {
		for i := range c.Rounds[n].Searches {
			s := &c.Rounds[n].Searches[i]
			if s.Arm != a {
				continue
			}
			f, told, flaw := Again(c, r, o, s)
			if flaw != "" {
				f.Kind = claim.CapacityUnknown
			}
			of := claim.RoundFound{Round: n + 1, Found: f, Probes: len(s.Probes), Why: flaw}
			if probes := refusedProbes(o, s, told); len(probes) > 0 {
				of.Refused = &claim.RefusedSearch{Probes: probes}
			}
			most = append(most, highestKept(s, o))
			for j := range s.Probes {
				wrong += s.Probes[j].Trial.Errors[result.WrongReply]
				if j < len(told) && told[j].Outcome == result.ProbeSpoiled {
					of.Spoiled++
				}
			}
			if of.Why == "" {
				of.Why, of.Machine = lastRefused(s, told, f.High)
			}
			wrong += s.Closed.Errors[result.WrongReply]
			arm.Rounds = append(arm.Rounds, of)
			if v, ok := f.Value(); ok {
				values[n] = v
			}
			if v := closedRate(s); v > 0 {
				closed = append(closed, v)
			}
			break
		}
	}
	arm.Closed = geometric(closed)
	arm.Notes = gate.Failures(a, len(c.Rounds), func(round int) []result.Failure { return c.Rounds[round].Failures })
	switch out := r.Out(a); {
	case wrong > 0:
		arm.Why = fmt.Sprintf("%s replies were wrong: such an arm has no capacity", words.Thousands(wrong))
	case out != "":
		arm.Why = "taken out: " + out
	default:
		conclude(&arm, values)
		limitedAt(&arm, most)
		return arm, values
	}
	refuse(&arm, values)
	return arm, nil
}

// conclude says of an arm what its rounds say together: a number only if
// every round has one, a bound only if every round keeps it.
func conclude(a *claim.ArmCapacity, values map[int]float64) {
	if len(a.Rounds) == 0 {
		a.Why = "no round is complete"
		return
	}
	count := map[claim.FoundKind]int{}
	least, below := math.Inf(1), 0.0
	limited, why, machine := 0, "", false
	for _, r := range a.Rounds {
		count[r.Found.Kind]++
		if r.Found.Low > 0 {
			least = min(least, r.Found.Low)
		}
		below = max(below, r.Found.High)
		if r.Found.Limited {
			limited++
		}
		if r.Found.Kind != claim.CapacityFound && why == "" {
			why, machine = r.Why, r.Machine
		}
	}
	all, found := len(a.Rounds), count[claim.CapacityFound]
	switch {
	case found == all:
		a.Kind = claim.CapacityFound
		a.Rate = geometric(inRoundOrder(a.Rounds, values))
		widen(&a.Rate)
	case found+count[claim.CapacityAtLeast] == all:
		a.Kind, a.Bound, a.Limited = claim.CapacityAtLeast, least, limited > 0
		a.Why = "it passes at every rate that was tried"
		if a.Limited {
			a.Machine = machine
			a.Why = limit(a) + ": higher rates could not be judged, " + why
		}
		if found > 0 {
			a.Why += fmt.Sprintf(" (so in %d of %d rounds; the others found one)", count[claim.CapacityAtLeast], all)
		}
	case found+count[claim.CapacityBelow] == all:
		a.Kind, a.Bound = claim.CapacityBelow, below
		a.Why = fmt.Sprintf("it fails at the lowest rate that was tried, in %s: %s",
			ofRounds(count[claim.CapacityBelow], all), why)
	case limited > 0 && count[claim.CapacityBelow] == 0:
		a.Limited, a.Machine = true, machine
		a.Why = limit(a) + ": no rate could be judged, " + why
	default:
		a.Why = fmt.Sprintf("the rounds do not agree: of %d, %d found one, %d a least, %d none that passes, %d nothing",
			all, found, count[claim.CapacityAtLeast], count[claim.CapacityBelow], count[claim.CapacityUnknown])
		if why != "" {
			a.Why += "; " + why
		}
	}
}

// limit says in a word what kept a capacity from being found.
func limit(a *claim.ArmCapacity) string {
	if a.Machine {
		return "machine not fit"
	}
	return "generator-limited"
}

func ofRounds(n, all int) string {
	if n == all {
		return "every round"
	}
	return fmt.Sprintf("%d of %d rounds", n, all)
}

func inRoundOrder(rounds []claim.RoundFound, values map[int]float64) []float64 {
	var all []float64
	for _, r := range rounds {
		if v, ok := values[r.Round-1]; ok {
			all = append(all, v)
		}
	}
	return all
}

// geometric is the mean of rates, with an interval from two on.
func geometric(values []float64) claim.Estimate {
	switch e, err := stat.GeometricMean(values, stat.DefaultAlpha); {
	case err == nil:
		return claim.Estimate{Known: true, Value: e.Value, Low: e.Low, High: e.High, Rounds: e.Rounds}
	case len(values) == 1:
		return claim.Estimate{Known: true, Value: values[0], Rounds: 1}
	}
	return claim.Estimate{Why: "not measured"}
}

// halfStep is half of the search's resolution, as a factor.
func halfStep() float64 { return math.Sqrt(1 + SearchStep) }

// widen makes an interval no narrower than what the search tells apart.
func widen(e *claim.Estimate) {
	if e.Interval() {
		e.Low, e.High = min(e.Low, e.Value/halfStep()), max(e.High, e.Value*halfStep())
	}
}

// compareCapacities compares each arm with the first, in the rounds that found both.
func compareCapacities(r *result.Result, arms []claim.ArmCapacity, values []map[int]float64) {
	var family []effect.Judged
	by := stat.Rule{
		Direction: stat.HigherIsBetter, Practical: SearchStep,
		Epsilon: effect.Rule(r.Plan, metric.Metric{}).Epsilon,
	}
	for a := 1; a < len(arms); a++ {
		if arms[0].Kind != claim.CapacityFound || arms[a].Kind != claim.CapacityFound {
			continue
		}
		var x, y []float64
		for n := range r.Capacity.Rounds {
			v, okFirst := values[0][n]
			w, okThis := values[a][n]
			if okFirst && okThis {
				x, y = append(x, v), append(y, w)
			}
		}
		e, err := stat.PairedRatio(x, y, stat.DefaultAlpha)
		if err != nil {
			few := effect.TooFew(len(x), CapacityRounds)
			arms[a].Difference = few
			continue
		}
		// Known to within what the search tells apart, and so never exactly.
		e.Exact = false
		d := &claim.Difference{
			Known: true, Ratio: e.Ratio, Low: e.Low, High: e.High, Rounds: e.Rounds, P: e.JointP(),
			Effect: e, Least: CapacityRounds,
		}
		d.Low, d.High = min(d.Low, d.Ratio/halfStep()), max(d.High, d.Ratio*halfStep())
		arms[a].Difference = d
		family = append(family, effect.Judged{Difference: d, Rule: by})
	}
	effect.Adjust(family, stat.Holm, len(family))
}
