package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/node"
	"wirelab/wire/status"
)

// fill leaves a node's disk no room for another segment. Lying: it tells that there is plenty, as one does on
// which another user has a quota or is quicker.
func (c *cluster) fill(id uint64, lying bool) {
	c.Helper()
	c.disks[id].lies.Store(lying)
	free, err := c.fs[id].Free("/hermes")
	if err != nil {
		c.Fatal(err)
	}
	const small = 1000 // whatever is no segment
	c.fs[id].SetCapacity(1<<62 - free + small)
}

// empty gives a node's disk room again.
func (c *cluster) empty(id uint64) {
	c.fs[id].SetCapacity(1 << 62)
	c.disks[id].lies.Store(false)
}

func stats(t *testing.T, n *node.Node) node.Stats {
	t.Helper()
	s, err := n.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFollowerFull: a follower whose disk is full stays up, acknowledges nothing and says so; the
// others go on; with room again it has all.
func TestFollowerFull(t *testing.T) {
	for name, lying := range map[string]bool{"told beforehand": false, "by a write": true} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3)
			leader := c.settled()
			create(t, c.nodes[leader], broker.Topic{Name: "a"})
			producer, err := c.nodes[leader].OpenProducer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			late := c.follower()
			c.fill(late, lying)
			pad := strings.Repeat("x", 8<<10)
			sent := uint64(0)
			more := func() {
				sent++
				c.insist("a", producer, sent, fmt.Sprint(sent, pad))
			}
			until(t, "a full disk", func() bool {
				more()
				return stats(t, c.nodes[late]).Starved
			})
			before, err := c.nodes[c.settled()].Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				more()
			}
			if err := c.nodes[late].Ready(t.Context()); status.CodeOf(err) != status.Unavailable ||
				!strings.Contains(err.Error(), "disk is full") {
				t.Errorf("it is ready: %v", err)
			}
			if s, err := c.nodes[late].Status(t.Context()); err != nil || !strings.Contains(s.Unready, "disk is full") {
				t.Errorf("its status tells %q, %v", s.Unready, err)
			}
			if err := c.nodes[late].Live(); err != nil {
				t.Errorf("a start anew would mend nothing: %v", err)
			}
			after, err := c.nodes[c.settled()].Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			match := func(s broker.Status) uint64 {
				return s.Members[slices.IndexFunc(s.Members, func(m broker.Member) bool { return m.ID == late })].Match
			}
			// Word of what it stored before may come late; none is of what was sent since.
			if before.Leader == after.Leader && match(after) > before.Committed {
				t.Errorf("it acknowledged entries %d to %d, and has room for none", before.Committed+1, match(after))
			}
			c.empty(late)
			until(t, "the late node", func() bool {
				return c.nodes[late].Ready(t.Context()) == nil &&
					!stats(t, c.nodes[late]).Starved
			})
			if got := history(t, c.nodes[late], "a", int(sent)); !strings.HasPrefix(got[sent-1],
				fmt.Sprintf("%d:%d", sent-1,
					sent)) {
				t.Errorf("its last message is %.20q", got[sent-1])
			}
			if err := c.nodes[late].Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLeaderFull: a leader whose disk turns out to be full hands its leadership over, and what was acknowledged
// in the meantime is on the others.
func TestLeaderFull(t *testing.T) {
	c := newCluster(t, 3)
	old := c.settled()
	create(t, c.nodes[old], broker.Topic{Name: "a"})
	producer, err := c.nodes[old].OpenProducer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.fill(old, true)
	pad := strings.Repeat("x", 8<<10)
	sent := uint64(0)
	until(t, "another leader", func() bool {
		sent++
		c.insist("a", producer, sent, fmt.Sprint(sent, pad))
		m, ok := c.nodes[old].Leader()
		return stats(t, c.nodes[old]).Starved && ok && m.ID != old
	})
	// Without it: what was acknowledged does not hang on its disk.
	other := c.settled()
	if got := history(t, c.nodes[other], "a", int(sent)); !strings.HasPrefix(got[sent-1], fmt.Sprintf("%d:%d", sent-1,
		sent)) {
		t.Errorf("the last message is %.20q", got[sent-1])
	}
	c.empty(old)
	until(t, "the old leader", func() bool { return c.nodes[old].Ready(t.Context()) == nil })
	if got := history(t, c.nodes[old], "a", int(sent)); !strings.HasPrefix(got[sent-1], fmt.Sprintf("%d:%d", sent-1,
		sent)) {
		t.Errorf("its last message is %.20q", got[sent-1])
	}
}

