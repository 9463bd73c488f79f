package drive

import (
	"context"
	"time"

	"wirelab/broker"
	"wirelab/lab/plan"
)

// reader takes a group's messages.
type reader interface {
	close(ctx context.Context) error
	failed() error
}

// readEarly reports whether readers are there from the first message on.
func readEarly(scenario string) bool { return scenario != plan.Disk && scenario != plan.Late }

// readAll has each group read that nobody reads yet.
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

// subscription is what an audience reads.
func (r *run) subscription(group int) broker.Subscription {
	topic := r.topics[group/r.load.Groups]
	s := broker.Subscription{Topic: topic.Name, Group: topic.Groups[group%r.load.Groups]}
	if r.load.Delay > 0 {
		// As many as a reader deals with in a second, so that what a broker holds
		// ready for a slow one stays small.
		s.Prefetch = max(1, min(broker.PrefetchUsual, int(time.Second/time.Duration(r.load.Delay))))
	}
	return s
}

// read has an audience read from within this process.
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

// inside is a reader in this process.
type inside struct{ broker.Subscriber }

func (i inside) close(ctx context.Context) error { return i.Close(ctx) }
func (i inside) failed() error                   { return i.Err() }

// sick is why one of the readers reads no more; nil while all do.
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
