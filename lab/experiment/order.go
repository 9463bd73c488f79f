package experiment

import (
	"math/rand/v2"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Orders returns the places at which the slices of a round ran, by arm and load, as drawn from the plan's seed: the
// Order of each trial. round counts from 0. out says for each arm whether it was out of the experiment by then; such an
// arm has no places. A round draws in this order: the seed of its requests, the order of starting, for each load the
// order of warming up, the order of the floors, and then its slices. A test compares this with the runner.
func Orders(p plan.Plan, round int, out []bool) [][][]int {
	c := Runner{Plan: p}
	r := c.seeded(round)
	r.Uint64()
	var arms []int
	places := make([][][]int, len(p.Arms))
	for a := range p.Arms {
		places[a] = make([][]int, len(p.Loads))
		if a >= len(out) || !out[a] {
			arms = append(arms, a)
		}
	}
	shuffle := func(r *rand.Rand) { r.Shuffle(len(arms), func(i, j int) { arms[i], arms[j] = arms[j], arms[i] }) }
	shuffle(r)
	for range r.Perm(len(p.Loads)) {
		shuffle(r)
	}
	if p.Floor == plan.FloorAuto {
		shuffle(r)
	}
	place := 0
	for range p.Slices {
		for _, l := range r.Perm(len(p.Loads)) {
			shuffle(r)
			r.Uint64()
			for _, a := range arms {
				places[a][l] = append(places[a][l], place)
				place++
			}
		}
	}
	return places
}

// OutBefore says for each arm whether it was out of the experiment when a round began (counted from 0): that is, after
// failuresInARow failures in a row.
func OutBefore(r *result.Result, round int) []bool {
	out, inARow := make([]bool, len(r.Plan.Arms)), make([]int, len(r.Plan.Arms))
	for _, done := range r.Rounds[:min(round, len(r.Rounds))] {
		failed := map[int]bool{}
		for _, f := range done.Failures {
			failed[f.Arm] = true
		}
		for a := range out {
			if !failed[a] {
				inARow[a] = 0
				continue
			}
			inARow[a]++
			out[a] = out[a] || inARow[a] >= failuresInARow
		}
	}
	return out
}
