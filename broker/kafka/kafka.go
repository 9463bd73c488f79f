// Package kafka drives a Kafka that somebody else runs as package broker asks of any
// broker: a topic has one partition, so that it has one order; a group is a consumer
// group that begins at the topic's beginning. It knows the brokers by their addresses.
//
// A producer is idempotent and waits for all replicas in sync. Whether they have a
// message on disk by then is the brokers' log.flush.interval.messages, which no client
// sees: what an acknowledgement promises is not known.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"wirelab"
	"wirelab/broker"
)

const (
	// pendingLimit is how many messages of a publisher may be unanswered; the next waits.
	pendingLimit = 8192
	// answerLimit is how long a message is tried.
	answerLimit = 10 * time.Second
	// unknownTries is how often a topic that no broker knows is asked for.
	unknownTries = 2
	// silence is how long a reader may be silent before its group goes on without it.
	silence = 6 * time.Second
	// pollLimit is how many messages a reader is handed at once, and then commits.
	pollLimit = 256
)

// Broker is a connection to a Kafka cluster.
type Broker struct {
	reach  broker.Reach
	client *kgo.Client
	admin  *kadm.Client
	about  string
}

var _ broker.Broker = (*Broker)(nil)

// Check returns what is wrong with a reach's variant, if anything.
func Check(r broker.Reach) error {
	if r.Variant != "" {
		return wirelab.Errorf(wirelab.Unimplemented, "Kafka keeps topics in one way, and not as %s; leave queue= out", r.Variant)
	}
	return nil
}

// Open connects to brokers, each host:port.
func Open(ctx context.Context, r broker.Reach) (*Broker, error) {
	r, err := r.Complete()
	if err != nil {
		return nil, err
	}
	if err := Check(r); err != nil {
		return nil, err
	}
	b := &Broker{reach: r}
	if b.client, err = b.dial(); err != nil {
		return nil, err
	}
	b.admin = kadm.NewClient(b.client)
	found, err := b.admin.BrokerMetadata(ctx)
	if err != nil {
		b.client.Close()
		return nil, coded(err)
	}
	b.reach.Copies = min(b.reach.Copies, len(found.Brokers))
	b.about = broker.About("Kafka", len(found.Brokers), "broker")
	return b, nil
}

func (b *Broker) dial(more ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(b.reach.Addresses...), kgo.Dialer(b.reach.Connect), kgo.UnknownTopicRetries(unknownTries),
	}, more...)...)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "Kafka: %v", err)
	}
	return client, nil
}

// Close implements [broker.Broker].
func (b *Broker) Close() error {
	b.client.Close()
	return nil
}

// About implements [broker.Broker].
func (b *Broker) About() string { return b.about }

// Make implements [broker.Broker]. Groups need no making: each begins at the beginning.
func (b *Broker) Make(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	made, err := b.admin.CreateTopic(ctx, 1, int16(b.reach.Copies), map[string]*string{"max.message.bytes": kadm.StringPtr(fmt.Sprint(broker.BatchBytes))}, t.Name)
	if err != nil {
		return coded(err)
	}
	return coded(made.Err)
}

// Remove implements [broker.Broker].
func (b *Broker) Remove(ctx context.Context, t broker.Topic) error {
	removed, err := b.admin.DeleteTopics(ctx, t.Name)
	if err == nil {
		err = removed[t.Name].Err
	}
	for _, group := range t.Groups {
		_, _ = b.admin.DeleteGroup(ctx, groupOf(t.Name, group)) // one that nobody read is not there
	}
	if err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return coded(err)
	}
	return nil
}

// groupOf is a consumer group's name: Kafka's are not a topic's own.
func groupOf(topic, group string) string { return topic + "." + group }

// coded gives the library's errors their codes.
func coded(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return wirelab.Public(err)
	case errors.Is(err, kerr.TopicAlreadyExists):
		return wirelab.Errorf(wirelab.Conflict, "Kafka: %v", err)
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return wirelab.Errorf(wirelab.NotFound, "Kafka: %v", err)
	case errors.Is(err, kgo.ErrRecordTimeout):
		return wirelab.Errorf(wirelab.DeadlineExceeded, "Kafka: %v", err)
	}
	return wirelab.Errorf(wirelab.Unavailable, "Kafka: %v", err)
}

// Publisher implements [broker.Broker].
func (b *Broker) Publisher(context.Context, int) (broker.Publisher, error) {
	client, err := b.dial(
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.MaxBufferedRecords(pendingLimit), kgo.RecordDeliveryTimeout(answerLimit),
		kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(broker.BatchBytes), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	if err != nil {
		return nil, err
	}
	return &publisher{client}, nil
}

// publisher publishes by a client of its own.
type publisher struct{ client *kgo.Client }

// Calls implements [broker.Publisher].
func (*publisher) Calls() bool { return false }

// Send implements [broker.Publisher].
func (p *publisher) Send(ctx context.Context, topic string, bodies [][]byte, done func(error)) {
	answer := broker.Together(len(bodies), done)
	for _, body := range bodies {
		p.client.Produce(ctx, &kgo.Record{Topic: topic, Value: body}, func(_ *kgo.Record, err error) { answer(coded(err)) })
	}
}

// Close implements [broker.Publisher].
func (p *publisher) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	_ = p.client.Flush(ctx) // what is not answered by then is told so by Close
	p.client.Close()
	return nil
}
