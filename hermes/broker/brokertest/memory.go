// Package brokertest tests every [broker.Broker] against its contract. It also has an implementation in memory, for
// tests of APIs and clients, which need a broker that answers at once and can be made to have no leader. It
// knows no wire and no disk.
package brokertest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// Memory is a broker that is one node and keeps all in memory. It is written from
// the contract, not from the real node, so that each shows the other's mistakes;
// it is simple, not fast: a group's hand-out looks at all that is not dealt with.
func Memory() *InMemory {
	m := &InMemory{
		topics: map[string]*topic{}, producers: map[uint64]map[uint32][]produced{},
		changed: make(chan struct{}), leads: true, term: 1,
	}
	m.create(broker.Topic{Name: hermes.DeadLetters})
	return m
}

var _ broker.Broker = (*InMemory)(nil)

// InMemory is what [Memory] gives. Close ends its feeds and its timers.
type InMemory struct {
	mu        sync.Mutex // guards all below, the topics' and groups' fields included
	topics    map[string]*topic
	topicID   uint32 // the last given
	producers map[uint64]map[uint32][]produced
	producer  uint64 // the last given
	index     uint64
	term      uint64
	time      int64         // the last given; never falls
	changed   chan struct{} // closed and made anew at every change
	leads     bool
	closed    bool
}

// topic's runs are in order of offset and leave no gap between First and Next.
type topic struct {
	broker.Topic
	runs   []broker.Batch
	groups map[string]*group
	feeds  map[*feed]struct{}
	gone   bool
	// restore is which restore it is from, 0 for none; restoring: it is not done.
	restore   uint64
	restoring bool
}

// produced is a run that is known again.
type produced struct {
	sequence, offset uint64
	count            int
	time             int64
	index            uint64
}

// Lead makes the broker one that knows no leader, or ends that. Without a leader
// publishes, changes and feeds of groups fail with Unavailable, as on a node cut off.
func (m *InMemory) Lead(leads bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if leads && !m.leads {
		m.term++
	}
	m.leads = leads
	for _, t := range m.topics {
		for f := range t.feeds {
			if !leads && f.group != nil {
				f.end(errNoLeader)
			}
		}
	}
	m.wake()
}

// Close ends the feeds with Unavailable, and everything that is called afterwards.
func (m *InMemory) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.leads = true, false
	for _, t := range m.topics {
		t.end(errStopping)
		for _, g := range t.groups {
			g.stop()
		}
	}
	m.wake()
}

var (
	errNoLeader = status.Errorf(status.Unavailable, "no node leads now; try again")
	errStopping = status.Errorf(status.Unavailable, "the node is stopping; go to another")
)

// wake tells all that wait. The lock is held.
func (m *InMemory) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// writable says whether a change can be made now. The lock is held.
func (m *InMemory) writable(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return status.Public(ctx.Err())
	case m.closed:
		return errStopping
	case !m.leads:
		return errNoLeader
	}
	return nil
}

// tick is the next entry's time. The lock is held.
func (m *InMemory) tick() int64 {
	m.index++
	m.time = max(m.time, time.Now().UnixNano())
	return m.time
}

func (m *InMemory) find(name string) (*topic, error) {
	if err := hermes.CheckTopic(name); err != nil {
		return nil, err
	}
	t, ok := m.topics[name]
	if !ok {
		return nil, status.Errorf(status.NotFound, "topic %q is not there; create it", name)
	}
	return t, nil
}

// Publish implements [broker.Broker]. It answers before it returns.
func (m *InMemory) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	done(m.publish(ctx, run))
}

