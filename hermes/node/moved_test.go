package node_test

import (
	"net"
	"slices"
	"testing"

	"wirelab/hermes/broker"
)

// TestMoved: a node that is started again at another address tells the others, who then ask it
// there: with it they are a majority, without the third.
func TestMoved(t *testing.T) {
	c := newCluster(t, 3)
	leader := c.settled()
	create(t, c.nodes[leader], broker.Topic{Name: "a"})
	late := c.follower()
	c.halt(late)
	l := c.listen("127.0.0.1:0")
	begun := slices.Clone(c.members)
	c.members[late-1].Peer = l.Addr().String()
	c.start(late, l, begun, nil) // as one that knows the others, and itself, as they were
	until(t, "the new address", func() bool {
		s, err := c.nodes[c.settled()].Status(t.Context())
		if err != nil {
			return false
		}
		i := slices.IndexFunc(s.Members, func(m broker.Member) bool { return m.ID == late })
		return s.Members[i].Peer == l.Addr().String()
	})
	for id := range c.nodes {
		if id != late && id != c.settled() {
			c.halt(id)
			break
		}
	}
	publish(t, c.nodes[c.settled()], "a", "0")
	if got := history(t, c.nodes[late], "a", 1); got[0] != "0:0" {
		t.Errorf("the node that moved has %v", got)
	}
}

// TestAllMoved: nodes that are all started again at once, each at another address, find each other by the members they
// are given; the log tells their addresses then, and the given ones are not needed any more.
func TestAllMoved(t *testing.T) {
	c := newCluster(t, 3)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	publish(t, c.nodes[c.settled()], "a", "0")
	c.stop()
	former := slices.Clone(c.members)
	listeners := map[uint64]net.Listener{}
	for i := range c.members {
		l := c.listen("127.0.0.1:0")
		c.members[i].Peer, listeners[uint64(i+1)] = l.Addr().String(), l
	}
	for id, l := range listeners {
		c.start(id, l, c.members, nil)
	}
	until(t, "the new addresses", func() bool {
		for id := range c.nodes {
			s, err := c.nodes[id].Status(t.Context())
			if err != nil || slices.ContainsFunc(s.Members, func(m broker.Member) bool { return m.Peer != c.members[m.ID-1].Peer }) {
				return false
			}
		}
		return true
	})
	if v := publish(t, c.nodes[c.settled()], "a", "1"); v.Offset != 1 {
		t.Errorf("the next message is at %d", v.Offset)
	}
	late := c.follower()
	c.halt(late)
	c.start(late, c.listen(c.members[late-1].Peer), former, nil) // with a list that is out of date
	if got := history(t, c.nodes[late], "a", 2); got[0] != "0:0" || got[1] != "1:1" {
		t.Errorf("the node that was started once more has %v", got)
	}
}
