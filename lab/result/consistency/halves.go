package consistency

import (
	"time"

	"wirelab/lab/result"
)

// halves checks the halves of a trial against its whole.
func (c *consistency) halves(path string, t *result.Trial) {
	h := t.Halves
	if h == nil {
		return
	}
	c.notBelow(path+".halves.first.cpu", h.First.CPU)
	c.notBelow(path+".halves.second.cpu", h.Second.CPU)
	both := time.Duration(h.First.CPU) + time.Duration(h.Second.CPU)
	if t.Server == nil || both > time.Duration(t.Server.CPU) || h.First.Calls+h.Second.Calls > t.Calls() {
		c.add(path+".halves", "they are more than the whole")
	}
}
