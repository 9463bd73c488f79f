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

// ended waits until a node has ended by itself, and returns why.
func ended(t *testing.T, n *node.Node) error {
	t.Helper()
	until(t, "the end of the node", func() bool { return n.Err() != nil })
	return n.Err()
}

// TestWipedVoter: a voter that is started again with an empty directory votes for no node and acknowledges
// nothing: it ends and says what to do. The others go on, and a new node takes its place and has all messages.
func TestWipedVoter(t *testing.T) {
	c := newCluster(t, 3)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	var want []string
	for i := range 20 {
		publish(t, c.nodes[c.settled()], "a", fmt.Sprint(i))
		want = append(want, fmt.Sprintf("%d:%d", i, i))
	}
	gone := c.follower()
	c.halt(gone)
	c.fs[gone], c.disks[gone] = c.disk()
	c.restart(gone)
	err := ended(t, c.nodes[gone])
	if status.CodeOf(err) != status.Conflict || !strings.Contains(err.Error(),
		fmt.Sprintf("hermes cluster remove %d", gone)) {
		t.Errorf("it ended with %v", err)
	}
	c.halt(gone)
	leader := c.settled()
	publish(t, c.nodes[leader], "a", "20")
	want = append(want, "20:20")

	if _, err := c.nodes[leader].Remove(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	until(t, "the others to know that it was removed", func() bool {
		for id, n := range c.nodes {
			if id == gone {
				continue
			}
			if s, err := n.Status(t.Context()); err != nil || len(s.Members) != 2 {
				return false
			}
		}
		return true
	})
	// Its old id is no use any more, and it is notified.
	c.restart(gone)
	if err := ended(t, c.nodes[gone]); status.CodeOf(err) != status.Conflict ||
		!strings.Contains(err.Error(), "was removed") {
		t.Errorf("after its removal it ended with %v", err)
	}
	c.halt(gone)
	l := c.listen("127.0.0.1:0")
	c.members = append(c.members, broker.Member{ID: 4, Name: "node-4", Peer: l.Addr().String()})
	c.fs[4], c.disks[4] = c.disk()
	c.start(4, l, nil, []string{c.members[leader-1].Peer})
	until(t, "a third voter", func() bool {
		s, err := c.nodes[4].Status(t.Context())
		return err == nil && len(s.Members) == 3 && !s.Members[2].Learner
	})
	if got := history(t, c.nodes[4], "a", len(want)); !slices.Equal(got, want) {
		t.Errorf("the new node has %v", got)
	}
}

// TestWipedVoterAlone: with the one node that could tell down as well, the wiped one and the rest
// are a majority by number, and must not be one: they lack what the others acknowledged.
func TestWipedVoterAlone(t *testing.T) {
	c := newCluster(t, 3)
	first := c.settled()
	create(t, c.nodes[first], broker.Topic{Name: "a"})
	wiped := c.follower()
	third := 6 - first - wiped
	c.isolate(third, true)
	publish(t, c.nodes[first], "a", "held by two")
	c.halt(wiped)
	c.halt(first)
	c.isolate(third, false)
	c.fs[wiped], c.disks[wiped] = c.disk()
	c.restart(wiped)
	if err := ended(t, c.nodes[wiped]); status.CodeOf(err) != status.Conflict {
		t.Errorf("it ended with %v", err)
	}
	if m, ok := c.nodes[third].Leader(); ok {
		t.Errorf("node %d leads without what was acknowledged", m.ID)
	}
	c.halt(wiped)
	c.restart(first)
	c.settled()
	if got := history(t, c.nodes[third], "a", 1); got[0] != "0:held by two" {
		t.Errorf("%v", got)
	}
}

// TestBeginLate: nodes that begin a cluster may come one after the other: it begins with the
// last of them, and until then says what it waits for.
func TestBeginLate(t *testing.T) {
	c := newClusterOf(t, 3, 1)
	if err := c.nodes[1].Ready(t.Context()); status.CodeOf(err) != status.Unavailable ||
		!strings.Contains(err.Error(), "noted") {
		t.Errorf("alone it is ready: %v", err)
	}
	c.begin(2)
	for _, id := range []uint64{1, 2} {
		until(t, "the two to know of each other", func() bool {
			err := c.nodes[id].Ready(t.Context())
			return err != nil && strings.Contains(err.Error(), fmt.Sprint([]uint64{3 - id}))
		})
		if _, ok := c.nodes[id].Leader(); ok {
			t.Error("two of three have begun: the third could be distinguished by no one")
		}
	}
	if v := brokertest.Publish(t.Context(), c.nodes[1], broker.Run{
		Topic: "a", Messages: brokertest.Messages("x"),
		Count: 1,
	}); status.CodeOf(v.Err) != status.Unavailable {
		t.Errorf("a publish before the cluster began: %+v", v)
	}
	// One that is stopped before has stored nothing, and may go on.
	c.halt(2)
	c.begin(2)
	c.begin(3)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	publish(t, c.nodes[1], "a", "0")
	if got := history(t, c.nodes[3], "a", 1); got[0] != "0:0" {
		t.Errorf("%v", got)
	}
}

// TestLateFifth: of five, four are enough to begin; the last is no impostor.
func TestLateFifth(t *testing.T) {
	skipShort(t)
	c := newClusterOf(t, 5, 1, 2, 3, 4)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	publish(t, c.nodes[1], "a", "0")
	c.begin(5)
	until(t, "the fifth", func() bool { return c.nodes[5].Ready(t.Context()) == nil })
	if got := history(t, c.nodes[5], "a", 1); got[0] != "0:0" {
		t.Errorf("%v", got)
	}
}

// TestLostLog: a directory of which only the log is lost is noticed without the others.
func TestLostLog(t *testing.T) {
	c := newCluster(t, 3)
	gone := c.follower()
	until(t, "a note that there is a log", func() bool {
		b := make([]byte, 1<<12)
		f, err := c.fs[gone].OpenRead("/hermes/members.json")
		if err != nil {
			return false // it is being replaced
		}
		defer f.Close()
		n, _ := f.ReadAt(b, 0)
		return strings.Contains(string(b[:n]), `"Stored": true`)
	})
	c.halt(gone)
	names, err := c.fs[gone].List("/hermes")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			if err := c.fs[gone].Remove("/hermes/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err = c.open(gone, c.listen(c.members[gone-1].Peer), c.members, nil)
	if status.CodeOf(err) != status.Conflict || !strings.Contains(err.Error(), "the log in /hermes is gone") {
		t.Errorf("it opens with %v", err)
	}
}
