package node_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/node"
	"wirelab/hermes/wal"
)

// TestCatchUpOverDamage: a leader that is to send damaged entries of its log to a follower that was away gets
// it from the third node, and continues to lead.
func TestCatchUpOverDamage(t *testing.T) {
	c := planned(t, 3, 10*time.Millisecond, time.Second)
	c.tune = func(o *node.Options) {
		o.Log = wal.Options{SegmentBytes: 16 << 10, CacheBytes: 1}
		o.Maintenance = time.Hour // nothing is sealed or scrubbed in the meantime
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

// TestSnapshotDamaged: a leader that is to send a snapshot which is damaged ends and says so, since nothing else tells
// what was in it. The follower gets another node's.
func TestSnapshotDamaged(t *testing.T) {
	c := planned(t, 3, 10*time.Millisecond, time.Second)
	c.tune = func(o *node.Options) {
		o.Log = wal.Options{SegmentBytes: 16 << 10, CacheBytes: 1}
		o.ScrubBytes = -1
	}
	for _, m := range c.members {
		c.begin(m.ID)
	}
	leader := c.settled()
	create(t, c.nodes[leader], broker.Topic{Name: "a", RetentionBytes: 20 << 10})
	away := c.follower()
	c.halt(away)
	base := func(id uint64) string {
		names, err := c.fs[id].List("/hermes")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if number, ok := strings.CutSuffix(name, ".index"); ok && !slices.Contains(names, number+".log") {
				return name
			}
		}
		return ""
	}
	until(t, "segments are dropped", func() bool {
		publish(t, c.nodes[leader], "a", fmt.Sprintf("%*s", 500, ""))
		for id := range c.nodes {
			if base(id) == "" {
				return false
			}
		}
		return true
	})
	ended := c.nodes[leader]
	flipped := ""
	until(t, "the leader ends", func() bool {
		if name := base(leader); name != flipped { // another may have taken its place
			flipBit(t, c.fs[leader], name, 200, 1)
			if flipped == "" {
				c.restart(away)
			}
			flipped = name
		}
		return ended.Err() != nil
	})
	var d *wal.Damage
	if err := ended.Err(); !errors.As(err, &d) || !strings.HasSuffix(d.File, ".index") {
		t.Errorf("the leader ended with %v", err)
	}
	c.halt(leader)
	publish(t, c.nodes[c.settled()], "a", "continues")
	ready(t, c.nodes[away])
}
