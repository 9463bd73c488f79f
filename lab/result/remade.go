package result

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/plan"
)

// Remade is a round that counts for nothing, since the machine was not there for it: another was run in its place.
// What its arms did is kept, and nobody looked at it to decide. Only gates on the machine were asked, so that no
// round is made again for what came out of it.
type Remade struct {
	Place int `json:"place"` // of the round that it was to be, from 0
	// Gate failed: Value was read, where Limit is the most. Both are shares; of [Throttling], microseconds.
	Gate  Gate    `json:"gate"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Round Round   `json:"round"`
}

// RemadeMost is how many rounds of an experiment are made again at most: half as many as it has at least. A machine
// that needs more is no quiet one with a moment's noise, and its gates say so.
func RemadeMost(p plan.Plan) int { return (p.Rounds.Min + 1) / 2 }

// Disturbed tells what spoiled a round that is no arm's doing; ok is false where nothing did. The limits are those by
// which the gates on the machine refuse an arm.
func Disturbed(r *Result, round *Round) (found Remade, ok bool) {
	n := round.Noise
	for _, one := range []Remade{
		{Gate: Throttling, Value: micros(time.Duration(n.Throttled))},
		{Gate: Steal, Value: n.Steal, Limit: stealShare},
		{Gate: Neighbours, Value: n.Others, Limit: neighbourLimit},
		{Gate: GeneratorWaits, Value: heldUp(r, round), Limit: waitShare},
	} {
		if one.Value > one.Limit {
			return one, true
		}
	}
	return Remade{}, false
}

// heldUp is the largest share of the time in which others kept a driver of the round from its CPU.
func heldUp(r *Result, round *Round) (most float64) {
	cores := (&subject{result: r}).cores(r.Placement.DriverCPUs)
	for i := range round.Trials {
		t := &round.Trials[i]
		known := t.Load >= 0 && t.Load < len(r.Plan.Loads) && !r.Plan.Loads[t.Load].Streaming()
		if u := used(t); known && cores > 0 && u != nil && u.Waited > 0 {
			most = max(most, foreignWait(r, t, cores))
		}
	}
	return most
}

// remade checks that what was made again had to be, and no more of it than may be.
func (c *consistency) remade(r *Result) {
	if n, most := len(r.Remade), RemadeMost(r.Plan); n > most {
		c.add("remade", "%d rounds were made again, %d may be", n, most)
	}
	for i := range r.Remade {
		m, path := &r.Remade[i], fmt.Sprintf("remade[%d]", i)
		if m.Place < 0 || m.Place > len(r.Rounds) {
			c.add(path+".place", "%d, there are %d rounds", m.Place, len(r.Rounds))
		}
		if began := m.Round.Began; began.Before(r.Began) || began.After(r.Ended) {
			c.add(path+".began", "it is not between the beginning and the end")
		}
		c.round(r, path+".round", &m.Round)
		again, ok := Disturbed(r, &m.Round)
		if !ok || again.Gate != m.Gate || again.Value != m.Value || again.Limit != m.Limit {
			c.add(path, "%s, but by what the round recorded it is %s", m.words(), choose(ok, again.words(), "no reason"))
		}
	}
}

// words is why a round was made again.
func (m *Remade) words() string {
	switch m.Gate {
	case Throttling:
		return "the quota of CPU was used up"
	case Steal:
		return "the hypervisor took " + percent(m.Value) + " of the CPUs"
	case Neighbours:
		return "other processes used " + percent(m.Value) + " of the CPUs"
	case GeneratorWaits:
		return "the generator waited " + percent(m.Value) + " of the time for others to leave its CPU"
	}
	return string(m.Gate)
}

// RemadeWords says how many rounds were made again, of how many, and the worst reason of each kind; "" where none was.
func RemadeWords(r *Result) string {
	if len(r.Remade) == 0 {
		return ""
	}
	var kinds []*Remade // the worst of each gate, in the order in which they first came
	for i := range r.Remade {
		m := &r.Remade[i]
		at := slices.IndexFunc(kinds, func(k *Remade) bool { return k.Gate == m.Gate })
		switch {
		case at < 0:
			kinds = append(kinds, m)
		case m.Value > kinds[at].Value:
			kinds[at] = m
		}
	}
	var why []string
	for _, m := range kinds {
		why = append(why, m.words())
	}
	n, all := len(r.Remade), len(r.Remade)+len(r.Rounds)
	return fmt.Sprintf("%d of %d rounds %s made again, before anybody looked at their figures: %s",
		n, all, choose(n == 1, "was", "were"), strings.Join(why, "; "))
}
