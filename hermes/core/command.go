package core

import (
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/gen/command"
	"wirelab/wire/status"
)

// The commands below are bytes for record.AppendCommand. A fault in one is shown by its [Outcome].

// write is a command's bytes. It panics where protobuf cannot write one, which only
// text that is not UTF-8 could make it: see text.
func write(c *command.Command) []byte {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		panic("core: a command that cannot be written: " + err.Error())
	}
	return data
}

// text is a name that protobuf can write. One that is not UTF-8 comes to be one that
// Apply refuses, since no name may have a question mark.
func text(name string) string { return strings.ToValidUTF8(name, "?") }

// CreateTopic makes a topic of t's Name and retention; Outcome.Topic is its id, which
// no other topic ever has. One that is there with the same retention is no error; with
// another it is Conflict.
func CreateTopic(t broker.Topic) []byte {
	return write(&command.Command{Does: &command.Command_CreateTopic{CreateTopic: &command.CreateTopic{
		Name: text(t.Name), RetentionAge: t.RetentionAge, RetentionBytes: t.RetentionBytes,
	}}})
}

// BeginTopic makes a topic of t's Name and retention whose first message will have offset
// t.First; Outcome.Topic is its id. One that is there is Conflict, but for one that is
// empty at the same offset, which is what the same command made, and for that of dead
// letters as long as it never had one.
func BeginTopic(t broker.Topic) []byte {
	return write(&command.Command{Does: &command.Command_BeginTopic{BeginTopic: &command.BeginTopic{
		Name: text(t.Name), RetentionAge: t.RetentionAge, RetentionBytes: t.RetentionBytes, First: t.First,
	}}})
}

// ConfigureTopic sets the retention of the topic of t's Name.
func ConfigureTopic(t broker.Topic) []byte {
	return write(&command.Command{Does: &command.Command_ConfigureTopic{ConfigureTopic: &command.ConfigureTopic{
		Name: text(t.Name), RetentionAge: t.RetentionAge, RetentionBytes: t.RetentionBytes,
	}}})
}

// DeleteTopic takes a topic away, with its groups. The topic of dead letters stays.
func DeleteTopic(id uint32) []byte {
	return write(&command.Command{Does: &command.Command_DeleteTopic{DeleteTopic: &command.DeleteTopic{Topic: id}}})
}

// Trim gives up a topic's messages before an offset; those that are given up already
// are no error.
func Trim(topic uint32, before uint64) []byte {
	return write(&command.Command{Does: &command.Command_Trim{Trim: &command.Trim{Topic: topic, Before: before}}})
}

// OpenProducer makes a producer; Outcome.Producer is its id.
func OpenProducer(of Owner) []byte {
	return write(&command.Command{Does: &command.Command_OpenProducer{OpenProducer: &command.OpenProducer{
		Owner: text(of.Name), Most: of.Most,
	}}})
}

// CreateGroup makes a group of g's Name, AckTimeout and MaxAttempts (0: hermes') that
// begins at floor, or at the topic's First where that is greater. One that is there
// with the same settings is no error, wherever it is; with others it is Conflict.
func CreateGroup(topic uint32, g broker.Group, floor uint64, of Owner) []byte {
	c := &command.CreateGroup{
		Owner: text(of.Name), Most: of.Most,
		Topic: topic, Name: text(g.Name), AckTimeout: g.AckTimeout, MaxAttempts: g.MaxAttempts, Floor: floor,
	}
	if c.AckTimeout == 0 {
		c.AckTimeout = int64(hermes.AckTimeout)
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = hermes.MaxAttempts
	}
	return write(&command.Command{Does: &command.Command_CreateGroup{CreateGroup: c}})
}

// SeekGroup sets a group to floor, or to the topic's First where that is greater, and forgets what it
// acknowledged, and messages yet to be: its generation rises.
func SeekGroup(group, floor uint64) []byte {
	return write(&command.Command{Does: &command.Command_SeekGroup{SeekGroup: &command.SeekGroup{
		Group: group,
		Floor: floor,
	}}})
}

