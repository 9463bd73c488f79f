package drive_test

import (
	"context"
	"sync/atomic"

	"wirelab"
	"wirelab/brokers"
)

// refuses is a broker that refuses what it is sent once it is on.
type refuses struct {
	brokers.Broker
	on atomic.Bool
}

type refusing struct {
	brokers.Publisher
	broker *refuses
}

func (r *refuses) Publisher(ctx context.Context, width int) (brokers.Publisher, error) {
	p, err := r.Broker.Publisher(ctx, width)
	return refusing{p, r}, err
}

func (r refusing) Send(ctx context.Context, topic string, bodies [][]byte, done func(error)) {
	if r.broker.on.Load() {
		done(wirelab.Errorf(wirelab.Unavailable, "not now"))
		return
	}
	r.Publisher.Send(ctx, topic, bodies, done)
}
