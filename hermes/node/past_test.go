package node_test

import (
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/node"
	"wirelab/wire/status"
)

// raised waits until all nodes have said that they know the same, and the log says so.
func raised(t *testing.T, nodes ...*node.Node) {
	t.Helper()
	for _, n := range nodes {
		until(t, "the cluster is raised", func() bool { return node.Level(n) > 0 })
	}
}

// move gives the leadership to another node.
func (c *cluster) move() uint64 {
	c.Helper()
	was := c.settled()
	to := was%3 + 1
	until(c.T, "leadership moves", func() bool {
		_, err := c.nodes[was].TransferLeadership(c.Context(), to)
		return err == nil && c.settled() == to
	})
	return to
}

// A message's attempts are counted on by each leader: over seven moves it is handed out as often as the group says,
// and then it is a dead letter.
func TestAttemptsSurviveMoves(t *testing.T) {
	c := newCluster(t, 3)
	raised(t, c.nodes[1], c.nodes[2], c.nodes[3])
	create(t, c.nodes[1], broker.Topic{Name: "t"})
	if _, err := c.nodes[1].CreateGroup(c.Context(), broker.Group{Topic: "t", Name: "g", MaxAttempts: 3},
		broker.Start{From: broker.FromOldest}); err != nil {
		t.Fatal(err)
	}
	publish(t, c.nodes[1], "t", "bad")
	for attempt := uint32(1); attempt <= 3; attempt++ {
		b := c.one("t")
		if b.Attempt != attempt {
			t.Fatalf("attempt %d after %d", b.Attempt, attempt-1)
		}
		for range []int{3, 3, 1}[attempt-1] {
			c.move()
		}
	}
	until(t, "it is a dead letter", func() bool {
		g, err := c.nodes[1].Group(c.Context(), "t", "g")
		return err == nil && g.Dead == 1 && g.Floor == 1
	})
	letters, err := c.nodes[1].Topic(c.Context(), hermes.DeadLetters, true)
	if err != nil || letters.Next != 1 {
		t.Errorf("%+v, %v", letters, err)
	}
}

// one takes a message as a member of group g, and refuses it.
func (c *cluster) one(topic string) broker.Batch {
	c.Helper()
	f := c.member(topic)
	defer f.Close()
	b, err := f.Next(c.Context(), broker.Room{Messages: 1, Bytes: 1 << 20})
	if err == nil {
		err = f.Nack(c.Context(), []broker.Range{{First: b.Offset, Last: b.Offset}}, "no", 0)
	}
	if err != nil {
		c.Fatal(err)
	}
	return b
}

// member is one of group g at the leader.
func (c *cluster) member(topic string) (f broker.Feed) {
	c.Helper()
	until(c.T, "a member joins", func() (ok bool) {
		var err error
		f, err = c.nodes[c.settled()].Subscribe(c.Context(),
			broker.Start{Topic: topic, From: broker.FromGroup, Group: "g"})
		return err == nil
	})
	return f
}

// A refused message does not come before its time, no matter which node leads then.
func TestDelaySurvivesAMove(t *testing.T) {
	c := newCluster(t, 3)
	raised(t, c.nodes[1], c.nodes[2], c.nodes[3])
	create(t, c.nodes[1], broker.Topic{Name: "t"})
	publish(t, c.nodes[1], "t", "later", "now")
	f := c.member("t")
	b, err := f.Next(c.Context(), broker.Room{Messages: 1, Bytes: 1 << 20})
	if err != nil || b.Offset != 0 {
		t.Fatalf("%+v, %v", b, err)
	}
	if err := f.Nack(c.Context(), []broker.Range{{First: 0, Last: 0}}, "no", int64(time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	c.move()
	f = c.member("t")
	defer f.Close()
	if b, err = f.Next(c.Context(), broker.Room{Messages: 1, Bytes: 1 << 20}); err != nil || b.Offset != 1 {
		t.Errorf("%+v, %v", b, err)
	}
}

// trimmed makes a topic that keeps little and publishes until its beginning is gone.
func trimmed(t *testing.T, n *node.Node, topic string) (first uint64) {
	t.Helper()
	until(t, "retention passes", func() bool {
		publish(t, n, topic, string(make([]byte, 64<<10)), string(make([]byte, 64<<10)))
		got, err := n.Topic(t.Context(), topic, true)
		first = got.First
		return err == nil && first >= 4
	})
	return first
}

// Retention that passes a group's unread messages counts them and tells the next member, also after a restart; and
// it tells a reader who fell behind.
func TestLossIsTold(t *testing.T) {
	c := newCluster(t, 3)
	raised(t, c.nodes[1], c.nodes[2], c.nodes[3])
	create(t, c.nodes[1], broker.Topic{Name: "t", RetentionBytes: 1})
	publish(t, c.nodes[1], "t", "0", "1")
	f := c.member("t")
	b, err := f.Next(c.Context(), broker.Room{Messages: 1, Bytes: 1 << 20})
	if err != nil || b.Gap != nil {
		t.Fatalf("%+v, %v", b, err)
	}
	if err := f.Ack(c.Context(), []broker.Range{{First: 0, Last: 0}}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	trimmed(t, c.nodes[c.settled()], "t")
	c.move()
	var g broker.Group
	until(t, "the group has passed over", func() bool {
		g, err = c.nodes[1].Group(c.Context(), "t", "g")
		return err == nil && g.Trimmed >= 3 && g.Trimmed == g.Floor-1
	})
	at := c.follower() // the gap travels to another node
	until(t, "a member joins at another node", func() bool {
		f, err = c.nodes[at].Subscribe(c.Context(), broker.Start{Topic: "t", From: broker.FromGroup, Group: "g"})
		return err == nil
	})
	defer f.Close()
	publish(t, c.nodes[1], "t", "kept")
	b, err = f.Next(c.Context(), broker.Room{Messages: 1, Bytes: 1 << 20})
	if err != nil || b.Gap == nil || b.Gap.First != 1 || b.Gap.Last != b.Offset-1 {
		t.Fatalf("%+v, gap %v, %v", b.Offset, b.Gap, err)
	}
	told := b.Gap.Last
	// Retention continues, and may take more in the meantime.
	if b, err = f.Next(c.Context(), broker.Room{Messages: 1, Bytes: 1 << 20}); err != nil || b.Gap != nil &&
		b.Gap.First <= told {
		t.Errorf("%+v, %v: it is reported again", b.Gap, err)
	}
	r, err := c.nodes[at].Subscribe(c.Context(), broker.Start{Topic: "t", From: broker.FromOffset, Offset: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err = r.Next(c.Context(), broker.Room{Bytes: 1 << 20}); err != nil || b.Gap == nil || b.Gap.First != 1 ||
		b.Gap.Last != b.Offset-1 {
		t.Errorf("a reader: %+v, gap %v, %v", b.Offset, b.Gap, err)
	}
	_, err = c.nodes[at].Subscribe(c.Context(), broker.Start{Topic: "t", From: broker.FromOffset, Offset: 1 << 40})
	if err == nil || status.CodeOf(err) != status.InvalidArgument || broker.Reason(err) != broker.OutOfRange {
		t.Errorf("beyond the end: %v", err)
	}
	_, err = c.nodes[at].SeekGroup(c.Context(), "t", "g", broker.Start{From: broker.FromOffset, Offset: 1 << 40})
	if err == nil || broker.Reason(err) != broker.OutOfRange {
		t.Errorf("a seek beyond the end: %v", err)
	}
}
