package node_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/node"
	"wirelab/hermes/wal"
)

// TestCatchUpOverDamage: a leader that is to send what is damaged in its log to a follower that was away gets
// it from the third node, and goes on leading.
func TestCatchUpOverDamage(t *testing.T) {
	c := planned(t, 3, 10*time.Millisecond, time.Second)
	c.tune = func(o *node.Options) {
		o.Log = wal.Options{SegmentBytes: 16 << 10, CacheBytes: 1}
		o.Upkeep = time.Hour // nothing is sealed or scrubbed meanwhile
	}
	for _, m := range c.members {
		c.begin(m.ID)
	}
	leader := c.settled()
	create(t, c.nodes[leader], broker.Topic{Name: "a"})
	away := c.follower()
	c.halt(away)
	var want []string
	for i := range 200 {
		payload := fmt.Sprint("message ", i)
		publish(t, c.nodes[leader], "a", payload)
		want = append(want, fmt.Sprintf("%d:%s", i, payload))
	}
	for at := range int64(5) {
		flipBit(t, c.fs[leader], "0000000000000001.log", 5000+41*at, 2)
	}
	c.restart(away)
	if got := history(t, c.nodes[away], "a", len(want)); !slices.Equal(got, want) {
		t.Errorf("the follower has %v", got)
	}
	if err := c.nodes[leader].Err(); err != nil {
		t.Error("the leader ended:", err)
	}
}
