package main

import (
	"context"
	"time"
)

// rival is a broker of three nodes that is measured.
type rival interface {
	Name() string
	Version() string
	// Syncs tells whether a message is on disk, fsync included, on a quorum of nodes
	// before it is acknowledged.
	Syncs() bool
	// PIDs are the nodes' processes, whose CPU is counted.
	PIDs() []int
	// Topic makes a topic, stream or queue of its own for one measurement.
	Topic(ctx context.Context) (topic, error)
	Stop(ctx context.Context) error
}

// topic is where messages go to and come from.
type topic interface {
	// Stream opens a publisher of which so many messages may be unacknowledged over so
	// many connections. acked is called for each, from any goroutine.
	Stream(ctx context.Context, s setting, acked func(error)) (publisher, error)
	// Callers opens publishers that wait for each acknowledgement.
	Callers(ctx context.Context, n int) ([]publisher, error)
	// Deliver gives what is published from now on to got, until stop is called. It
	// returns when nothing will be missed.
	Deliver(ctx context.Context, got func(payload []byte)) (stop func(), err error)
	// Remove removes the topic.
	Remove(ctx context.Context) error
}

// publisher publishes. Of a stream it returns once the message is on its way, and
// waits for room; of a caller when it is acknowledged.
type publisher interface {
	Publish(ctx context.Context, payload []byte) error
	Close()
}

// setting is how a stream is used.
type setting struct {
	Connections int `json:"connections"`
	Window      int `json:"window"` // messages unacknowledged, over all connections
}

// candidates are tried with each rival, and it is measured with its best.
func candidates() []setting {
	return []setting{{1, 1000}, {1, 4000}, {1, 16000}, {2, 4000}, {4, 4000}}
}

// patience is how long anything of a rival may take that is not measured.
const patience = 30 * time.Second
