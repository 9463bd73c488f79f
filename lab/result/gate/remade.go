package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/words"
)

// Disturbed says what disturbed a round without any arm causing it. ok is false if nothing did. The limits are those
// by which the gates on the machine refuse an arm.
func Disturbed(r *result.Result, round *result.Round, m Manner) (found result.Remade, ok bool) {
	n := round.Noise
	for _, one := range []result.Remade{
		{Gate: result.Throttling, Value: micros(time.Duration(n.Throttled))},
		{Gate: result.Steal, Value: n.Steal, Limit: StealShare},
		{Gate: result.Neighbours, Value: n.Others, Limit: NeighbourLimit},
		{Gate: result.GeneratorWaits, Value: heldUp(r, round, m), Limit: waitShare},
	} {
		if one.Value > one.Limit {
			return one, true
		}
	}
	return result.Remade{}, false
}

// heldUp is the largest share of time in which others kept a driver of the round from its CPU.
func heldUp(r *result.Result, round *result.Round, m Manner) (most float64) {
	if m.Streamed { // what a reader waited for is not known apart
		return 0
	}
	cores := (&Subject{Result: r}).driverCores()
	for i := range round.Trials {
		t := &round.Trials[i]
		known := t.Load >= 0 && t.Load < len(r.Plan.Loads)
		if u := Used(t); known && cores > 0 && u != nil && u.Waited > 0 {
			most = max(most, foreignWait(r, t, cores))
		}
	}
	return most
}

// Words says why a round was repeated.
func Words(m *result.Remade) string {
	switch m.Gate {
	case result.Throttling:
		return "the quota of CPU was used up"
	case result.Steal:
		return "the hypervisor took " + words.Percent(m.Value) + " of the CPUs"
	case result.Neighbours:
		return "other processes used " + words.Percent(m.Value) + " of the CPUs"
	case result.GeneratorWaits:
		return "the generator waited " + words.Percent(m.Value) + " of the time for others to leave its CPU"
	}
	return string(m.Gate)
}

// RemadeWords says how many rounds were repeated, and the worst reason of each kind; "" if none was.
func RemadeWords(r *result.Result) string {
	if len(r.Remade) == 0 {
		return ""
	}
	var kinds []*result.Remade // the worst of each gate, in order of first occurrence
	for i := range r.Remade {
		m := &r.Remade[i]
		at := slices.IndexFunc(kinds, func(k *result.Remade) bool { return k.Gate == m.Gate })
		switch {
		case at < 0:
			kinds = append(kinds, m)
		case m.Value > kinds[at].Value:
			kinds[at] = m
		}
	}
	var why []string
	for _, m := range kinds {
		why = append(why, Words(m))
	}
	n, all := len(r.Remade), len(r.Remade)+len(r.Rounds)
	return fmt.Sprintf("%d of %d rounds %s repeated, before their figures were examined: %s",
		n, all, words.Choose(n == 1, "was", "were"), strings.Join(why, "; "))
}
