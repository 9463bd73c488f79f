package broker

import (
	"sync"

	"wirelab"
)

// Together returns what a publisher calls with the answer of each of a send's n messages,
// from any goroutine. With the last it calls done: with an error, if there was any.
func Together(n int, done func(error)) func(error) {
	var mu sync.Mutex // guards n and failed
	var failed error
	return func(err error) {
		mu.Lock()
		if err != nil {
			failed = err
		}
		n--
		over, failed := n == 0, failed
		mu.Unlock()
		if over {
			done(failed)
		}
	}
}

// ErrStuck is what [Subscriber.Close] returns when its context ends before the handler.
func ErrStuck() error {
	return wirelab.Errorf(wirelab.DeadlineExceeded, "a handler did not return")
}
