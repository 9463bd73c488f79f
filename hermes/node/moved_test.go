package node_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
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
			if err != nil || slices.ContainsFunc(s.Members, func(m broker.Member) bool {
				return m.Peer != c.members[m.ID-1].Peer
			}) {
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

// TestPerformanceElsewhere: subscribers of any node get messages published in mode performance at any node.
// (hb-D17, hb-D20)
func TestPerformanceElsewhere(t *testing.T) {
	c := newCluster(t, 3)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	for id := range c.nodes {
		f, err := c.nodes[id].Subscribe(t.Context(), broker.Start{Topic: "a"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		got := make(chan error, 1)
		go func() {
			b, err := f.Next(ctx, broker.Room{Bytes: 1 << 20})
			if err == nil && b.Attempt != 0 {
				err = fmt.Errorf("a batch of %d at %d, attempt %d", b.Count, b.Offset, b.Attempt)
			}
			got <- err
		}()
		until(t, "a message", func() bool {
			run := broker.Run{Topic: "a", Messages: brokertest.Messages("fast"), Count: 1, Mode: hermes.Performance}
			_ = brokertest.Publish(ctx, c.nodes[id%3+1], run)
			select {
			case err := <-got:
				if err != nil {
					t.Errorf("node %d: %v", id, err)
				}
				return true
			default:
				return false
			}
		})
		cancel()
		f.Close()
	}
}
