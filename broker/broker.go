// Package broker is what a load asks of a message broker, of whatever make: that
// it takes messages under a topic, keeps them, and hands them to every group that
// reads the topic. A folder here does it with each broker; brokertest holds them
// to what is said here. It knows no scenario, counts nothing and starts no broker.
//
// # The contract
//
//   - Once [Broker.Make] has returned, every message acknowledged under the topic
//     is kept for each of its groups until that group has dealt with it, whether
//     somebody reads or not, and unless [Reach.Brief] whatever node is killed.
//   - A publisher's word comes when the broker has acknowledged all messages of a
//     send, by the [Durability] that the broker was opened with, or when it has not
//     and nobody knows what became of them.
//   - Messages that one publisher of calls sends one after the other, or that one
//     which does not wait is handed in turn, reach a group in that order, as long as
//     nothing fails.
//   - A subscriber is given a group's messages one at a time, and has dealt with one
//     when its handler returns true: what it was given and has not dealt with when it
//     ends, or its process dies, is given to the group again, in whatever order.
//   - A broker that goes away ends nothing: sends fail, or wait for their context,
//     and subscribers go on when it is back.
package broker

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"wirelab"
)

// Reach says where a broker is and how it is to be used.
type Reach struct {
	// Addresses are those of its nodes, host:port.
	Addresses []string
	// Copies is how many nodes are to keep each message. 0: as many as there are
	// addresses, at most 3.
	Copies int
	// Durability is what an acknowledgement is to promise. "": [Synced].
	Durability Durability
	// Variant chooses among the ways in which this broker keeps a topic; "" is the
	// safest. [wirelab.Unimplemented] where it has no such.
	Variant string
	// Brief says that no node is going to be killed: Make need not wait until a topic that
	// it made would outlive that.
	Brief bool
	// Connect opens connections, and is where bytes are counted. nil: net.Dialer.
	Connect func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
}

// Durability is what a broker promises by an acknowledgement.
type Durability string

// The durabilities.
const (
	// Synced: each of a quorum of the copies brought the message to its disk first.
	Synced Durability = "fsync"
	// AsShipped: whatever the broker promises with its default settings.
	AsShipped Durability = "default"
)

// Durabilities are both, as they are typed.
func Durabilities() []string { return []string{string(Synced), string(AsShipped)} }

// copiesUsual is how many copies a topic has where there are nodes enough.
const copiesUsual = 3

// Complete returns r with its defaults, or InvalidArgument.
func (r Reach) Complete() (Reach, error) {
	if len(r.Addresses) == 0 {
		return r, wirelab.Errorf(wirelab.InvalidArgument, "no address of a broker; name one as host:port")
	}
	if r.Copies == 0 {
		r.Copies = min(copiesUsual, len(r.Addresses))
	}
	if r.Durability == "" {
		r.Durability = Synced
	}
	if r.Connect == nil {
		var plain net.Dialer
		r.Connect = plain.DialContext
	}
	if r.Durability != Synced && r.Durability != AsShipped {
		return r, wirelab.UnknownName("durability", string(r.Durability), Durabilities())
	}
	return r, nil
}

// The bounds of the contract.
const (
	BodyLimit   = 1 << 20 // bytes of a message
	BatchLimit  = 1_000   // messages of one send
	BatchBytes  = 3 << 20 // bytes of one send
	GroupsLimit = 64      // of a topic
	NameLimit   = 64      // bytes of a topic's or a group's name: A-Z a-z 0-9 _ -
)

// Topic is what messages are sent under.
type Topic struct {
	Name   string
	Groups []string // those that read it; each gets every message
}

// Validate returns InvalidArgument for names outside the contract.
func (t Topic) Validate() error {
	for _, name := range append([]string{t.Name}, t.Groups...) {
		if name == "" || len(name) > NameLimit || strings.Trim(name, nameBytes) != "" {
			return wirelab.Errorf(wirelab.InvalidArgument, "name %.80q is not 1 to %d of A-Z a-z 0-9 _ -", name, NameLimit)
		}
	}
	if len(t.Groups) > GroupsLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "%d groups of a topic; at most %d", len(t.Groups), GroupsLimit)
	}
	return nil
}

const nameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// Broker is a connection to a message broker. It is for any number of goroutines.
type Broker interface {
	io.Closer
	// About names the broker, with its version where the broker tells it: "NATS JetStream
	// 2.15.2", "Hermes, 3 nodes".
	About() string
	// Make makes a topic and its groups, empty. One that is there is Conflict.
	Make(ctx context.Context, t Topic) error
	// Remove removes a topic with all it holds; one that is not there is no error.
	Remove(ctx context.Context, t Topic) error
	// Publisher returns a publisher with a connection of its own where the broker
	// has such, for at most so many sends at once.
	Publisher(ctx context.Context, width int) (Publisher, error)
	// Subscribe gives the group's messages to handle, one at a time, until the
	// subscriber is closed. It returns once the broker has registered it. A body is
	// handle's until that returns, true if it has dealt with the message; if not, it
	// is given nothing more.
	Subscribe(ctx context.Context, s Subscription, handle func(body []byte) bool) (Subscriber, error)
}

// About names a cluster whose broker tells no version: "Hermes, 3 nodes", "Kafka, 1 broker".
func About(broker string, members int, member string) string {
	if members != 1 {
		member += "s"
	}
	return fmt.Sprintf("%s, %d %s", broker, members, member)
}

// Subscription says what is read.
type Subscription struct {
	Topic, Group string
	// Prefetch is how many messages may be with the subscriber, not dealt with.
	// 0: [PrefetchUsual].
	Prefetch int
}

// PrefetchUsual is how many messages a subscriber is given ahead.
const PrefetchUsual = 1024

// Ahead is Prefetch with its default.
func (s Subscription) Ahead() int {
	if s.Prefetch > 0 {
		return s.Prefetch
	}
	return PrefetchUsual
}

// Publisher sends messages.
type Publisher interface {
	io.Closer
	// Calls reports whether a send waits for its acknowledgement, as a call does: up
	// to the publisher's width may then be under way, from as many goroutines.
	// Otherwise one goroutine sends, which waits only for room.
	Calls() bool
	// Send hands over messages of one topic, and calls done once, when all are
	// acknowledged or that will not be known; from any goroutine, which done must not
	// block, and perhaps before Send returns. Bodies belong to the publisher from then on.
	Send(ctx context.Context, topic string, bodies [][]byte, done func(error))
}

// Subscriber is a subscription under way.
type Subscriber interface {
	// Close ends it, having waited for the handler: what that dealt with is dealt
	// with for good if the broker can be told before ctx ends.
	Close(ctx context.Context) error
	// Failed is why nothing is given any more, though nobody closed it; nil while all is well.
	Failed() error
}
