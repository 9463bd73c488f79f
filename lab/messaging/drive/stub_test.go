package drive_test

import (
	"context"
	"sync/atomic"

	"wirelab"
	"wirelab/broker"
)

// crosses is a broker that takes the messages of every topic for the first one's.
type crosses struct{ broker.Broker }

type crossing struct {
	broker.Publisher
	waits bool
}

func (c crosses) Publisher(ctx context.Context, width int) (broker.Publisher, error) {
	p, err := c.Broker.Publisher(ctx, width)
	return crossing{p, width > 1}, err
}

// Calls makes a publisher of one at a time one that does not wait.
func (c crossing) Calls() bool { return c.waits }

func (c crossing) Send(ctx context.Context, topic string, bodies [][]byte, done func(error)) {
	c.Publisher.Send(ctx, topic[:len(topic)-1]+"a", bodies, done)
}

// refuses is a broker that refuses what it is sent once it is on.
type refuses struct {
	broker.Broker
	on atomic.Bool
}

type refusing struct {
	broker.Publisher
	broker *refuses
}

func (r *refuses) Publisher(ctx context.Context, width int) (broker.Publisher, error) {
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