// DeleteGroup takes a group away.
func DeleteGroup(group uint64) []byte {
	return write(&command.Command{Does: &command.Command_DeleteGroup{DeleteGroup: &command.DeleteGroup{Group: group}}})
}

// Ack says that a group is done with ranges of offsets, in any order; what it is past already is no error.
// generation is [Machine.Generation] when the messages were handed out: after a SeekGroup since then it is
// Conflict, and nothing is done; 0: any. dead of the messages became dead letters: these are in the same entry,
// so that both are true or neither.
func Ack(group, generation uint64, ranges []broker.Range, dead uint32) []byte {
	c := &command.Ack{Group: group, Generation: generation, Dead: dead}
	for _, r := range ranges {
		c.Ranges = append(c.Ranges, &command.Range{First: r.First, Last: r.Last})
	}
	return write(&command.Command{Does: &command.Command_Ack{Ack: c}})
}

// command applies one. The error is that of Apply: a command that cannot be read, or
// is of a later version, would leave this node with another state than the others.
func (m *Machine) command(data []byte) (o Outcome, err error) {
	var c command.Command
	if err := proto.Unmarshal(data, &c); err != nil {
		return o, status.Errorf(status.Internal, "entry %d has a command that cannot be read: %v", m.index, err)
	}
	switch does := c.Does.(type) {
	case *command.Command_CreateTopic:
		o.Topic, o.Err = m.createTopic(does.CreateTopic)
	case *command.Command_ConfigureTopic:
		o.Topic, o.Err = m.configureTopic(does.ConfigureTopic)
	case *command.Command_DeleteTopic:
		o.Topic = does.DeleteTopic.GetTopic()
		o.Err = m.deleteTopic(o.Topic)
	case *command.Command_Trim:
		o.Topic = does.Trim.GetTopic()
		o.Err = m.trim(o.Topic, does.Trim.GetBefore())
	case *command.Command_OpenProducer:
		o.Producer, o.Err = m.open(does.OpenProducer)
	case *command.Command_CreateGroup:
		o.Topic = does.CreateGroup.GetTopic()
		o.Group, o.Err = m.createGroup(does.CreateGroup)
	case *command.Command_SeekGroup:
		o.Group = does.SeekGroup.GetGroup()
		o.Topic, o.Err = m.seekGroup(o.Group, does.SeekGroup.GetFloor())
	case *command.Command_DeleteGroup:
		o.Group = does.DeleteGroup.GetGroup()
		o.Topic, o.Err = m.deleteGroup(o.Group)
	case *command.Command_Ack:
		o.Group = does.Ack.GetGroup()
		o.Topic, o.Err = m.ack(does.Ack)
	case *command.Command_BeginTopic:
		o.Topic, o.Err = m.beginTopic(does.BeginTopic)
	case *command.Command_BeginRestore:
		o.Topic, o.Err = m.beginRestore(does.BeginRestore)
	case *command.Command_RestoreGroup:
		o.Topic = does.RestoreGroup.GetTopic()
		o.Group, o.Err = m.restoreGroup(does.RestoreGroup)
	case *command.Command_EndRestore:
		o.Topic = does.EndRestore.GetTopic()
		o.Err = m.endRestore(does.EndRestore)
	case *command.Command_Rise:
		err = m.rise(does.Rise)
	default:
		return o, status.Errorf(status.Unimplemented,
			"entry %d has a command that this program does not know: run the "+
				"version that wrote it, or a later one", m.index)
	}
	return o, err
}

