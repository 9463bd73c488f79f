package sim

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// operation is one call of a client on a topic.
type operation struct {
	topic uint32
	read  bool
	count uint64
}

// model is a topic as one caller alone would see it: a publish gets the next
// offset, a read says what that is. Which publishes took place without an answer is read
// from the log afterwards, so no operation is uncertain, and the state is a number.
var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		place := map[uint32]int{}
		for _, o := range history {
			topic := o.Input.(operation).topic
			at, ok := place[topic]
			if !ok {
				at = len(parts)
				place[topic] = at
				parts = append(parts, nil)
			}
			parts[at] = append(parts[at], o)
		}
		return parts
	},
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		next, op, said := state.(uint64), input.(operation), output.(uint64)
		return said == next, next + op.count
	},
}

// patience is of real time; a history of this size takes milliseconds.
const patience = 5 * time.Second

// linearizable: each publish and read took effect at one moment between its call
// and its answer.
func (j *judge) linearizable(history []porcupine.Operation) {
	if porcupine.CheckOperationsTimeout(model, history, patience) == porcupine.Illegal {
		j.world.fail("the history of publishes and reads is not linearizable (%d operations)", len(history))
	}
}
