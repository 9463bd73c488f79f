// Package kafka implements package broker's Broker for a running Kafka: a topic has one partition, so that it has
// one order; a group is a consumer group that starts at the beginning of the topic. The package knows the brokers
// by their addresses.
//
// A producer is idempotent and waits for all in-sync replicas. Whether they have a message on disk by then depends
// on the brokers' log.flush.interval.messages, which no client sees: the promise of an acknowledgement is therefore
// unknown. Unconfirmed and transient messages are sent like others.
//
// Kafka has no acknowledgement of single messages of a group: the reader that has a message retries it with the
// handler, and the messages behind it are committed after it.
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
	// pendingLimit is how many messages of a publisher may be unanswered; the next one waits.
	pendingLimit = 8192
	// answerLimit is how long a message is retried.
	answerLimit = 10 * time.Second
	// unknownTries is how often a topic that no broker knows is looked up.
	unknownTries = 2
	// silence is how long a reader may be silent before its group continues without it.
	silence = 6 * time.Second
	// pollLimit is how many messages a reader takes at once, and then commits.
	pollLimit = 256
)

// Broker is a connection to a Kafka cluster.
type Broker struct {
	config broker.Config
	client *kgo.Client
	admin  *kadm.Client
	name   string
}

var _ broker.Broker = (*Broker)(nil)

// Check validates a variant.
func Check(c broker.Config) error {
	if c.Variant != "" {
		return wirelab.Errorf(wirelab.Unimplemented,
			"Kafka keeps topics in one way, and not as %s; leave queue= out", c.Variant)
	}
	return nil
}

// Open connects to brokers, each host:port.
func Open(ctx context.Context, c broker.Config) (*Broker, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	if err := Check(c); err != nil {
		return nil, err
	}
	b := &Broker{config: c}
	if b.client, err = b.dial(); err != nil {
		return nil, err
	}
	b.admin = kadm.NewClient(b.client)
	found, err := b.admin.BrokerMetadata(ctx)
	if err != nil {
		b.client.Close()
		return nil, coded(err)
	}
	b.config.Replicas = min(b.config.Replicas, len(found.Brokers))
	b.name = broker.NodesName("Kafka", len(found.Brokers), "broker")
	return b, nil
}

func (b *Broker) dial(more ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(b.config.Addresses...), kgo.Dialer(b.config.Connect), kgo.UnknownTopicRetries(unknownTries),
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

// Name implements [broker.Broker].
func (b *Broker) Name() string { return b.name }

// CreateTopic implements [broker.Broker]. Groups need not be created: each starts at the beginning.
func (b *Broker) CreateTopic(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if t.Kind != "" {
		return wirelab.Errorf(wirelab.Unimplemented, "Kafka keeps topics in one way, and not as %s", t.Kind)
	}
	most := kadm.StringPtr(fmt.Sprint(broker.BatchBytes))
	options := map[string]*string{"max.message.bytes": most}
	made, err := b.admin.CreateTopic(ctx, 1, int16(b.config.Replicas), options, t.Name)
	if t.IfAbsent && (errors.Is(err, kerr.TopicAlreadyExists) || errors.Is(made.Err, kerr.TopicAlreadyExists)) {
		return nil
	}
	if err != nil {
		return coded(err)
	}
	return coded(made.Err)
}

// DeleteTopic implements [broker.Broker].
func (b *Broker) DeleteTopic(ctx context.Context, t broker.Topic) error {
	removed, err := b.admin.DeleteTopics(ctx, t.Name)
	if err == nil {
		err = removed[t.Name].Err
	}
	for _, group := range t.Groups {
		_, _ = b.admin.DeleteGroup(ctx, groupOf(t.Name, group)) // a group that was never read does not exist
	}
	if err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return coded(err)
	}
	return nil
}

// groupOf returns the name of a consumer group, which in Kafka is not scoped to a topic.
func groupOf(topic, group string) string { return topic + "." + group }

// coded gives the errors of the library their codes.
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

// Depth implements [broker.Broker].
func (b *Broker) Depth(ctx context.Context, topic, group string) (int, error) {
	if err := b.exists(ctx, topic); err != nil {
		return 0, err
	}
	ends, err := b.admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return 0, coded(err)
	}
	end, _ := ends.Lookup(topic, 0)
	read, err := b.admin.FetchOffsets(ctx, groupOf(topic, group))
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return 0, coded(err)
	}
	at, _ := read.Lookup(topic, 0) // 0 for a group that has read nothing
	return int(end.Offset - max(at.At, 0)), nil
}

// exists returns NotFound for a missing topic.
func (b *Broker) exists(ctx context.Context, topic string) error {
	topics, err := b.admin.ListTopics(ctx, topic)
	if err == nil {
		err = topics[topic].Err
	}
	return coded(err)
}

// Publisher implements [broker.Broker].
func (b *Broker) Publisher(ctx context.Context, c broker.PublisherConfig) (broker.Publisher, error) {
	if c.Topic != "" {
		if err := b.exists(ctx, c.Topic); err != nil {
			return nil, err
		}
	}
	client, err := b.dial(
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.MaxBufferedRecords(pendingLimit),
		kgo.RecordDeliveryTimeout(answerLimit),
		kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(broker.BatchBytes),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	if err != nil {
		return nil, err
	}
	return &publisher{client}, nil
}

// publisher publishes with its own client.
type publisher struct{ client *kgo.Client }

// Calls implements [broker.Publisher].
func (*publisher) Calls() bool { return false }

// Send implements [broker.Publisher].
func (p *publisher) Send(ctx context.Context, topic string, batch []broker.Message, done func(broker.Receipt, error)) {
	answer := broker.Together(len(batch), done)
	for _, m := range batch {
		p.client.Produce(ctx, record(topic, m), func(_ *kgo.Record, err error) {
			if err != nil {
				answer(broker.Receipt{}, coded(err))
				return
			}
			answer(broker.Receipt{}, nil)
		})
	}
}

// record converts a message for Kafka: its id becomes the key.
func record(topic string, m broker.Message) *kgo.Record {
	r := &kgo.Record{Topic: topic, Value: m.Body}
	if m.ID != "" {
		r.Key = []byte(m.ID)
	}
	for name, value := range m.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	return r
}

// Away implements [broker.Publisher]: the library does not report it, and retries.
func (*publisher) Away() (<-chan struct{}, error) { return nil, nil }

// Close implements [broker.Publisher].
func (p *publisher) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	_ = p.client.Flush(ctx) // Close answers the sends that are left
	p.client.Close()
	return nil
}
