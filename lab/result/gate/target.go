package gate

import (
	"fmt"

	"wirelab/lab/result/words"
)

// Reopened adds a note if an arm with a target opened connections during the measurement. Servers close idle
// connections, and an arm is idle while the others have their turns.
func (s *Subject) Reopened() {
	opened := uint64(0)
	for _, t := range s.Trials {
		opened += t.Connections
	}
	if opened == 0 || s.Result.TargetOf(s.Arm) == "" || s.Manner.Renewed {
		return
	}
	s.State.Notes = append(s.State.Notes,
		fmt.Sprintf("%s connections were opened while measuring: a server that closes idle connections "+
			"(its keep-alive or idle timeout) must keep them longer than its arm waits for the next slice; 300 s "+
			"are enough", words.Thousands(opened)))
}