func (m *InMemory) publish(ctx context.Context, run broker.Run) broker.Verdict {
	// A real node trusts the API in this; APIs are tested here, so this one does not.
	count, err := record.Check(run.Messages)
	switch {
	case err != nil:
		return broker.Verdict{Err: err}
	case count == 0 || count != run.Count:
		return broker.Verdict{Err: status.Errorf(status.InvalidArgument, "a run of %d messages is said to have %d",
			count,
			run.Count)}
	case run.Mode > hermes.Performance:
		return broker.Verdict{Err: status.Errorf(status.InvalidArgument, "mode %d is none", run.Mode)}
	case run.Producer != 0 && run.Sequence == 0:
		return broker.Verdict{Err: status.Errorf(status.InvalidArgument, "sequences count from 1")}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writable(ctx); err != nil {
		return broker.Verdict{Err: err}
	}
	t, err := m.find(run.Topic)
	if err == nil {
		err = t.open()
	}
	if err != nil {
		return broker.Verdict{Err: err}
	}
	if run.Mode == hermes.Performance {
		t.push(broker.Batch{
			Count: count, Time: max(m.time, time.Now().UnixNano()),
			Messages: slices.Clone(run.Messages),
		})
		m.wake()
		return broker.Verdict{Count: count, Term: m.term}
	}
	known, err := m.known(t, run)
	if err != nil {
		return broker.Verdict{Err: err}
	}
	if known != nil {
		return broker.Verdict{
			Offset: known.offset, Count: count, Time: known.time, Duplicate: true, Term: m.term,
			Index: known.index,
		}
	}
	v := m.store(t, run.Messages, count)
	if run.Producer != 0 {
		of := m.producers[run.Producer]
		of[t.ID] = append(of[t.ID], produced{run.Sequence, v.Offset, count, v.Time, v.Index})
		of[t.ID] = of[t.ID][max(0, len(of[t.ID])-hermes.ProducerRuns):]
	}
	if run.Mode == hermes.Eventual {
		v.Provisional, v.Offset, v.Time = true, 0, 0
	}
	return v
}

// known is the run if it was stored before, or Conflict if it is out of order.
func (m *InMemory) known(t *topic, run broker.Run) (*produced, error) {
	if run.Producer == 0 {
		return nil, nil
	}
	of, ok := m.producers[run.Producer]
	if !ok {
		return nil, status.Errorf(status.NotFound, "producer %d is not known; open one", run.Producer)
	}
	runs := of[t.ID]
	if len(runs) == 0 {
		return nil, nil
	}
	for i := range runs {
		if runs[i].sequence == run.Sequence && runs[i].count == run.Count {
			return &runs[i], nil
		}
	}
	last := runs[len(runs)-1]
	if next := last.sequence + uint64(last.count); run.Sequence != next {
		return nil, status.Errorf(status.Conflict, "producer %d sent sequence %d where %d was to follow", run.Producer,
			run.Sequence, next)
	}
	return nil, nil
}

// store appends to a topic. The lock is held.
func (m *InMemory) store(t *topic, messages []byte, count int) broker.Verdict {
	at := m.tick()
	if t.restoring { // a dead letter, which does not wait
		t.restore, t.restoring = 0, false
	}
	b := broker.Batch{Offset: t.Next, Count: count, Time: at, Attempt: 1, Messages: slices.Clone(messages)}
	t.runs = append(t.runs, b)
	t.Next += uint64(count)
	t.Bytes += uint64(len(messages))
	m.wake()
	return broker.Verdict{Offset: b.Offset, Count: count, Time: at, Term: m.term, Index: m.index}
}

// read is at most limit bytes of the messages at an offset, one message at least. The lock is held.
func (t *topic) read(offset uint64, limit int) (broker.Batch, bool) {
	i, exact := slices.BinarySearchFunc(t.runs, offset, func(b broker.Batch, o uint64) int {
		return cmp.Compare(b.Offset, o)
	})
	if !exact {
		i--
	}
	if i < 0 || offset >= t.runs[i].Offset+uint64(t.runs[i].Count) {
		return broker.Batch{}, false
	}
	b := t.runs[i]
	b.Messages = record.Skip(b.Messages, int(offset-b.Offset))
	b.Messages, b.Count = record.Head(b.Messages, 0, limit)
	b.Offset = offset
	return b, true
}

// at is the offset a subscriber or a group begins at. The lock is held.
func (t *topic) at(start broker.Start) (uint64, error) {
	switch start.From {
	case broker.FromOffset:
		if start.Offset > t.Next {
			return 0, broker.Beyond(t.Name, start.Offset, t.Next)
		}
		return max(t.First, start.Offset), nil
	case broker.FromTime:
		for _, b := range t.runs {
			if b.Time >= start.Time {
				return b.Offset, nil
			}
		}
		return t.Next, nil
	case broker.FromOldest:
		return t.First, nil
	}
	return t.Next, nil
}

// OpenProducer implements [broker.Broker].
func (m *InMemory) OpenProducer(ctx context.Context) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writable(ctx); err != nil {
		return 0, err
	}
	m.producer++
	m.producers[m.producer] = map[uint32][]produced{}
	return m.producer, nil
}

