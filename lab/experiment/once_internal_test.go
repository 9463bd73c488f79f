package experiment

import (
	"testing"

	"wirelab/lab/result"
)

// A round that is run again submits other entries than the discarded round stored.
func TestOnceIsUsedOnce(t *testing.T) {
	t.Parallel()
	seen := map[uint64]bool{}
	for number := range 3 {
		for arm := range 3 {
			for again := range 3 {
				w := &round{number: number, result: &result.Result{ID: "r", Remade: make([]result.Remade, again)}}
				once := w.once(&armRun{index: arm})
				if seen[once] {
					t.Errorf("round %d, arm %d, made again %d times: used before", number, arm, again)
				}
				seen[once] = true
			}
		}
	}
}
