package broker

import (
	"strings"
	"sync"

	"wirelab"
)

// Together returns a function for a publisher to call with the answer of each of the n messages of a send, on any
// goroutine. The last call calls done: with an error if any answer was one, else with the last receipt.
func Together(n int, done func(Receipt, error)) func(Receipt, error) {
	if n == 1 {
		return done
	}
	var mu sync.Mutex // guards n and failed
	var failed error
	return func(r Receipt, err error) {
		mu.Lock()
		if err != nil {
			failed = err
		}
		n--
		over, failed := n == 0, failed
		mu.Unlock()
		if failed != nil {
			r = Receipt{}
		}
		if over {
			done(r, failed)
		}
	}
}

// ErrLost is the error of a send whose connection broke before the broker had answered: the messages may be stored
// or not. Sending them again may store them twice.
var ErrLost = wirelab.Errorf(wirelab.Unavailable, "the connection to the broker broke")

// ErrClosed is the error of a closed broker, and of publishers and subscribers made from it.
var ErrClosed = wirelab.Errorf(wirelab.Unavailable, "the connection was closed")

// ErrStuck returns the error of [Subscriber.Close] if its context ends before the handlers do.
func ErrStuck() error {
	return wirelab.Errorf(wirelab.DeadlineExceeded, "a handler did not return")
}

// The names of work queues: a topic of QueuePrefix and the name of the queue, read by group Consumers, and one of
// DeadPrefix for its dead letters, read by group Takers. RabbitMQ keeps them as plain queues instead of topics.
const (
	QueuePrefix = "wirelab-queue-"
	DeadPrefix  = "wirelab-dead-"
	Consumers   = "consumers"
	Takers      = "takers"
)

// IsQueue reports whether a topic is a work queue, or the dead letters of one.
func IsQueue(topic string) bool {
	return strings.HasPrefix(topic, QueuePrefix) || strings.HasPrefix(topic, DeadPrefix)
}