// create makes a topic. The lock is held.
func (m *InMemory) create(t broker.Topic) *topic {
	m.topicID++
	made := &topic{groups: map[string]*group{}, feeds: map[*feed]struct{}{}, Topic: broker.Topic{
		Name: t.Name, ID: m.topicID, First: t.First, Next: t.First, Created: m.tick(), RetentionAge: t.RetentionAge,
		RetentionBytes: t.RetentionBytes,
	}}
	m.topics[t.Name] = made
	return made
}

func (t *topic) state() broker.Topic {
	s := t.Topic
	s.Subscribers = len(t.feeds)
	return s
}

// CreateTopic implements [broker.Topics].
func (m *InMemory) CreateTopic(ctx context.Context, want broker.Topic) (broker.Topic, error) {
	if err := checkTopic(want); err != nil {
		return broker.Topic{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writable(ctx); err != nil {
		return broker.Topic{}, err
	}
	t, ok := m.topics[want.Name]
	switch {
	case !ok:
		t = m.create(want)
	case want.First > 0 && (t.First != want.First || t.Next != want.First):
		return broker.Topic{},
			status.Errorf(status.Conflict, "topic %q is there and cannot begin at offset %d", want.Name,
				want.First)
	case t.RetentionAge != want.RetentionAge || t.RetentionBytes != want.RetentionBytes:
		return broker.Topic{}, status.Errorf(status.Conflict, "topic %q is there with another retention; configure it",
			want.Name)
	}
	return t.state(), nil
}

func checkTopic(t broker.Topic) error {
	if t.RetentionAge < 0 {
		return status.Errorf(status.InvalidArgument, "retention age %d is negative", t.RetentionAge)
	}
	return hermes.CheckTopic(t.Name)
}

// ConfigureTopic implements [broker.Topics].
func (m *InMemory) ConfigureTopic(ctx context.Context, want broker.Topic) (broker.Topic, error) {
	if err := checkTopic(want); err != nil {
		return broker.Topic{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writable(ctx); err != nil {
		return broker.Topic{}, err
	}
	t, err := m.find(want.Name)
	if err != nil {
		return broker.Topic{}, err
	}
	t.RetentionAge, t.RetentionBytes = want.RetentionAge, want.RetentionBytes
	return t.state(), nil
}

// DeleteTopic implements [broker.Topics].
func (m *InMemory) DeleteTopic(ctx context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writable(ctx); err != nil {
		return err
	}
	t, err := m.find(name)
	if err != nil {
		return err
	}
	if name == hermes.DeadLetters {
		return status.Errorf(status.InvalidArgument, "topic %s cannot be deleted", name)
	}
	for _, g := range t.groups {
		g.stop()
	}
	t.gone = true
	t.end(status.Errorf(status.NotFound, "topic %q was deleted", name))
	delete(m.topics, name)
	m.wake()
	return nil
}

func (t *topic) end(err error) {
	for f := range t.feeds {
		f.end(err)
	}
}

// Topic implements [broker.Topics].
func (m *InMemory) Topic(ctx context.Context, name string, linearizable bool) (broker.Topic, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writable(ctx); err != nil && (linearizable || m.closed || ctx.Err() != nil) {
		return broker.Topic{}, err
	}
	t, err := m.find(name)
	if err != nil {
		return broker.Topic{}, err
	}
	return t.state(), nil
}

// ListTopics implements [broker.Topics].
func (m *InMemory) ListTopics(_ context.Context, prefix, after string, limit int) ([]broker.Topic, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []broker.Topic
	for name, t := range m.topics {
		if name > after && strings.HasPrefix(name, prefix) {
			all = append(all, t.state())
		}
	}
	slices.SortFunc(all, func(a, b broker.Topic) int { return cmp.Compare(a.Name, b.Name) })
	return all[:min(len(all), max(0, limit))], nil
}
