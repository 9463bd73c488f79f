package kafka

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"wirelab"
	"wirelab/broker"
)

// Subscribe implements [broker.Broker]. It returns once the group has given the
// reader the topic.
func (b *Broker) Subscribe(ctx context.Context, s broker.Subscription, handle func([]byte) bool) (broker.Subscriber, error) {
	topics, err := b.admin.ListTopics(ctx, s.Topic)
	if err == nil {
		err = topics[s.Topic].Err
	}
	if err != nil {
		return nil, coded(err)
	}
	assigned := make(chan struct{})
	var once sync.Once
	client, err := b.dial(
		kgo.ConsumerGroup(groupOf(s.Topic, s.Group)), kgo.ConsumeTopics(s.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.SessionTimeout(silence), kgo.HeartbeatInterval(silence/3),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { once.Do(func() { close(assigned) }) }),
	)
	if err != nil {
		return nil, err
	}
	r := &subscriber{client: client, handle: handle, ahead: min(s.Ahead(), pollLimit), over: make(chan struct{})}
	r.reads, r.stop = context.WithCancel(context.Background())
	go r.read() // ends with Close, which waits for it
	select {
	case <-assigned:
		return r, nil
	case <-ctx.Done():
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerLimit)
		defer cancel()
		_ = r.Close(ending) // what ended it is told
		return nil, wirelab.Public(ctx.Err())
	}
}

// subscriber reads a group by a client of its own.
type subscriber struct {
	client *kgo.Client
	handle func([]byte) bool
	ahead  int
	reads  context.Context //nolint:containedctx // the life of its goroutine
	stop   context.CancelFunc
	over   chan struct{} // closed when read has returned

	mu  sync.Mutex // guards err
	err error
}

// read handles messages until it is stopped, and commits what it handled.
func (r *subscriber) read() {
	defer close(r.over)
	for r.reads.Err() == nil {
		fetched := r.client.PollRecords(r.reads, r.ahead)
		if fetched.IsClientClosed() {
			return
		}
		fetched.EachError(func(_ string, _ int32, err error) {
			if code := wirelab.CodeOf(coded(err)); code == wirelab.NotFound {
				r.mu.Lock()
				r.err = coded(err)
				r.mu.Unlock()
				r.stop()
			}
		})
		r.deal(fetched.Records())
		r.client.AllowRebalance()
	}
}

// deal handles messages, and commits those that were dealt with.
func (r *subscriber) deal(records []*kgo.Record) {
	dealt := 0
	for _, record := range records {
		if r.reads.Err() != nil {
			break
		}
		if !r.handle(record.Value) {
			r.stop() // nothing more
			break
		}
		dealt++
	}
	if dealt == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.reads), answerLimit)
	defer cancel()
	_ = r.client.CommitRecords(ctx, records[:dealt]...) // what could not be committed comes again
}

// Close implements [broker.Subscriber].
func (r *subscriber) Close(ctx context.Context) error {
	r.stop()
	select {
	case <-r.over:
		r.client.CloseAllowingRebalance() // the group is told that it left
		return nil
	case <-ctx.Done():
		return broker.ErrStuck()
	}
}

// Failed implements [broker.Subscriber].
func (r *subscriber) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
