package node

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
	"wirelab/hermes/wal"
	"wirelab/wire/status"
)

// cutsMost is how many cuts one node has open: each keeps all topics and groups in memory, and reads the disk
// as fast while it is taken.
const cutsMost = 4

// cut is everything as one entry left it. Topics and groups are copied, for they change;
// messages do not, and are read when they are asked for.
type cut struct {
	of    source
	at    broker.Point
	parts []broker.Part // topics, each with its groups behind it
	now   broker.Topic  // whose groups or messages come next
	next  uint64        // the offset that is wanted next
	close func()

	closed atomic.Bool
}

// source is where a cut reads.
type source struct {
	fetch   func(topic uint32, offset, before uint64, limit int) ([]broker.Batch, error)
	live    wal.Live        // what of a topic is kept now
	stopped <-chan struct{} // closed: there is nothing to read any more
}

// Cut implements [broker.Archive]. Any node can do it: it has all messages, and waits until it has
// applied what the leader had committed.
func (n *Node) Cut(ctx context.Context, topics []string) (broker.Cut, error) {
	if n.cuts.Add(1) > cutsMost {
		n.cuts.Add(-1)
		return nil, status.Errorf(status.ResourceExhausted,
			"%d backups are made of this node now: wait for one, or ask another node", cutsMost)
	}
	c := &cut{of: source{
		fetch: func(topic uint32, offset, before uint64, limit int) ([]broker.Batch, error) {
			return n.recent.Fetch(nil, topic, offset, before, limit)
		},
		live: n.topics.live, stopped: n.stopped,
	}}
	c.close = sync.OnceFunc(func() {
		c.closed.Store(true)
		n.cuts.Add(-1)
	})
	_, err := sure(ctx, n, func(m *core.Machine) (struct{}, error) {
		return struct{}{}, c.read(m, topics, n.clock.stamp())
	})
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// Cut reads this node.
func (n local) Cut(ctx context.Context, topics []string) (broker.Cut, error) {
	return n.Node.Cut(ctx, topics)
}

// read takes the topics and groups down. On the loop, which it holds up for as long as a
// snapshot does.
func (c *cut) read(m *core.Machine, names []string, now int64) error {
	c.at = broker.Point{Index: m.Applied(), Time: now}
	var all []broker.Topic
	if len(names) == 0 {
		all = m.Topics("", "", hermes.TopicsLimit+1)
	}
	for _, name := range names {
		t, err := topicOf(m, name)
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	for i := range all {
		if _, restoring := m.Restore(all[i].ID); restoring {
			return status.Errorf(status.Conflict,
				"topic %q is being restored: wait until that is done, or delete it, or name "+
					"the others", all[i].Name)
		}
		c.parts = append(c.parts, broker.Part{Topic: &all[i]})
		groups := m.Groups(all[i].Name)
		for g := range groups {
			c.parts = append(c.parts, broker.Part{Group: &groups[g]})
		}
	}
	return nil
}

// At implements [broker.Cut].
func (c *cut) At() broker.Point { return c.at }

// Close implements [broker.Cut].
func (c *cut) Close() { c.close() }

// Next implements [broker.Cut].
func (c *cut) Next(ctx context.Context, limit int) (broker.Part, error) {
	for {
		switch {
		case ctx.Err() != nil:
			return broker.Part{}, status.Public(ctx.Err())
		case c.closed.Load():
			return broker.Part{}, status.Errorf(status.Canceled, "the cut was closed")
		}
		select {
		case <-c.of.stopped:
			return broker.Part{}, errStopping
		default:
		}
		if len(c.parts) > 0 && c.parts[0].Group != nil || c.next == c.now.Next {
			return c.part()
		}
		runs, err := c.runs(limit)
		if err != nil || len(runs) > 0 {
			return broker.Part{Runs: runs}, err
		}
	}
}

// part is the next topic or group.
func (c *cut) part() (broker.Part, error) {
	if len(c.parts) == 0 {
		return broker.Part{}, io.EOF
	}
	p := c.parts[0]
	c.parts[0] = broker.Part{}
	c.parts = c.parts[1:]
	if p.Topic != nil {
		c.now, c.next = *p.Topic, p.Topic.First
	}
	return p, nil
}

// runs reads messages; none where they were trimmed since, and then the topic is done with.
func (c *cut) runs(limit int) ([]broker.Batch, error) {
	got, err := c.of.fetch(c.now.ID, c.next, c.now.Next, limit)
	if err != nil {
		return nil, err
	}
	if _, ok := c.of.live(c.now.ID); !ok {
		return nil, status.Errorf(status.Unavailable, "topic %q was deleted while it was read: begin anew", c.now.Name)
	}
	var runs []broker.Batch
	reach := func(offset uint64) error {
		// Missing messages were trimmed, or else they are lost.
		if kept, _ := c.of.live(c.now.ID); offset > c.next && kept < offset {
			return status.Errorf(status.Internal,
				"topic %q: offsets %d to %d are not to be read, though they are kept "+
					"from %d on", c.now.Name, c.next, offset-1, kept)
		}
		return nil
	}
	for _, b := range got {
		if err := reach(b.Offset); err != nil {
			return nil, err
		}
		for b.Count > hermes.RunMessages { // small runs that were put together for subscribers
			rest := record.Skip(b.Messages, hermes.RunMessages)
			head := b
			head.Messages, head.Count = b.Messages[:len(b.Messages)-len(rest)], hermes.RunMessages
			runs = append(runs, head)
			b.Messages, b.Count, b.Offset = rest, b.Count-hermes.RunMessages, b.Offset+hermes.RunMessages
		}
		runs = append(runs, b)
		c.next = b.Offset + uint64(b.Count)
	}
	if len(got) == 0 {
		err = reach(c.now.Next)
		c.next = c.now.Next
	}
	return runs, err
}

// Restore implements [broker.Archive].
func (n *Node) Restore(ctx context.Context, step broker.Restore) (broker.Restored, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return broker.Restored{}, err
	}
	return b.Restore(ctx, step)
}

// Restore does a step on the leader.
func (n local) Restore(ctx context.Context, step broker.Restore) (broker.Restored, error) {
	name := step.Topic.Name
	if err := hermes.CheckTopic(name); err != nil {
		return broker.Restored{}, err
	}
	if err := n.leads(ctx); err != nil {
		return broker.Restored{}, err
	}
	read := func(m *core.Machine) (broker.Restored, error) { return stateOf(m, name, step.ID), nil }
	switch step.Step {
	case broker.StepLook:
		return sure(ctx, n.Node, read)
	case broker.StepBegin:
		return n.restore(ctx, commands(core.BeginRestore(step.Topic, step.ID)), 1, name, step.ID)
	}
	t, err := sure(ctx, n.Node, func(m *core.Machine) (broker.Topic, error) { return n.topicOf(m, name) })
	if err != nil {
		return broker.Restored{}, err
	}
	switch step.Step {
	case broker.StepRuns:
		items, err := oldRuns(t.ID, step)
		if err != nil {
			return broker.Restored{}, err
		}
		return n.restore(ctx, items, len(step.Runs), name, step.ID)
	case broker.StepGroup:
		return n.restore(ctx, commands(core.RestoreGroup(t.ID, step.Group, step.Topic.Next, step.ID)), 1, name, step.ID)
	case broker.StepEnd:
		return n.restore(ctx, commands(core.EndRestore(t.ID, step.Topic.Next, step.ID)), 1, name, step.ID)
	}
	return broker.Restored{}, status.Errorf(status.InvalidArgument, "step %d of a restore is none", step.Step)
}

// oldRuns is a step's runs as items of the log.
func oldRuns(topic uint32, step broker.Restore) ([]byte, error) {
	bytes := 0
	for _, r := range step.Runs {
		bytes += len(r.Messages)
	}
	if len(step.Runs) == 0 || len(step.Runs) > hermes.RunMessages || bytes > hermes.RunLimit {
		return nil, status.Errorf(status.InvalidArgument,
			"%d runs of %d bytes: 1 to %d are restored at once, of at most %d bytes",
			len(step.Runs), bytes, hermes.RunMessages, hermes.RunLimit)
	}
	items := make([]byte, 0, bytes+len(step.Runs)*runOverhead/2)
	for _, r := range step.Runs {
		if r.Count <= 0 || len(r.Messages) == 0 {
			return nil, status.Errorf(status.InvalidArgument, "a run at offset %d has no messages", r.Offset)
		}
		items = record.AppendRun(items, record.Run{
			Topic: topic, Producer: step.ID, Sequence: r.Offset, Old: true, Time: r.Time, Count: uint32(r.Count),
			Messages: r.Messages,
		})
	}
	return items, nil
}

// restore puts a step into the log, within the bound that publishes are held to, and tells what
// the topic is then.
func (n local) restore(ctx context.Context, items []byte, count int, name string,
	restore uint64,
) (broker.Restored, error) {
	if err := n.refuses(); err != nil {
		return broker.Restored{}, err
	}
	bytes := len(items) + runOverhead
	if err := n.admission.enter(ctx, n.stopped, bytes); err != nil {
		return broker.Restored{}, err
	}
	back := make(chan answer[broker.Restored], 1)
	n.loop.propose(&proposal{items: items, count: count, bytes: bytes, ctx: ctx, answer: func(v replica.Verdict) {
		a := answer[broker.Restored]{err: failure(v)}
		if a.err == nil {
			m := n.loop.replica.Machine()
			for _, o := range v.Outcomes {
				if g, ok := m.GroupByID(o.Group); ok { // only hermes.dlq has members then
					n.groups.seek(o.Group, g.Floor, m.Generation(o.Group))
				}
			}
			a.value = stateOf(m, name, restore)
		}
		back <- a
	}})
	return await(ctx, back)
}

// stateOf is how a topic stands to a restore.
func stateOf(m *core.Machine, name string, restore uint64) broker.Restored {
	t, ok := m.Topic(name)
	by, restoring := m.Restore(t.ID)
	switch {
	case !ok, by == 0 && name == hermes.DeadLetters && t.Next == 0:
		return broker.Restored{State: broker.RestoreAbsent}
	case by != restore || by == 0:
		return broker.Restored{State: broker.RestoreOther, Next: t.Next}
	case restoring:
		return broker.Restored{State: broker.RestoreBegun, Next: t.Next}
	}
	return broker.Restored{State: broker.RestoreDone, Next: t.Next}
}

// open refuses subscribers of a topic that is being restored: they would be given its old
// messages as new ones.
func (t *topic) open() error {
	if t.restoring.Load() {
		return status.Errorf(status.Conflict, "topic %q is being restored: wait until that is done", t.name)
	}
	return nil
}
