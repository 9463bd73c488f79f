package drive

import (
	"context"
	"time"

	"wirelab/broker"
	"wirelab/lab/plan"
)

// reader reads the messages of a group.
type reader interface {
	close(ctx context.Context) error
	failed() error
}

// readEarly reports whether the readers start before the first message.
func readEarly(scenario string) bool { return scenario != plan.Disk && scenario != plan.Late }

// readAll starts a reader for each group that has none.
func (r *run) readAll(ctx context.Context) error {
	for i := range r.readers {
		if r.reader(i) != nil {
			continue
		}
		read, err := r.read(ctx, i)
		if err != nil {
			return err
		}
		r.attach(i, read)
	}
	return nil
}

func (r *run) reader(group int) reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readers[group]
}

func (r *run) attach(group int, to reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers[group] = to
}

// subscription is what a group's reader subscribes to.
func (r *run) subscription(group int) broker.Subscription {
	topic := r.topics[group/r.load.Groups]
	s := broker.Subscription{Topic: topic.Name, Group: topic.Groups[group%r.load.Groups]}
	if r.load.Delay > 0 {
		// The prefetch is the number of messages that a reader handles in a second, so that the broker keeps few
		// messages ready for a slow reader.
		s.Prefetch = max(1, min(broker.PrefetchUsual, int(time.Second/time.Duration(r.load.Delay))))
	}
	return s
}

// read subscribes a group's reader within this process.
func (r *run) read(ctx context.Context, group int) (reader, error) {
	a, delay := r.ledger.ConsumerGroup(group), time.Duration(r.load.Delay)
	sub, err := r.broker.Subscribe(
		ctx,
		r.subscription(group),
		func(_ context.Context, d broker.Delivery) broker.Disposition {
			a.Arrived(d.Body, r.clock.Now())
			if delay > 0 {
				time.Sleep(delay)
			}
			return broker.Ack()
		},
	)
	if err != nil {
		return nil, err
	}
	return inside{sub}, nil
}

// inside is a reader within this process.
type inside struct{ broker.Subscriber }

func (i inside) close(ctx context.Context) error { return i.Close(ctx) }
func (i inside) failed() error                   { return i.Err() }

// sick returns why one of the readers has stopped reading, or nil if all still read.
func (r *run) sick() error {
	for i := range r.readers {
		if reader := r.reader(i); reader != nil {
			if err := reader.failed(); err != nil {
				return err
			}
		}
	}
	return nil
}
