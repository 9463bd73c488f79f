// Package listener takes log entries from a message broker and passes each to a
// [Sink]: a logger behind a wire, or a store in the same process. It knows neither
// the brokers nor the wires: it gets them as [workqueue.Queues] and
// [logging.Service].
//
// # What it promises
//
//   - A message is acknowledged after its entry was stored, never before. If a
//     listener dies in between, the broker still has the message, and the id of the
//     entry makes the second delivery harmless.
//   - An unavailable logger does not count against a message. The listener keeps the
//     messages that it has and tries again, and takes no more from the broker than
//     its prefetch, so the backlog stays at the broker, on disk. No attempt is
//     counted.
//   - A message that can never be stored becomes a dead letter at once. One that
//     fails for another reason becomes a dead letter after the attempts of the
//     queue. Nothing is dropped, and nothing is stored that was not sent (ms-D05).
//   - It starts no goroutines. As many handlers run as the prefetch says (ms-D06).
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

// Sink stores an entry, or passes it to a store, and returns once it is stored. Any number of goroutines may call
// it. Its errors are coded.
type Sink func(ctx context.Context, entry logging.Entry) error

// Into returns the sink that passes entries to a logger: a stub of one behind a wire, or the service itself.
func Into(service logging.Service) Sink {
	return func(ctx context.Context, entry logging.Entry) error {
		_, err := service.WriteLog(ctx, entry)
		return err
	}
}

// Deadline is the default time limit of a sink for one entry, the same that every path of the pipeline gives a call
// (ms-M12).
const Deadline = 5 * time.Second

// The pauses before an unavailable logger is tried again: the first pause, which doubles up to the last. Each is
// drawn at random from its upper half, so that the handlers of many listeners do not return at the same moment.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// Options configure a listener.
type Options struct {
	Broker workqueue.Queues
	Queue  workqueue.Options // declared when the listener starts
	Sink   Sink
	// Journal records that a message was received, or that it can never be stored. The store records that an entry
	// was stored. nil: nothing is recorded.
	Journal *journal.Journal
	// Deadline is the time limit of a sink for one entry; 0: [Deadline].
	Deadline time.Duration
}

// Run listens until ctx ends, waits for the running handlers and returns nil. An unavailable broker or logger does
// not end it, even at the start.
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

// declare declares the queue. It retries until the broker is available or ctx ends.
func (l *listener) declare(ctx context.Context) error {
	for pause := firstPause; ctx.Err() == nil; pause = rest(ctx, pause) {
		if err := l.Broker.Declare(ctx, l.Queue); err == nil || !away(err) {
			return err
		}
	}
	return nil
}

// handle processes one message. The broker acts on its result.
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

// store passes an entry to the sink, and tries again for as long as the logger is unavailable. Until then the
// message is unacknowledged, so the prefetch stops the broker from sending more.
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

// away reports whether an error means that the peer is unavailable, so that the same message may succeed later.
// Canceled is included because a peer that stops cancels the calls that it is serving. Whether this listener was
// cancelled is checked by its own context.
func away(err error) bool {
	switch wirelab.CodeOf(err) {
	case wirelab.Unavailable, wirelab.DeadlineExceeded, wirelab.ResourceExhausted, wirelab.Canceled:
		return true
	}
	return false
}

// fatal reports whether a broker moves a message with this error to the dead letters at once; see package
// workqueue.
func fatal(err error) bool {
	code := wirelab.CodeOf(err)
	return code == wirelab.InvalidArgument || code == wirelab.Conflict
}
