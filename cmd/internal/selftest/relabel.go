package selftest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
)

// Tally counts the outcomes of many comparisons of one metric under one load.
type Tally struct {
	Load, Metric string
	Primary      bool
	// Made is how many comparisons had a difference to judge. Claimed were called better or worse. Suspect had p <
	// 0.05 before the correction for multiple comparisons.
	Made, Claimed, Suspect, Equivalent int
}

// False is the share of claims.
func (t *Tally) False() float64 { return float64(t.Claimed) / float64(max(t.Made, 1)) }

// Relabel makes comparisons from an A/A experiment, whose arms a and b are equal. Each comparison takes some of the
// rounds, and swaps the two names in each round or not, by a coin flip. So every difference that it finds is false.
// The coin flips are independent, and so are the comparisons, whatever is in the rounds.
func Relabel(r *result.Result, a, b, comparisons, rounds int, random *rand.Rand) ([]*Tally, error) {
	switch {
	case a == b || max(a, b) >= len(r.Arms) || min(a, b) < 0 || r.Plan.Arms[a].Protocol != r.Plan.Arms[b].Protocol:
		return nil, fmt.Errorf("arms %d and %d are not two equal ones", a, b)
	case rounds < 2 || len(r.Rounds) < rounds:
		return nil, fmt.Errorf("%d rounds allow no choice of %d", len(r.Rounds), rounds)
	}
	var all []*Tally
	of := map[[2]string]*Tally{}
	for range comparisons {
		c := pick(r, a, b, chosen(len(r.Rounds), rounds, random), random)
		for _, load := range analyse.Result(c).Loads {
			for _, row := range load.Rows {
				d := row.Cells[1].Difference
				if d == nil || !d.Known {
					continue
				}
				key := [2]string{load.Name, row.Metric}
				if of[key] == nil {
					of[key] = &Tally{Load: load.Name, Metric: row.Metric, Primary: row.Primary}
					all = append(all, of[key])
				}
				of[key].count(d)
			}
		}
	}
	return all, nil
}

func (t *Tally) count(d *claim.Difference) {
	t.Made++
	if d.P < 0.05 && !d.Exact {
		t.Suspect++
	}
	switch d.Verdict {
	case claim.Better, claim.Worse:
		t.Claimed++
	case claim.Equivalent:
		t.Equivalent++
	default: // undecided
	}
}

// chosen returns some of n rounds, in the order in which they ran.
func chosen(n, some int, random *rand.Rand) []int {
	all := random.Perm(n)[:some]
	slices.Sort(all)
	return all
}

// pick returns the result of only arms a and b, as its first and second, in the given rounds. With random, the two
// swap names in half of the rounds.
func pick(r *result.Result, a, b int, rounds []int, random *rand.Rand) *result.Result {
	c := *r
	c.Plan.Arms = []plan.Arm{r.Plan.Arms[a], r.Plan.Arms[b]}
	c.Arms = []result.Arm{r.Arms[a], r.Arms[b]}
	c.Rounds = make([]result.Round, 0, len(rounds))
	for _, i := range rounds {
		first, second := a, b
		if random != nil && random.IntN(2) == 1 {
			first, second = b, a
		}
		place := map[int]int{first: 0, second: 1}
		round := r.Rounds[i]
		round.Trials, round.Failures = nil, nil
		for _, t := range r.Rounds[i].Trials {
			if at, ok := place[t.Arm]; ok {
				t.Arm = at
				round.Trials = append(round.Trials, t)
			}
		}
		for _, f := range r.Rounds[i].Failures {
			if at, ok := place[f.Arm]; ok {
				f.Arm = at
				round.Failures = append(round.Failures, f)
			}
		}
		c.Rounds = append(c.Rounds, round)
	}
	return &c
}
