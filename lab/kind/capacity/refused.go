package capacity

import (
	"slices"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// highestKept is the highest rate at which a search's probes kept the objective by their
// own figures, whether or not they can be trusted; 0: none did.
func highestKept(s *result.CapacitySearch, o Objective) (most float64) {
	for i := range s.Probes {
		if outcome, _ := kept(o, &s.Probes[i]); outcome == result.ProbePassed {
			most = max(most, s.Probes[i].Rate)
		}
	}
	return most
}

// refusedProbes are those of a search that were spoiled.
func refusedProbes(o Objective, s *result.CapacitySearch, all []Told) []claim.RefusedProbe {
	var found []claim.RefusedProbe
	for i, t := range all[:min(len(all), len(s.Probes))] {
		if t.Outcome == result.ProbeSpoiled {
			_, says := kept(o, &s.Probes[i])
			found = append(found, claim.RefusedProbe{Rate: s.Probes[i].Rate, Says: says, Why: t.Why})
		}
	}
	return found
}

// refuse takes an arm's figures out: it has no capacity, since replies were wrong or
// it was taken out.
func refuse(a *claim.ArmCapacity, values map[int]float64) {
	a.Closed = a.Closed.Refuse(a.Why)
	a.Rate = geometric(inRoundOrder(a.Rounds, values)).Refuse(a.Why)
	for i := range a.Rounds {
		r := &a.Rounds[i]
		if v, ok := r.Found.Value(); ok {
			if r.Refused == nil {
				r.Refused = &claim.RefusedSearch{}
			}
			r.Refused.Found = &claim.Refused{Value: v, Why: a.Why}
		}
		r.Found = claim.Found{Kind: claim.CapacityUnknown}
	}
}

// limitedAt gives an arm that the generator or the machine limited what its probes
// came to all the same: the highest rate that was kept, by rounds.
func limitedAt(a *claim.ArmCapacity, most []float64) {
	if a.Rate.Known || !a.Limited {
		return
	}
	most = slices.DeleteFunc(slices.Clone(most), func(v float64) bool { return v <= 0 })
	a.Rate = geometric(most).Refuse(a.Why)
}
