package cli

import (
	"sync"
	"time"
)

// silence is how long a program may say nothing, before it says what it waits for.
const silence = 2 * time.Second

// Waiting says on standard error what is waited for, once that takes longer than two seconds and then more and
// more rarely, until the function that it returns is called. most is when it is given up; 0: never.
func (t *Terminal) Waiting(what string, most time.Duration) (done func()) {
	over := make(chan struct{})
	var saying sync.WaitGroup
	saying.Go(func() {
		began, next := time.Now(), silence
		for {
			timer := time.NewTimer(time.Until(began.Add(next)))
			select {
			case <-over:
				timer.Stop()
				return
			case <-timer.C:
			}
			t.Note("%s", waited(what, next, most))
			next = min(3*next, next+time.Minute)
		}
	})
	return sync.OnceFunc(func() {
		close(over)
		saying.Wait() // so that nothing of it comes after what is said next
	})
}

// waited is the line: "waiting for an answer of 127.0.0.1:50051 (2s so far, at most 30s)".
func waited(what string, so, most time.Duration) string {
	if most > so {
		return "waiting for " + what + " (" + so.String() + " so far, at most " + most.String() + ")"
	}
	return "waiting for " + what + " (" + so.String() + " so far)"
}
