package brokertest

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// cut is what was there when it was made: all of it is copied, or never changes.
type cut struct {
	m      *InMemory
	at     broker.Point
	parts  []broker.Part
	closed bool // the broker's lock guards it
}

// Cut implements [broker.Archive].
func (m *InMemory) Cut(ctx context.Context, topics []string) (broker.Cut, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writable(ctx); err != nil {
		return nil, err
	}
	c := &cut{m: m, at: broker.Point{Index: m.index, Time: max(m.time, time.Now().UnixNano())}}
	if len(topics) == 0 {
		for name := range m.topics {
			topics = append(topics, name)
		}
		slices.Sort(topics)
	}
	for _, name := range topics {
		t, err := m.find(name)
		if err == nil && t.restoring {
			err = t.closedTo("read as a whole")
		}
		if err != nil {
			return nil, err
		}
		state := t.state()
		c.parts = append(c.parts, broker.Part{Topic: &state})
		groups := make([]broker.Group, 0, len(t.groups))
		for _, g := range t.groups {
			groups = append(groups, g.state())
		}
		slices.SortFunc(groups, func(a, b broker.Group) int { return cmp.Compare(a.Name, b.Name) })
		for i := range groups {
			c.parts = append(c.parts, broker.Part{Group: &groups[i]})
		}
		for _, r := range t.runs {
			c.parts = append(c.parts, broker.Part{Runs: []broker.Batch{r}})
		}
	}
	return c, nil
}

// At implements [broker.Cut].
func (c *cut) At() broker.Point { return c.at }

// Close implements [broker.Cut].
func (c *cut) Close() {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.closed = true
}

// Next implements [broker.Cut].
func (c *cut) Next(ctx context.Context, limit int) (broker.Part, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return broker.Part{}, status.Public(ctx.Err())
	case c.closed:
		return broker.Part{}, status.Errorf(status.Canceled, "the cut was closed")
	case c.m.closed:
		return broker.Part{}, errStopping
	case len(c.parts) == 0:
		return broker.Part{}, io.EOF
	}
	p := c.parts[0]
	if len(p.Runs) == 0 {
		c.parts = c.parts[1:]
		return p, nil
	}
	head, rest := p.Runs[0].Cut(broker.Room{Bytes: limit})
	if rest.Count > 0 {
		c.parts[0].Runs = []broker.Batch{rest}
	} else {
		c.parts = c.parts[1:]
	}
	return broker.Part{Runs: []broker.Batch{head}}, nil
}

func (t *topic) closedTo(what string) error {
	return status.Errorf(status.Conflict, "topic %q is being restored and cannot be %s", t.Name, what)
}

// open refuses a topic that is closed to all but a restore.
func (t *topic) open() error {
	if t.restoring && t.Name != hermes.DeadLetters {
		return t.closedTo("used")
	}
	return nil
}

