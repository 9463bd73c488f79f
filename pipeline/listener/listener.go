// Package listener takes log entries from a message broker and hands each to a
// [Sink]: a logger behind a wire, or one it stores with itself. It knows neither
// the brokers nor the wires: they come as [workqueue.Queues] and [logging.Service].
//
// # What it promises
//
//   - A message is acknowledged once its entry was stored, and no sooner: a
//     listener that dies in between leaves it with the broker, and the entry's id
//     makes the second time harmless.
//   - A logger that is away is nobody's fault but its own. The listener holds what
//     it has, asks again, and takes no more from the broker than its prefetch: the
//     backlog stays where it is kept on disk. No attempt is counted for it.
//   - A message that can never be stored goes to the dead letters at once, one that
//     fails for another reason after the queue's attempts; nothing is dropped, and
//     nothing is stored that was not sent (ms-D05).
//   - It has no goroutine of its own; as many handlers run as the prefetch says (ms-D06).
package listener

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/message"
	"wirelab/workload/logging"
)

// Sink stores an entry, or has it stored, and returns once it is. Any number of
// goroutines may call it. Its errors are coded.
type Sink func(ctx context.Context, entry logging.Entry) error

// Into is the sink that hands entries to a logger: a stub of one behind a wire, or the service itself.
func Into(service logging.Service) Sink {
	return func(ctx context.Context, entry logging.Entry) error {
		_, err := service.WriteLog(ctx, entry)
		return err
	}
}

// Deadline is how long a sink has for one entry unless told otherwise: what
// every path of the pipeline gives a call (ms-M12).
const Deadline = 5 * time.Second

// The pauses before a logger that was away is asked again: the first, which is
// doubled until it is the last; each is drawn from its upper half, so that the
// handlers of many listeners do not come back as one.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// Options say how to listen.
type Options struct {
	Broker workqueue.Queues
	Queue  workqueue.Options // declared when the listener starts
	Sink   Sink
	// Journal is where it is noted that a message came, or can never be stored;
	// that it was stored notes who stores it. nil: nowhere.
	Journal *journal.Journal
	// Deadline is how long a sink has for one entry; 0: [Deadline].
	Deadline time.Duration
}

// Run listens until ctx ends, which is no error, having waited for the handlers
// that run. A broker or a logger that is away, at the start too, does not end it.
func Run(ctx context.Context, o Options) error {
	if o.Deadline <= 0 {
		o.Deadline = Deadline
	}
	l := &listener{o}
	if err := l.declare(ctx); err != nil {
		return fmt.Errorf("queue %s: %w", o.Queue.Name, err)
	}
	err := o.Broker.Consume(ctx, o.Queue, l.handle)
	if err == nil && ctx.Err() == nil {
		return wirelab.Errorf(wirelab.Internal, "queue %s: the broker gave up consuming without a reason", o.Queue.Name)
	}
	return err
}

type listener struct{ Options }

// declare makes the queue, as soon as there is a broker to make it, or ctx ends.
func (l *listener) declare(ctx context.Context) error {
	for pause := firstPause; ctx.Err() == nil; pause = rest(ctx, pause) {
		if err := l.Broker.Declare(ctx, l.Queue); err == nil || !away(err) {
			return err
		}
	}
	return nil
}

// handle deals with one message. What it returns is the broker's to act upon.
func (l *listener) handle(ctx context.Context, d workqueue.Delivery) error {
	l.Journal.Note(d.ID, journal.Received, time.Now())
	entry, err := message.Decode(d.Message)
	if err == nil {
		err = l.store(ctx, entry)
	}
	if err != nil && fatal(err) {
		l.Journal.Note(d.ID, journal.Failed, time.Now())
	}
	return err
}

// store hands an entry to the sink for as long as that is away. The message
// stays unacknowledged meanwhile, which is what holds the broker back.
func (l *listener) store(ctx context.Context, entry logging.Entry) error {
	for pause := firstPause; ; {
		err := l.try(ctx, entry)
		if err == nil || !away(err) || ctx.Err() != nil {
			return err
		}
		if pause = rest(ctx, pause); ctx.Err() != nil {
			return err
		}
	}
}

func (l *listener) try(ctx context.Context, entry logging.Entry) error {
	ctx, cancel := context.WithTimeout(ctx, l.Deadline)
	defer cancel()
	return l.Sink(ctx, entry)
}

// rest waits before the next try, or until ctx ends, and returns the pause after it.
func rest(ctx context.Context, pause time.Duration) time.Duration {
	timer := time.NewTimer(pause/2 + rand.N(pause/2))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return min(2*pause, lastPause)
}

// away reports whether an error tells of a peer and nothing of the message: the
// same message may pass a little later. Canceled is here because a peer that
// stops cancels the calls that it holds; whether we were is asked of our context.
func away(err error) bool {
	switch wirelab.CodeOf(err) {
	case wirelab.Unavailable, wirelab.DeadlineExceeded, wirelab.ResourceExhausted, wirelab.Canceled:
		return true
	}
	return false
}

// fatal reports whether a broker puts a message that failed so with the dead
// letters at once; see package workqueue.
func fatal(err error) bool {
	code := wirelab.CodeOf(err)
	return code == wirelab.InvalidArgument || code == wirelab.Conflict
}
