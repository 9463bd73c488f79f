package consistency

import (
	"fmt"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/words"
)

// remade checks that repeated rounds had to be repeated, and that there are no more of them than allowed.
func (c *consistency) remade(r *result.Result) {
	if n, most := len(r.Remade), result.RemadeMost(r.Plan); n > most {
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
		again, ok := gate.Disturbed(r, &m.Round, kinds.OfPlan(r.Plan).Manner)
		if !ok || again.Gate != m.Gate || again.Value != m.Value || again.Limit != m.Limit {
			c.add(path, "%s, but by what the round recorded it is %s", gate.Words(m),
				words.Choose(ok, gate.Words(&again), "no reason"))
		}
	}
}
