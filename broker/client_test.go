package broker_test

import (
	"errors"
	"sync"
	"testing"

	"wirelab/broker"
)

// A send of several messages is answered once, after the last answer, and fails if any of them failed.
func TestTogether(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	for name, failed := range map[string]int{"none fails": -1, "the first fails": 0, "the last fails": 99} {
		var answers []error // appended to by one goroutine only; the race detector would report another
		answer := broker.Together(100, func(_ broker.Receipt, err error) { answers = append(answers, err) })
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				if i == failed {
					answer(broker.Receipt{}, lost)
				} else {
					answer(broker.Receipt{}, nil)
				}
			})
		}
		all.Wait()
		if len(answers) != 1 || errors.Is(answers[0], lost) != (failed >= 0) {
			t.Errorf("%s: %v", name, answers)
		}
	}
}
