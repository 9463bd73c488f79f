package node_test

import (
	"context"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
)

// TestAwaitLeader: a publish that comes while there is no leader waits for one, in order, rather than fail. One
// whose context ends first learns that.
func TestAwaitLeader(t *testing.T) {
	c := newCluster(t, 3)
	c.wait = patience
	old := c.settled()
	create(t, c.nodes[old], broker.Topic{Name: "a"})
	other, third := c.follower(), uint64(0)
	for id := range c.nodes {
		if id != old && id != other {
			third = id
		}
	}
	c.halt(third)
	c.restart(third) // with another limit
	c.halt(other)
	c.restart(other)
	c.settled()
	for _, id := range []uint64{old, third} {
		if id != other {
			c.kill(id)
		}
	}
	until(t, "no leader", func() bool { _, ok := c.nodes[other].Leader(); return !ok })
	ctx, cancel := context.WithCancel(t.Context())
	asked := c.nodes[other] // the map changes when a node is started again
	ended := make(chan broker.Verdict, 1)
	go func() {
		ended <- brokertest.Publish(ctx, asked, broker.Run{Topic: "a", Messages: brokertest.Messages("x"), Count: 1})
	}()
	begun := make(chan struct{})
	stored := make(chan broker.Verdict, 1)
	go func() {
		close(begun)
		stored <- brokertest.Publish(t.Context(), asked, broker.Run{
			Topic: "a", Messages: brokertest.Messages("late"),
			Count: 1,
		})
	}()
	<-begun
	cancel()
	if v := <-ended; status.CodeOf(v.Err) != status.Canceled {
		t.Errorf("one whose context ended: %+v", v)
	}
	c.restart(old)
	if v := <-stored; v.Err != nil {
		t.Errorf("one that waited: %+v", v)
	}
	if got := history(t, c.nodes[other], "a", 1); got[0] != "0:late" {
		t.Errorf("%v", got)
	}
}