// TestFullAndStopped: a node whose disk is full can be stopped, killed and started, without
// losing what it acknowledged.
func TestFullAndStopped(t *testing.T) {
	c := newCluster(t, 3)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	producer, err := c.nodes[c.settled()].OpenProducer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late := c.follower()
	c.fill(late, true)
	pad := strings.Repeat("x", 8<<10)
	sent := uint64(0)
	for _, end := range []func(uint64){c.halt, c.kill} {
		until(t, "a full disk", func() bool {
			sent++
			c.insist("a", producer, sent, fmt.Sprint(sent, pad))
			return stats(t, c.nodes[late]).Starved
		})
		end(late)
		c.restart(late)
	}
	c.empty(late)
	until(t, "the late node", func() bool { return c.nodes[late].Ready(t.Context()) == nil })
	if got := history(t, c.nodes[late], "a", int(sent)); !strings.HasPrefix(got[sent-1], fmt.Sprintf("%d:%d", sent-1,
		sent)) {
		t.Errorf("its last message is %.20q", got[sent-1])
	}
}

// TestLeaderNearlyFull: a leader with less free space than it must have hands over to a node that has room. No
// publish is refused for the room in the meantime, and none is lost. Where no node has room publishes are
// refused, and the leader stays.
func TestLeaderNearlyFull(t *testing.T) {
	c := newCluster(t, 3)
	old := c.settled()
	create(t, c.nodes[old], broker.Topic{Name: "a"})
	until(t, "the leader to know that the others have room", func() bool { return node.KnowsRoom(c.nodes[old]) == 2 })
	third := c.follower()
	c.fill(third, false)
	until(t, "the leader to know that one has none", func() bool { return node.KnowsRoom(c.nodes[old]) == 1 })
	c.fill(old, false)
	var want []string
	var now uint64
	until(t, "another leader", func() bool {
		p := fmt.Sprint(len(want))
		v := brokertest.Publish(t.Context(), c.nodes[old],
			broker.Run{Topic: "a", Messages: brokertest.Messages(p), Count: 1})
		switch {
		case v.Err == nil:
			want = append(want, fmt.Sprintf("%d:%s", v.Offset, p))
		case status.CodeOf(v.Err) != status.Unavailable:
			t.Fatalf("message %d: %v", len(want), v.Err)
		}
		m, ok := c.nodes[old].Leader()
		now = m.ID
		return ok && now != old && stats(t, c.nodes[old]).Full
	})
	if now == third {
		t.Fatalf("it was handed to node %d, which has no room either", now)
	}
	publish(t, c.nodes[now], "a", "by the new one")
	for i, m := range history(t, c.nodes[now], "a", len(want)) {
		if m != want[i] {
			t.Fatalf("message %s was acknowledged, and there is %s", want[i], m)
		}
	}

	c.fill(now, false)
	until(t, "publishes to be refused", func() bool {
		v := brokertest.Publish(t.Context(), c.nodes[now], broker.Run{
			Topic: "a", Messages: brokertest.Messages("x"),
			Count: 1,
		})
		return v.Err != nil && status.CodeOf(v.Err) == status.ResourceExhausted
	})
	before, elections := node.Ticks(c.nodes[now]), stats(t, c.nodes[now]).Elections
	until(t, "the time of many tries", func() bool { return node.Ticks(c.nodes[now]) > before+200 })
	if s := stats(t, c.nodes[now]); s.Leader != now || s.Elections != elections {
		t.Errorf("node %d leads after %d elections, and %d did after %d", s.Leader, s.Elections, now, elections)
	}
	c.empty(old)
	until(t, "a node that has room again leads", func() bool { return c.settled() == old })
	publish(t, c.nodes[old], "a", "with room")
}