func (m *Machine) createTopic(c *command.CreateTopic) (uint32, error) {
	if err := hermes.CheckTopic(c.GetName()); err != nil {
		return 0, err
	}
	if err := checkRetention(c.GetRetentionAge()); err != nil {
		return 0, err
	}
	if i, ok := m.named(c.GetName()); ok {
		t := m.names[i]
		if t.retentionAge != c.GetRetentionAge() || t.retentionBytes != c.GetRetentionBytes() {
			return t.id, status.Errorf(status.Conflict,
				"topic %s is there with a retention of %d ns and %d bytes: configure "+
					"it instead", t.name, t.retentionAge, t.retentionBytes)
		}
		return t.id, nil
	}
	if len(m.topics) >= m.limits.topics || m.lastID+1 == 0 {
		return 0, status.Errorf(status.ResourceExhausted, "there are %d topics; at most %d are allowed", len(m.topics),
			m.limits.topics)
	}
	m.lastID++
	m.addTopic(&topic{
		id: m.lastID, name: c.GetName(), created: m.time, retentionAge: c.GetRetentionAge(),
		retentionBytes: c.GetRetentionBytes(),
	})
	return m.lastID, nil
}

func (m *Machine) beginTopic(c *command.BeginTopic) (uint32, error) {
	first := c.GetFirst()
	if first > offsetsLimit {
		return 0, status.Errorf(status.InvalidArgument, "a topic cannot begin at offset %d, which is above %d", first,
			uint64(offsetsLimit))
	}
	if i, ok := m.named(c.GetName()); ok {
		// The topic of dead letters is there always: before it had any it may be begun too.
		if t := m.names[i]; (t.first != first || t.next != first) && (t.id != deadLetters || t.next > 0) {
			return t.id, status.Errorf(status.Conflict,
				"topic %s is there with offsets %d to %d and cannot begin at %d",
				t.name, t.first, t.next, first)
		}
	}
	id, err := m.createTopic(&command.CreateTopic{
		Name: c.GetName(), RetentionAge: c.GetRetentionAge(),
		RetentionBytes: c.GetRetentionBytes(),
	})
	if err != nil {
		return id, err
	}
	// As if so many had been there, of no bytes, and all had been trimmed.
	t := m.topics[id]
	t.first, t.next = first, first
	for _, g := range t.groups {
		g.raise(first)
	}
	return id, nil
}

func (m *Machine) configureTopic(c *command.ConfigureTopic) (uint32, error) {
	i, ok := m.named(c.GetName())
	if !ok {
		return 0, status.Errorf(status.NotFound, "topic %.60q is not there", c.GetName())
	}
	t := m.names[i]
	if err := checkRetention(c.GetRetentionAge()); err != nil {
		return t.id, err
	}
	t.retentionAge, t.retentionBytes = c.GetRetentionAge(), c.GetRetentionBytes()
	return t.id, nil
}

func (m *Machine) deleteTopic(id uint32) error {
	t := m.topics[id]
	switch {
	case t == nil:
		return noTopic(id)
	case id == deadLetters:
		return status.Errorf(status.InvalidArgument, "topic %s takes the dead letters and cannot be deleted", t.name)
	}
	m.removeTopic(t)
	return nil
}

func (m *Machine) trim(id uint32, before uint64) error {
	t := m.topics[id]
	switch {
	case t == nil:
		return noTopic(id)
	case before > t.next:
		return beyond(t, before)
	}
	if m.level > 0 {
		for _, g := range t.groups {
			g.lose(before)
		}
	}
	t.trim(before)
	for _, g := range t.groups {
		m.settled(g, nil)
	}
	return nil
}

func beyond(t *topic, offset uint64) error {
	return status.Errorf(status.InvalidArgument, "offset %d is not in topic %s yet, whose next is %d", offset, t.name,
		t.next)
}

func (m *Machine) createGroup(c *command.CreateGroup) (uint64, error) {
	if err := hermes.CheckGroup(c.GetName()); err != nil {
		return 0, err
	}
	t := m.topics[c.GetTopic()]
	switch {
	case t == nil:
		return 0, noTopic(c.GetTopic())
	case t.restoring && t.id != deadLetters:
		return 0, beingRestored(t)
	}
	if i, ok := t.group(c.GetName()); ok {
		g := t.groups[i]
		if g.ackTimeout != c.GetAckTimeout() || g.maxAttempts != c.GetMaxAttempts() {
			return g.id, status.Errorf(status.Conflict,
				"group %s of topic %s is there with an ack timeout of %d ns and "+
					"%d attempts", g.name, t.name, g.ackTimeout, g.maxAttempts)
		}
		return g.id, nil
	}
	if c.GetFloor() > t.next {
		return 0, beyond(t, c.GetFloor())
	}
	return m.makeGroup(t, c)
}

