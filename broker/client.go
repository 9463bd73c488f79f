package broker

import (
	"strings"
	"sync"

	"wirelab"
)

// Together returns what a publisher calls with the answer of each of a send's n messages,
// from any goroutine. With the last it calls done: with an error, if there was any, or
// with the last receipt.
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

// ErrLost is what a send fails with whose connection broke before the broker had answered:
// the messages may be kept, or not. Who sends them again may have them twice.
var ErrLost = wirelab.Errorf(wirelab.Unavailable, "the connection to the broker broke")

// ErrClosed is what a closed broker, and what was made of it, answers.
var ErrClosed = wirelab.Errorf(wirelab.Unavailable, "the connection was closed")

// ErrStuck is what [Subscriber.Close] returns when its context ends before the handler.
func ErrStuck() error {
	return wirelab.Errorf(wirelab.DeadlineExceeded, "a handler did not return")
}

// The names of work queues: a topic of QueuePrefix and the queue's name, read by group
// Consumers, and one of DeadPrefix for its dead letters, read by group Takers. RabbitMQ
// keeps them as plain queues, and not as topics.
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