// Restore implements [broker.Archive].
func (m *InMemory) Restore(ctx context.Context, step broker.Restore) (broker.Restored, error) {
	if err := hermes.CheckTopic(step.Topic.Name); err != nil {
		return broker.Restored{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writable(ctx); err != nil {
		return broker.Restored{}, err
	}
	var err error
	switch step.Step {
	case broker.StepLook:
	case broker.StepBegin:
		err = m.beginRestore(step)
	case broker.StepRuns, broker.StepGroup, broker.StepEnd:
		err = m.goOn(step)
	default:
		err = status.Errorf(status.InvalidArgument, "step %d is none", step.Step)
	}
	if err != nil {
		return broker.Restored{}, err
	}
	m.wake()
	t := m.topics[step.Topic.Name]
	switch {
	case t == nil, t.restore == 0 && t.Name == hermes.DeadLetters && t.Next == 0:
		return broker.Restored{}, nil
	case t.restore == 0 || t.restore != step.ID:
		return broker.Restored{State: broker.RestoreOther, Next: t.Next}, nil
	case t.restoring:
		return broker.Restored{State: broker.RestoreBegun, Next: t.Next}, nil
	}
	return broker.Restored{State: broker.RestoreDone, Next: t.Next}, nil
}

// beginRestore makes the topic. The lock is held.
func (m *InMemory) beginRestore(step broker.Restore) error {
	if step.ID == 0 {
		return status.Errorf(status.InvalidArgument, "a restore has a number that is not 0")
	}
	if err := checkTopic(step.Topic); err != nil {
		return err
	}
	t := m.topics[step.Topic.Name]
	switch {
	case t == nil:
		t = m.create(step.Topic)
	case t.restore == step.ID:
		return nil
	case t.Name != hermes.DeadLetters || t.Next > 0 || t.restoring:
		return status.Errorf(status.Conflict, "topic %q is there", t.Name)
	}
	t.restore, t.restoring = step.ID, true
	t.First, t.Next = step.Topic.First, step.Topic.First
	t.RetentionAge, t.RetentionBytes = step.Topic.RetentionAge, step.Topic.RetentionBytes
	if step.Topic.Created > 0 {
		t.Created = min(step.Topic.Created, t.Created)
	}
	return nil
}

// goOn does what follows. The lock is held.
func (m *InMemory) goOn(step broker.Restore) error {
	t, err := m.find(step.Topic.Name)
	switch {
	case err != nil:
		return err
	case t.restore != step.ID || step.ID == 0:
		return status.Errorf(status.Conflict, "topic %q is not from this restore", t.Name)
	case !t.restoring && step.Step == broker.StepEnd:
		return nil
	case !t.restoring:
		return status.Errorf(status.Conflict, "topic %q is restored", t.Name)
	}
	switch step.Step {
	case broker.StepRuns:
		if len(step.Runs) == 0 || len(step.Runs) > hermes.RunMessages {
			return status.Errorf(status.InvalidArgument, "%d runs", len(step.Runs))
		}
		for _, r := range step.Runs {
			if err := m.storeOld(t, r); err != nil {
				return err
			}
		}
		return nil
	case broker.StepGroup:
		g := step.Group
		switch {
		case hermes.CheckGroup(g.Name) != nil:
			return hermes.CheckGroup(g.Name)
		case step.Topic.Next < t.Next || g.Floor > step.Topic.Next || g.AckTimeout <= 0 || g.MaxAttempts == 0:
			return status.Errorf(status.InvalidArgument, "group %q cannot have the state that is given", g.Name)
		}
		t.skip(step.Topic.Next)
		g.Topic = t.Name
		made := t.addGroup(m, g, max(g.Floor, t.First))
		made.s.Dead = g.Dead
		for _, r := range g.Acked {
			for o := r.First; o <= r.Last && o < t.Next; o++ {
				made.acked[o] = struct{}{}
			}
		}
		made.settle()
		return nil
	}
	if step.Topic.Next < t.Next {
		return status.Errorf(status.InvalidArgument, "topic %q is at %d", t.Name, t.Next)
	}
	t.skip(step.Topic.Next)
	t.restoring = false
	return nil
}

// skip gives up everything before an offset that is not there yet.
func (t *topic) skip(to uint64) {
	if to > t.Next {
		t.runs, t.First, t.Next, t.Bytes = nil, to, to, 0
	}
}

func (m *InMemory) storeOld(t *topic, r broker.Batch) error {
	count, err := record.CheckStored(r.Messages)
	end := r.Offset + uint64(r.Count)
	switch {
	case err != nil:
		return err
	case count != r.Count:
		return status.Errorf(status.InvalidArgument, "a run of %d messages is said to have %d", count, r.Count)
	case r.Time <= 0 || r.Time > m.tick():
		return status.Errorf(status.InvalidArgument, "a run of a time that has not come")
	case end <= t.Next:
		return nil
	case r.Offset < t.Next:
		return status.Errorf(status.Conflict, "a run at %d, where %d is wanted", r.Offset, t.Next)
	}
	t.skip(r.Offset)
	r.Messages, r.Attempt = slices.Clone(r.Messages), 1
	t.runs = append(t.runs, r)
	t.Next, t.Bytes = end, t.Bytes+uint64(len(r.Messages))
	return nil
}
