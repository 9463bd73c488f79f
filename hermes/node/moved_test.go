package node_test

import (
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