// makeGroup makes a group of a name that the topic has not.
func (m *Machine) makeGroup(t *topic, c *command.CreateGroup) (uint64, error) {
	switch {
	case c.GetAckTimeout() <= 0 || c.GetMaxAttempts() == 0:
		return 0, status.Errorf(status.InvalidArgument, "group %s: an ack timeout of %d ns and %d attempts are not "+
			"both positive", c.GetName(), c.GetAckTimeout(), c.GetMaxAttempts())
	case len(m.groups) >= m.limits.groups:
		return 0, status.Errorf(status.ResourceExhausted, "there are %d groups; at most %d are allowed", len(m.groups),
			m.limits.groups)
	}
	var of *owner
	if m.level > 0 {
		if of = m.owners[c.GetOwner()]; of != nil && c.GetMost() > 0 && of.groups >= int(c.GetMost()) {
			return 0, status.Errorf(status.ResourceExhausted, "%s has %d groups; at most %d are allowed", of.name,
				of.groups,
				c.GetMost())
		}
	}
	id, err := m.newID()
	if err != nil {
		return 0, err
	}
	if m.level > 0 {
		of = m.owned(c.GetOwner())
	}
	m.addGroup(&group{
		owner: of, id: id, topic: t, name: c.GetName(), ackTimeout: c.GetAckTimeout(),
		maxAttempts: c.GetMaxAttempts(), floor: max(c.GetFloor(), t.first),
	})
	return id, nil
}

func noGroup(id uint64) error {
	return status.Errorf(status.NotFound, "group %d is not there, or no longer", id)
}

func (m *Machine) seekGroup(id, floor uint64) (uint32, error) {
	g := m.groups[id]
	switch {
	case g == nil:
		return 0, noGroup(id)
	case floor > g.topic.next:
		return g.topic.id, beyond(g.topic, floor)
	}
	g.seek(max(floor, g.topic.first))
	m.forgetTries(g)
	return g.topic.id, nil
}

func (m *Machine) deleteGroup(id uint64) (uint32, error) {
	g := m.groups[id]
	if g == nil {
		return 0, noGroup(id)
	}
	m.removeGroup(g)
	return g.topic.id, nil
}

func (m *Machine) ack(c *command.Ack) (uint32, error) {
	g := m.groups[c.GetGroup()]
	if g == nil {
		return 0, noGroup(c.GetGroup())
	}
	if at := c.GetGeneration(); at != 0 && at != g.seeks+1 {
		return g.topic.id, status.Errorf(status.Conflict,
			"group %s of topic %s was set to another offset since these messages were handed out", g.name, g.topic.name)
	}
	ranges := make([]broker.Range, 0, len(c.GetRanges()))
	for _, r := range c.GetRanges() {
		ranges = append(ranges, broker.Range{First: r.GetFirst(), Last: r.GetLast()})
	}
	limit := m.limits.ranges
	if c.GetDead() > 0 {
		// The dead letter is stored by the same entry and cannot be taken back, so this is true too. There are no
		// more of them than messages in flight with members.
		limit = math.MaxInt
	}
	if err := g.admit(ranges, limit); err != nil {
		return g.topic.id, err
	}
	g.ack(ranges)
	g.dead += uint64(c.GetDead())
	if m.level > 0 {
		if len(ranges) > 0 { // a group is behind the gap
			g.lostFrom, g.lostTo = 0, 0
		}
		m.settled(g, ranges)
		m.try(g, c.GetTried())
	}
	return g.topic.id, nil
}
