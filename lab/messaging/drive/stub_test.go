package drive_test

import (
	"context"
	"sync/atomic"

	"wirelab"
	"wirelab/broker"
)

// crosses is a broker that puts the messages of every topic under the first topic.
type crosses struct{ broker.Broker }

type overtaking struct {
	broker.Publisher
	waits bool
}

func (c crosses) Publisher(ctx context.Context, o broker.PublisherConfig) (broker.Publisher, error) {
	p, err := c.Broker.Publisher(ctx, o)
	return overtaking{p, o.MaxInFlight > 1}, err
}

// Calls reports that the publisher does not wait for answers, if waits is set.
func (c overtaking) Calls() bool { return c.waits }

func (c overtaking) Send(ctx context.Context, topic string, batch []broker.Message, done func(broker.Receipt, error)) {
	c.Publisher.Send(ctx, topic[:len(topic)-1]+"a", batch, done)
}

// refuses is a broker that refuses every message once it is on.
type refuses struct {
	broker.Broker
	on atomic.Bool
}

type refusing struct {
	broker.Publisher
	broker *refuses
}

func (r *refuses) Publisher(ctx context.Context, o broker.PublisherConfig) (broker.Publisher, error) {
	p, err := r.Broker.Publisher(ctx, o)
	return refusing{p, r}, err
}

func (r refusing) Send(ctx context.Context, topic string, batch []broker.Message, done func(broker.Receipt, error)) {
	if r.broker.on.Load() {
		done(broker.Receipt{}, wirelab.Errorf(wirelab.Unavailable, "not now"))
		return
	}
	r.Publisher.Send(ctx, topic, batch, done)
}
