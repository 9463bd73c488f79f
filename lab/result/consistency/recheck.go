package consistency

import (
	"fmt"
	"slices"

	"wirelab"
	"wirelab/lab/kind/capacity"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// capacity checks what a search cannot have measured, and repeats its decisions: every probe is judged, and every
// next rate is chosen again.
func (c *consistency) capacity(r *result.Result) {
	found := r.Capacity
	o, err := capacity.ParseObjective(found.Objective)
	if err != nil {
		c.add("capacity.objective", "%s", wirelab.Public(err).Message)
		return
	}
	if len(r.Rounds) > 0 {
		c.add("rounds", "a search keeps its rounds elsewhere, and none here")
	}
	if len(r.Plan.Loads) != 1 || r.Plan.Loads[0].Open() {
		c.add("plan.loads", "a search begins from one closed loop")
		return
	}
	switch n := len(found.Rounds); {
	case r.Ended.Before(r.Began):
		c.add("ended", "it ended before it began")
	case r.Ending == result.RoundsDone && n < r.Plan.Rounds.Min:
		c.add("ending", "%q after %d rounds, the plan asks for %d", r.Ending, n, r.Plan.Rounds.Min)
	case r.Ending != result.RoundsDone && r.Ending != result.Interrupted && r.Ending != result.Failed:
		c.add("ending", "a search has no ending %q", r.Ending)
	}
	last := r.Began
	for n := range found.Rounds {
		path := fmt.Sprintf("capacity.rounds[%d]", n)
		if began := found.Rounds[n].Began; began.Before(last) || began.After(r.Ended) {
			c.add(path+".began", "it is out of order: not between what came before and the end")
		} else {
			last = began
		}
		c.searches(r, o, path, &found.Rounds[n])
	}
}

func (c *consistency) searches(r *result.Result, o capacity.Objective, path string, round *result.CapacityRound) {
	seen, failed := map[int]bool{}, map[int]bool{}
	for _, f := range round.Failures {
		failed[f.Arm] = true
	}
	var places []int
	for i := range round.Searches {
		s, path := &round.Searches[i], fmt.Sprintf("%s.searches[%d]", path, i)
		switch {
		case s.Arm < 0 || s.Arm >= len(r.Plan.Arms):
			c.add(path+".arm", "%d, the plan has %d arms", s.Arm, len(r.Plan.Arms))
			continue
		case seen[s.Arm]:
			c.add(path, "a second search of arm %d in the round", s.Arm)
		case failed[s.Arm]:
			c.add(path, "the round has a failure of arm %d, and so no search of it", s.Arm)
		}
		seen[s.Arm] = true
		c.trial(r, path+".closed", &s.Closed)
		places = append(places, s.Closed.Order...)
		_, told, wrong := capacity.Again(r.Capacity, r, o, s)
		for j := range s.Probes {
			places = append(places, s.Probes[j].Place)
			path := fmt.Sprintf("%s.probes[%d]", path, j)
			c.probe(r, path, &s.Probes[j])
			if j < len(told) {
				c.outcome(path, &s.Probes[j], told[j])
			}
		}
		if wrong != "" {
			c.add(path, "the search would have gone another way: %s", wrong)
		}
	}
	slices.Sort(places)
	if len(slices.Compact(slices.Clone(places))) != len(places) {
		c.add(path, "two probes ran at the same place")
	}
}

func (c *consistency) probe(r *result.Result, path string, p *result.Probe) {
	c.counts(path+".trial", &p.Trial)
	c.spent(path+".trial", &p.Trial)
	c.noise(path+".noise", &p.Noise)
	if len(p.Parts) != r.Capacity.Parts {
		c.add(path+".parts", "%d, the search has %d", len(p.Parts), r.Capacity.Parts)
	}
	all := &stat.Histogram{}
	for _, h := range p.Parts {
		all.Merge(h)
	}
	if !slices.Equal(all.Buckets(), p.Trial.Response.Buckets()) {
		c.add(path+".parts", "together they are not the response times of the probe")
	}
}

// outcome checks the recorded judgement of a probe.
func (c *consistency) outcome(path string, p *result.Probe, again capacity.Told) {
	if again.Outcome != p.Outcome {
		c.add(path+".outcome", "%q, but computed again it is %q: %s", p.Outcome, again.Outcome, again.Why)
	} else if again.Why != p.Why {
		c.add(path+".why", "%q, but computed again it is %q", p.Why, again.Why)
	}
}
