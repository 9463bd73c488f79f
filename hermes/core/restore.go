package core

import (
	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/gen/command"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// A topic is brought back by BeginRestore, runs that are Old, RestoreGroup for each group and EndRestore, each
// with the number of the restore, which a caller that restores chooses. All of them may be said again, so that
// a restore that was interrupted continues. In between the topic takes nothing else: a publish would take an
// offset that is about to come, and a group would begin before its messages are there. Topic hermes.dlq is the
// exception, since it is always open: a publish to it ends its restore.

// BeginRestore makes a topic of t's Name and retention, Created when t was, whose first
// message will have offset t.First. One that is there is Conflict, but for one that the
// same restore began, and the topic of dead letters as long as it never had one.
func BeginRestore(t broker.Topic, restore uint64) []byte {
	return write(&command.Command{Does: &command.Command_BeginRestore{BeginRestore: &command.BeginRestore{
		Name: text(t.Name), RetentionAge: t.RetentionAge, RetentionBytes: t.RetentionBytes,
		First: t.First, Created: t.Created, Restore: restore,
	}}})
}

// RestoreGroup makes a group of a topic that is being restored and has all its runs, with g's
// settings, Floor, Acked and Dead. One that is there is put to where g is. next is EndRestore's.
func RestoreGroup(topic uint32, g broker.Group, next, restore uint64) []byte {
	c := &command.RestoreGroup{
		Topic: topic, Restore: restore, Name: text(g.Name), AckTimeout: g.AckTimeout, MaxAttempts: g.MaxAttempts,
		Floor: g.Floor, Dead: g.Dead, Next: next,
	}
	for _, r := range g.Acked {
		c.Acked = append(c.Acked, &command.Range{First: r.First, Last: r.Last})
	}
	return write(&command.Command{Does: &command.Command_RestoreGroup{RestoreGroup: c}})
}

// EndRestore opens a topic; next will be the offset of the next message.
func EndRestore(topic uint32, next, restore uint64) []byte {
	return write(&command.Command{Does: &command.Command_EndRestore{EndRestore: &command.EndRestore{
		Topic: topic,
		Next:  next, Restore: restore,
	}}})
}

// Restore says which restore made a topic, 0 for none, and whether it is still at it.
func (m *Machine) Restore(topic uint32) (restore uint64, restoring bool) {
	t := m.topics[topic]
	if t == nil {
		return 0, false
	}
	return t.restore, t.restoring
}

func beingRestored(t *topic) error {
	return status.Errorf(status.Conflict, "topic %s is being restored: wait until that is done, or run the restore "+
		"again; deleting the topic gives it up", t.name)
}

func (m *Machine) beginRestore(c *command.BeginRestore) (uint32, error) {
	first := c.GetFirst()
	switch {
	case c.GetRestore() == 0:
		return 0, status.Errorf(status.InvalidArgument, "a restore has a number that is not 0")
	case first > offsetsLimit:
		return 0, status.Errorf(status.InvalidArgument, "a topic cannot begin at offset %d, which is above %d", first,
			uint64(offsetsLimit))
	}
	i, there := m.named(c.GetName())
	switch {
	case !there:
		id, err := m.createTopic(&command.CreateTopic{
			Name: c.GetName(), RetentionAge: c.GetRetentionAge(),
			RetentionBytes: c.GetRetentionBytes(),
		})
		if err != nil {
			return id, err
		}
		i, _ = m.named(c.GetName())
	case m.names[i].restore == c.GetRestore():
		return m.names[i].id, nil
	case m.names[i].id != deadLetters || m.names[i].next > 0 || m.names[i].restoring:
		t := m.names[i]
		return t.id, status.Errorf(status.Conflict, "topic %s is there with offsets %d to %d: nothing can be "+
			"restored into it", t.name, t.first, t.next)
	}
	t := m.names[i]
	if err := checkRetention(c.GetRetentionAge()); err != nil {
		return t.id, err
	}
	t.retentionAge, t.retentionBytes = c.GetRetentionAge(), c.GetRetentionBytes()
	t.restore, t.restoring = c.GetRestore(), true
	if made := c.GetCreated(); made > 0 {
		t.created = min(made, m.time)
	}
	t.skip(first)
	return t.id, nil
}

// skip makes an offset the next one, as if all before it had been there and were trimmed.
func (t *topic) skip(to uint64) {
	if to <= t.next {
		return
	}
	t.trim(t.next)
	t.first, t.next = to, to
	for _, g := range t.groups {
		g.raise(to)
	}
}

// interrupt ends a restore that is not done, since something else is stored. That can only be in the topic of
// dead letters: one cannot be refused, for the acknowledgement next to it would pass over what it is of.
// Further runs of the restore would not fit.
func (t *topic) interrupt() {
	if t.restoring {
		t.restore, t.restoring = 0, false
	}
}

// storeOld puts a run back where it was. Runs that are missing before it were trimmed
// while the backup was made.
func (m *Machine) storeOld(t *topic, r *record.Run) (offset uint64, duplicate bool, err error) {
	offset, end := r.Sequence, r.Sequence+uint64(r.Count)
	switch {
	case !t.restoring || t.restore != r.Producer:
		return 0, false, status.Errorf(status.Conflict,
			"topic %s is not being restored, or by another restore, or something was published to it since", t.name)
	case end < offset || end > offsetsLimit:
		return 0, false, status.Errorf(status.InvalidArgument, "offset %d is above %d", offset, uint64(offsetsLimit))
	// A time to come would make all that is published until then look older than it is.
	case r.Time <= 0 || r.Time > m.time:
		return 0, false, status.Errorf(status.InvalidArgument,
			"a message at offset %d of topic %s is of a time, %d ns "+
				"since 1970, that has not come for this cluster: is the clock of its leader right?", offset, t.name,
			r.Time)
	case end <= t.next:
		return offset, true, nil
	case offset < t.next:
		return 0, false, status.Errorf(status.Conflict,
			"topic %s has offset %d and not %d, and is to get both at once: it "+
				"is being restored from another file", t.name, offset, end-1)
	}
	t.skip(offset)
	t.store(r.Count, r.Size)
	return offset, false, nil
}

// restored is a topic that a restore is filling.
func (m *Machine) restored(id uint32, restore uint64) (*topic, error) {
	t := m.topics[id]
	switch {
	case t == nil:
		return nil, noTopic(id)
	case t.restore != restore || restore == 0:
		return nil, status.Errorf(status.Conflict, "topic %s is not being restored, or by another restore", t.name)
	}
	return t, nil
}

func cannotEnd(t *topic, next uint64) error {
	return status.Errorf(status.InvalidArgument, "topic %s has offsets up to %d and cannot end before %d", t.name,
		t.next, next)
}

func (m *Machine) restoreGroup(c *command.RestoreGroup) (uint64, error) {
	t, err := m.restored(c.GetTopic(), c.GetRestore())
	switch {
	case err != nil:
		return 0, err
	case !t.restoring:
		return 0, status.Errorf(status.Conflict, "topic %s is restored already, or something was published to it since",
			t.name)
	case c.GetNext() > offsetsLimit || c.GetNext() < t.next:
		return 0, cannotEnd(t, c.GetNext())
	case c.GetFloor() > c.GetNext():
		return 0, beyond(t, c.GetFloor())
	case c.GetDead() > offsetsLimit:
		return 0, status.Errorf(status.InvalidArgument, "group %s has %d dead letters", c.GetName(), c.GetDead())
	}
	if err := hermes.CheckGroup(c.GetName()); err != nil {
		return 0, err
	}
	// The floor and the ranges are of the topic as it will be, and nothing is changed until they are right.
	tried := &group{topic: &topic{name: t.name, next: c.GetNext()}, name: c.GetName(), floor: c.GetFloor()}
	ranges := make([]broker.Range, 0, len(c.GetAcked()))
	for _, r := range c.GetAcked() {
		ranges = append(ranges, broker.Range{First: r.GetFirst(), Last: r.GetLast()})
	}
	if err := tried.admit(ranges, m.limits.ranges); err != nil {
		return 0, err
	}
	tried.ack(ranges)
	i, ok := t.group(c.GetName())
	switch {
	case !ok:
		if _, err := m.makeGroup(t, &command.CreateGroup{
			Name: c.GetName(), AckTimeout: c.GetAckTimeout(),
			MaxAttempts: c.GetMaxAttempts(),
		}); err != nil {
			return 0, err
		}
	case t.groups[i].ackTimeout != c.GetAckTimeout() || t.groups[i].maxAttempts != c.GetMaxAttempts():
		g := t.groups[i]
		return g.id, status.Errorf(status.Conflict, "group %s of topic %s is there with an ack timeout of %d ns and "+
			"%d attempts", g.name, t.name, g.ackTimeout, g.maxAttempts)
	default:
		t.groups[i].seek(0) // what its members have in hand is not theirs any more
		m.forgetTries(t.groups[i])
	}
	t.skip(c.GetNext())
	tried.raise(t.first)
	g := t.groups[i]
	g.floor, g.acked, g.dead = tried.floor, tried.acked, c.GetDead()
	return g.id, nil
}

func (m *Machine) endRestore(c *command.EndRestore) error {
	t, err := m.restored(c.GetTopic(), c.GetRestore())
	switch {
	case err != nil:
		return err
	case !t.restoring:
		return nil // said twice
	case c.GetNext() > offsetsLimit || c.GetNext() < t.next:
		return cannotEnd(t, c.GetNext())
	}
	t.skip(c.GetNext())
	t.restoring = false
	return nil
}
